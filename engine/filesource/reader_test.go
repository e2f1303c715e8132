package filesource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
)

const flights = "../../testdata/flights/flights-20k.csv.gz"

func TestRealFlights(t *testing.T) {
	ctx := t.Context()
	r, err := Open(ctx, Config{Path: flights}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"id", "departed_at", "delay_min", "distance_mi", "origin", "destination"}, r.Header())
	id, err := r.Column("id")
	require.NoError(t, err)

	want, distance := int64(0), int64(0)
	for {
		records, err := r.Read(ctx, 300)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		for _, rec := range records {
			want++
			got, err := rec.Int64(id)
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Equal(t, want, rec.Number())
			require.Equal(t, want+1, rec.Line())
			miles, err := rec.Int64(3)
			require.NoError(t, err)
			distance += miles
		}
		if want%3000 == 0 {
			require.NoError(t, r.Close())
			r, err = Open(ctx, Config{Path: flights}, r.Position())
			require.NoError(t, err)
		}
	}
	require.EqualValues(t, 20000, want)
	require.EqualValues(t, 14476934, distance)
	require.NoError(t, r.Close())
	require.NoError(t, r.Close(), "Close may be called again")
}

// Several gzip members one after the other are one file.
func TestGzipMembersAreReadToTheLast(t *testing.T) {
	parts := [][]byte{[]byte("id,name\n1,on"), []byte("e\n"), nil, []byte("2,two\n3,three")}
	var b bytes.Buffer
	for _, p := range parts {
		b.Write(compress(t, p))
	}
	rows, err := requireSameFromEverywhere(t, Config{Path: write(t, "members.csv.gz", b.Bytes())})
	require.NoError(t, err)
	require.Len(t, rows, 3)
	require.Equal(t, []string{"3", "three"}, rows[2].fields)
}

// A gzip file cut off anywhere never looks like a file that ends there.
func TestGzipCutAnywhereIsAnError(t *testing.T) {
	content := []byte("id,name\n")
	for i := range 60 {
		content = fmt.Appendf(content, "%d,name %x\n", i, i*i*7919)
	}
	whole := compress(t, content)
	path := filepath.Join(t.TempDir(), "cut.csv.gz")
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	all, err := rest(t.Context(), Config{Path: path}, nil, 1)
	require.NoError(t, err)
	require.Len(t, all, 60)

	seen := 0
	for n := range whole {
		require.NoError(t, os.WriteFile(path, whole[:n], 0o600))
		rows, err := rest(t.Context(), Config{Path: path}, nil, 7)
		require.Error(t, err, "cut to %d bytes", n)
		require.ErrorContains(t, err, path)
		require.Equal(t, plain(all[:len(rows)]), plain(rows))
		seen = max(seen, len(rows))
		if n >= 2 {
			var broken *ReadError
			require.ErrorAs(t, err, &broken, "cut to %d bytes", n)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		}
	}
	require.Equal(t, 60, seen, "when only the checksum is cut, all records come before the error")

	require.NoError(t, os.WriteFile(path, whole[:len(whole)/2], 0o600))
	_, err = Open(t.Context(), Config{Path: path}, all[59].position)
	var broken *ReadError
	require.ErrorAs(t, err, &broken, "behind a position that the damage lies before")
	require.Positive(t, broken.Offset)
}

// Some bits of a gzip file mean nothing: a time stamp, padding. All others are noticed.
func TestGzipWithAnyByteChangedIsAnError(t *testing.T) {
	content := []byte("id,name\n")
	for i := range 40 {
		content = fmt.Appendf(content, "%d,%x\n", i, i*i*7919)
	}
	whole := compress(t, content)
	all, err := rest(t.Context(), Config{Path: write(t, "whole.csv.gz", whole)}, nil, 1)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "changed.csv.gz")
	noticed := 0
	for i := range whole {
		changed := bytes.Clone(whole)
		changed[i] ^= 0x10
		require.NoError(t, os.WriteFile(path, changed, 0o600))
		rows, err := rest(t.Context(), Config{Path: path}, nil, 1)
		if err == nil {
			require.Equal(t, plain(all), plain(rows), "byte %d", i)
			continue
		}
		noticed++
	}
	require.GreaterOrEqual(t, noticed, len(whole)-10)
	for _, garbage := range []string{"x", "trailing", "trailing garbage of some length"} {
		require.NoError(t, os.WriteFile(path, append(bytes.Clone(whole), garbage...), 0o600))
		_, err = rest(t.Context(), Config{Path: path}, nil, 1)
		var broken *ReadError
		require.ErrorAs(t, err, &broken)
	}
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(t.Context(), Config{Path: filepath.Join(dir, "missing.csv")}, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "missing.csv")
	_, err = Open(t.Context(), Config{Path: dir}, nil)
	require.ErrorContains(t, err, "no regular file")
	_, err = Open(t.Context(), Config{}, nil)
	require.ErrorContains(t, err, "no path")
	path := write(t, "a.csv", []byte(nasty))
	for _, comma := range []rune{'"', '\n', '\r', 'ß', -1, 0x1F600} {
		_, err = Open(t.Context(), Config{Path: path, Comma: comma}, nil)
		require.ErrorContains(t, err, "fields cannot be separated by")
	}
	_, err = Open(t.Context(), Config{Path: path, MaxLine: -1}, nil)
	require.ErrorContains(t, err, "MaxLine is -1")
	r, err := Open(t.Context(), Config{Path: path}, nil)
	require.NoError(t, err)
	_, err = r.Read(t.Context(), 0)
	require.ErrorContains(t, err, "want at least 1")
	_, err = r.Column("nome")
	require.ErrorContains(t, err, `has no column "nome": its header names ["id" "name"]`)
	require.NoError(t, r.Close())
}

