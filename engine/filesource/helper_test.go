package filesource

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// row is a record that outlives its Read, with the position behind it.
type row struct {
	line, number int64
	fields       []string
	position     []byte
}

// write puts content into a file of that name in a folder of the test's own.
func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func compress(t testing.TB, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(content)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

// rest reads from position to the end, or to the first error, in batches of size records. Only the last row of a batch
// has a position.
func rest(ctx context.Context, c Config, position []byte, size int) (rows []row, err error) {
	r, err := Open(ctx, c, position)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		records, err := r.Read(ctx, size)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		for _, rec := range records {
			one := row{line: rec.Line(), number: rec.Number()}
			for i := range rec.Len() {
				one.fields = append(one.fields, string(rec.Bytes(i)))
			}
			rows = append(rows, one)
		}
		rows[len(rows)-1].position = r.Position()
	}
}

// plain is rows without their positions, for comparisons.
func plain(rows []row) []row {
	out := make([]row, 0, len(rows))
	for _, one := range rows {
		one.position = nil
		out = append(out, one)
	}
	return out
}

// requireSameFromEverywhere opens c at the start and behind each record, and wants exactly the records that follow and
// the same end each time.
func requireSameFromEverywhere(t testing.TB, c Config) ([]row, error) {
	t.Helper()
	ctx := context.Background()
	all, end := rest(ctx, c, nil, 1)
	if len(all) == 0 {
		return nil, end
	}
	start, err := Start(ctx, c)
	require.NoError(t, err)
	positions := append([][]byte{start}, nil...)
	for _, one := range all {
		positions = append(positions, one.position)
	}
	for i, position := range positions {
		require.LessOrEqual(t, len(position), 2048)
		for _, size := range []int{1, 2, 1000} {
			got, gotEnd := rest(ctx, c, position, size)
			require.Equal(t, plain(all[i:]), plain(got), "from the position behind record %d, in batches of %d", i, size)
			if end == nil {
				require.NoError(t, gotEnd)
			} else {
				require.EqualError(t, gotEnd, end.Error())
			}
		}
	}
	return all, end
}
