package filesource

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzCutAnywhere reads any bytes as CSV, whole and with stops at places that the input chooses, plain and as gzip. The
// pieces together must be the whole, error included.
func FuzzCutAnywhere(f *testing.F) {
	for _, s := range []string{nasty, "a\n1\n\n2", "a,b\r\n1,\"\"\"\r\n\"\r\n", "\xef\xbb\xbfa;b\n\"x\n", "a,b\n1\n", "a\r"} {
		f.Add([]byte(s), []byte{1, 2, 3, 0, 255})
	}
	f.Fuzz(func(t *testing.T, content, cuts []byte) {
		dir := t.TempDir()
		for i, b := range [][]byte{content, compress(t, content)} {
			c := Config{Path: filepath.Join(dir, []string{"f.csv", "f.csv.gz"}[i]), MaxLine: 1 << 10}
			require.NoError(t, os.WriteFile(c.Path, b, 0o600))
			whole, end := rest(context.Background(), c, nil, 1000)
			pieces, pieceEnd := inPieces(t, c, cuts)
			require.Equal(t, plain(whole), plain(pieces))
			if end == nil {
				require.NoError(t, pieceEnd)
				continue
			}
			require.EqualError(t, pieceEnd, end.Error())
		}
	})
}

// inPieces reads c, in batches that cuts chooses, opening it anew at each position.
func inPieces(t *testing.T, c Config, cuts []byte) (rows []row, err error) {
	position, err := Start(context.Background(), c)
	if err != nil {
		return nil, err
	}
	for i := 0; ; i++ {
		size := 1
		if len(cuts) > 0 {
			size += int(cuts[i%len(cuts)])
		}
		r, err := Open(context.Background(), c, position)
		require.NoError(t, err)
		records, err := r.Read(context.Background(), size)
		for _, rec := range records {
			one := row{line: rec.Line(), number: rec.Number()}
			for k := range rec.Len() {
				one.fields = append(one.fields, string(rec.Bytes(k)))
			}
			rows = append(rows, one)
		}
		position = r.Position()
		require.NoError(t, r.Close())
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
	}
}

// FuzzAgreesWithStandardLibrary compares with encoding/csv, which leaves out three things that this package keeps: CR
// before LF inside quotes, empty fields of a file of one column, and the refusal of a CR that stands alone.
func FuzzAgreesWithStandardLibrary(f *testing.F) {
	for _, s := range []string{nasty, "a,b\n\"x\"\"\",\"\"\n", "a,b\n1,2,3\n", "a,b\n\n\n1,2", "a,b\n1,\"2\"x\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if bytes.HasPrefix(content, []byte{0x1f, 0x8b}) || bytes.HasPrefix(content, markUTF8) {
			t.Skip("not plain CSV for both")
		}
		path := filepath.Join(t.TempDir(), "f.csv")
		require.NoError(t, os.WriteFile(path, content, 0o600))
		r, err := Open(context.Background(), Config{Path: path}, nil)
		if err != nil {
			t.Skip("no header that this package takes")
		}
		columns := len(r.Header())
		require.NoError(t, r.Close())
		if columns == 1 {
			t.Skip("blank lines mean something else in a file of one column")
		}
		rows, err := rest(context.Background(), Config{Path: path}, nil, 10)
		if errors.Is(err, ErrCarriageReturn) {
			t.Skip("the library takes lone CRs")
		}
		std := csv.NewReader(bytes.NewReader(content))
		theirs, theirErr := std.ReadAll()
		require.Equal(t, theirErr == nil, err == nil, "%v / %v", theirErr, err)
		if err != nil {
			return
		}
		require.Len(t, theirs, len(rows)+1)
		for i, one := range rows {
			for k := range one.fields {
				require.Equal(t, theirs[i+1][k], strings.ReplaceAll(one.fields[k], "\r\n", "\n"))
			}
		}
	})
}