// A quote that nobody closes does not make the reader take a whole large file for one record.
func TestUnclosedQuoteInALargeFileStopsAtMaxLine(t *testing.T) {
	content := "id,name\n1,one\n2,\"two\n" + strings.Repeat("3,three\n", 1<<20)
	path := write(t, "large.csv", []byte(content))
	r, err := Open(t.Context(), Config{Path: path}, nil)
	require.NoError(t, err)
	records, err := r.Read(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, records, 1)
	_, err = r.Read(t.Context(), 10)
	require.ErrorIs(t, err, ErrTooLong)
	require.ErrorContains(t, err, "large.csv:3:3: ")
	require.ErrorContains(t, err, "is the quoted field that begins here ever closed?")
	require.Less(t, cap(r.stream.buf), 4*DefaultMaxLine)
	require.NoError(t, r.Close())
}

// However many records are asked for, one Read stays bounded.
func TestReadIsBounded(t *testing.T) {
	for line, lines := range map[string]int{strings.Repeat("x", 1000) + ",\n": 9000, ",\n": 300_000} {
		path := write(t, "many.csv", []byte("id,name\n"+strings.Repeat(line, lines)))
		r, err := Open(t.Context(), Config{Path: path}, nil)
		require.NoError(t, err)
		total := 0
		for {
			records, err := r.Read(t.Context(), 1<<30)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			require.LessOrEqual(t, len(records)*len(line), batchBytes+len(line))
			require.LessOrEqual(t, len(records)*2, batchFields)
			total += len(records)
		}
		require.Equal(t, lines, total)
		require.Less(t, cap(r.stream.buf), 12<<20)
		require.NoError(t, r.Close())
	}
}

func TestErrorStaysAndPositionStaysBeforeIt(t *testing.T) {
	path := write(t, "bad.csv", []byte("id,name\n1,one\n\n2\n3,three\n"))
	r, err := Open(t.Context(), Config{Path: path}, nil)
	require.NoError(t, err)
	_, err = r.Read(t.Context(), 10)
	require.NoError(t, err)
	var first error
	for range 3 {
		_, err = r.Read(t.Context(), 10)
		require.ErrorIs(t, err, ErrFieldCount)
		if first == nil {
			first = err
		}
		require.Same(t, first, err)
		_, again := rest(t.Context(), Config{Path: path}, r.Position(), 10)
		require.EqualError(t, again, err.Error())
	}
	require.NoError(t, r.Close())
}

func TestEndedContextHarmsNothing(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("id,name\n")
	for i := range 15_000 {
		fmt.Fprintf(&b, "\n\n%d,name\n", i)
	}
	path := write(t, "long.csv", b.Bytes())
	r, err := Open(t.Context(), Config{Path: path}, nil)
	require.NoError(t, err)
	cause := errors.New("asked to stop")
	want := int64(0)
	for {
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		_, err := r.Read(ended, 500)
		require.ErrorIs(t, err, cause)
		records, err := r.Read(t.Context(), 500)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		for _, rec := range records {
			want++
			require.Equal(t, want, rec.Number())
			require.Equal(t, 1+3*want, rec.Line())
		}
	}
	require.EqualValues(t, 15_000, want)
	require.NoError(t, r.Close())

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Open(ended, Config{Path: path}, nil)
	require.ErrorIs(t, err, context.Canceled)
}

// endsLater is a context that ends when it is asked for the n-th time.
type endsLater struct {
	context.Context
	n int
}

func (c *endsLater) Err() error {
	c.n--
	if c.n < 0 {
		return context.Canceled
	}
	return nil
}

// Also a context that ends in the middle of a Read, behind blank lines that it has passed.
func TestContextEndedInsideAReadHarmsNothing(t *testing.T) {
	path := write(t, "blank.csv", []byte("id,name\n"+strings.Repeat("1,one\n"+strings.Repeat("\n", 3*chunk/2), 3)))
	all, err := rest(t.Context(), Config{Path: path}, nil, 10)
	require.NoError(t, err)
	require.Len(t, all, 3)
	stops := 0
	for n := range 4 {
		r, err := Open(t.Context(), Config{Path: path}, nil)
		require.NoError(t, err)
		var got []row
		for err == nil {
			var records []Record
			records, err = r.Read(&endsLater{Context: t.Context(), n: n}, 10)
			if errors.Is(err, context.Canceled) {
				stops++
				others, restErr := rest(t.Context(), Config{Path: path}, r.Position(), 10)
				require.NoError(t, restErr)
				require.Equal(t, plain(all[len(got):]), plain(others))
				records, err = r.Read(t.Context(), 1)
			}
			for _, rec := range records {
				got = append(got, row{line: rec.Line(), number: rec.Number(), fields: []string{string(rec.Bytes(0)), string(rec.Bytes(1))}})
			}
		}
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, plain(all), got)
		others, err := rest(t.Context(), Config{Path: path}, r.Position(), 10)
		require.NoError(t, err)
		require.Empty(t, others)
		require.NoError(t, r.Close())
	}
	require.Greater(t, stops, 2)
}

// failOnce fails the n-th time that its point is reached.
type failOnce struct {
	point fault.Point
	n     int
}

func (f *failOnce) At(_ context.Context, p fault.Point) error {
	if p == f.point {
		f.n--
		if f.n == 0 {
			return &fault.Error{Point: p}
		}
	}
	return nil
}

func (f *failOnce) String() string { return fmt.Sprintf("%s#%d", f.point, f.n) }

// Whichever side of a Read fails, what was not handed out is still to come.
func TestFaultsAtSourceRead(t *testing.T) {
	path := write(t, "nasty.csv", []byte(nasty))
	all, err := rest(t.Context(), Config{Path: path}, nil, 1)
	require.NoError(t, err)
	require.Len(t, all, 4)
	for _, after := range []bool{false, true} {
		for n := 1; n <= 5; n++ {
			point := fault.Point{Op: fault.SourceRead, After: after}
			c := Config{Path: path, Faults: &failOnce{point: point, n: n}}
			r, err := Open(t.Context(), c, nil)
			require.NoError(t, err)
			got := 0
			for err == nil {
				var records []Record
				if records, err = r.Read(t.Context(), 1); err == nil {
					got += len(records)
				}
			}
			var injected *fault.Error
			require.ErrorAs(t, err, &injected, "%s", c.Faults)
			require.Equal(t, n-1, got)
			_, again := r.Read(t.Context(), 1)
			require.Same(t, err, again)
			require.NoError(t, r.Close())
			others, err := rest(t.Context(), Config{Path: path}, r.Position(), 1)
			require.NoError(t, err)
			require.Equal(t, plain(all[got:]), plain(others))
		}
	}
}

func TestReadAllocatesNothingPerRecord(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("id,name,at,amount\n")
	for i := range 60_000 {
		fmt.Fprintf(&b, "%d,\"a \"\"quoted\"\" name\",2001/01/01 00:%02d,%d.50\n", i, i%60, i)
	}
	r, err := Open(t.Context(), Config{Path: write(t, "many.csv", b.Bytes())}, nil)
	require.NoError(t, err)
	const batch = 1000
	sum := int64(0)
	read := func() {
		records, err := r.Read(t.Context(), batch)
		if err != nil || len(records) != batch {
			t.Fatalf("%d records, %v", len(records), err)
		}
		for _, rec := range records {
			n, err := rec.Int64(0)
			if err != nil {
				t.Fatal(err)
			}
			f, err := rec.Float64(3)
			if err != nil {
				t.Fatal(err)
			}
			sum += n + int64(f) + int64(len(rec.Bytes(1)))
		}
	}
	read()
	perBatch := testing.AllocsPerRun(50, read)
	require.LessOrEqual(t, perBatch/batch, 0.001)
	require.NotZero(t, sum)
	require.NoError(t, r.Close())
}

func BenchmarkRead(b *testing.B) {
	r, err := Open(b.Context(), Config{Path: flights}, nil)
	require.NoError(b, err)
	start := r.Position()
	b.ReportAllocs()
	for n := 0; n < b.N; {
		records, err := r.Read(b.Context(), 1000)
		if errors.Is(err, io.EOF) {
			require.NoError(b, r.Close())
			r, err = Open(b.Context(), Config{Path: flights}, start)
			require.NoError(b, err)
			continue
		}
		require.NoError(b, err)
		n += len(records)
	}
	require.NoError(b, r.Close())
}
