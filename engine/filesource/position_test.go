package filesource

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const nasty = "id,name\n1,\"a, \"\"b\"\"\"\r\n2,\"two\r\nlines\"\n\n3,\n4,last"

// A stored position outlives the program that wrote it: these bytes are version 1 for good.
const golden = "78667001" + "18" + "04" + "02" + "00" + "01020304" + "a1a2a3a4a5a6a7a8" + "05" + "612e637376" + "1ce9f96b"

func TestPositionBytes(t *testing.T) {
	p := place{offset: 24, line: 4, record: 2, sum: 0x01020304, base: "a.csv"}
	copy(p.header[:], "\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8")
	require.Equal(t, golden, hex.EncodeToString(p.encode()))

	b, err := hex.DecodeString(golden)
	require.NoError(t, err)
	got, err := decodePlace(b)
	require.NoError(t, err)
	require.Equal(t, p, got)
}

func TestDamagedPositionIsRefused(t *testing.T) {
	path := write(t, "nasty.csv", []byte(nasty))
	good, err := Start(t.Context(), Config{Path: path})
	require.NoError(t, err)

	refused := func(b []byte, what string, args ...any) {
		r, err := Open(t.Context(), Config{Path: path}, b)
		require.Nil(t, r)
		var misfit *PositionError
		require.ErrorAs(t, err, &misfit, what, args)
		require.ErrorContains(t, err, path)
	}
	for n := 1; n < len(good); n++ {
		refused(good[:n], "cut to %d bytes", n)
	}
	refused(append(bytes.Clone(good), 0), "one byte too many")
	for i := range good {
		for bit := range 8 {
			b := bytes.Clone(good)
			b[i] ^= 1 << bit
			refused(b, "byte %d, bit %d", i, bit)
		}
	}
	newer := bytes.Clone(good)
	newer[3] = 7
	_, err = Open(t.Context(), Config{Path: path}, newer)
	require.ErrorContains(t, err, "version 7 and this program reads up to 1")
	_, err = Open(t.Context(), Config{Path: path}, []byte(`{"offset":12}`))
	require.ErrorContains(t, err, "not the position of a file")
}

func TestLongestNameFitsIntoAPosition(t *testing.T) {
	path := write(t, strings.Repeat("n", 255), []byte(nasty))
	position, err := Start(t.Context(), Config{Path: path})
	require.NoError(t, err)
	require.LessOrEqual(t, len(position), 2048)
	_, err = Start(t.Context(), Config{Path: strings.Repeat("n", 1025)})
	require.ErrorContains(t, err, "shorter name")
}

// behind gives the position behind the n-th record.
func behind(t *testing.T, path string, n int) []byte {
	t.Helper()
	r, err := Open(t.Context(), Config{Path: path}, nil)
	require.NoError(t, err)
	records, err := r.Read(t.Context(), n)
	require.NoError(t, err)
	require.Len(t, records, n)
	require.NoError(t, r.Close())
	return r.Position()
}

func TestPositionOfAnotherFileIsRefused(t *testing.T) {
	original := []byte("id,name\n1,one\n2,two\n3,three\n")
	for _, zipped := range []bool{false, true} {
		pack := func(b []byte) []byte {
			if zipped {
				return compress(t, b)
			}
			return b
		}
		path := write(t, "names.csv", pack(original))
		position := behind(t, path, 2)

		for _, c := range []struct{ name, base, content, want string }{
			{"another name", "other.csv", string(original), `one in a file named "names.csv"`},
			{"another header", "names.csv", "id,nome\n1,one\n2,two\n3,three\n", "the header is another"},
			{"more columns", "names.csv", "id,name,x\n1,one,\n2,two,\n3,three,\n", "the header is another"},
			{"one byte before it changed", "names.csv", "id,name\n1,onE\n2,two\n3,three\n", "(bytes 0 to 20, up to line 4) was changed"},
			{"a line before it inserted", "names.csv", "id,name\n0,zero\n1,one\n2,two\n3,three\n", "was changed"},
			{"shorter", "names.csv", "id,name\n1,one\n2,tw", "lies at byte 20 of the content (line 4), and the file ends at byte 18"},
			{"only the header left", "names.csv", "id,name\n", "the file ends at byte 8"},
		} {
			t.Run(fmt.Sprintf("%s, gzip %t", c.name, zipped), func(t *testing.T) {
				other := write(t, c.base, pack([]byte(c.content)))
				r, err := Open(t.Context(), Config{Path: other}, position)
				require.Nil(t, r)
				var misfit *PositionError
				require.ErrorAs(t, err, &misfit)
				require.ErrorContains(t, err, other)
				require.ErrorContains(t, err, c.want)
				require.ErrorContains(t, err, "take it over with a position of your choice")
			})
		}
		t.Run(fmt.Sprintf("another comma, gzip %t", zipped), func(t *testing.T) {
			_, err := Open(t.Context(), Config{Path: path, Comma: ';'}, position)
			require.ErrorContains(t, err, "split by another comma")
		})
		t.Run(fmt.Sprintf("inside the header, gzip %t", zipped), func(t *testing.T) {
			p, err := decodePlace(position)
			require.NoError(t, err)
			p.offset, p.from, p.sum = 3, 0, 0
			_, err = Open(t.Context(), Config{Path: path}, p.encode())
			require.ErrorContains(t, err, "inside the header")
		})
	}
}

// What stands behind a position is free to change: that is how a bad line is mended, and how a file grows.
func TestFileMayChangeBehindThePosition(t *testing.T) {
	path := write(t, "names.csv", []byte("id,name\n1,one\n2,\"two\n"))
	r, err := Open(t.Context(), Config{Path: path}, nil)
	require.NoError(t, err)
	_, err = r.Read(t.Context(), 10)
	require.NoError(t, err)
	_, err = r.Read(t.Context(), 10)
	require.ErrorIs(t, err, ErrUnclosed)
	require.NoError(t, r.Close())

	require.NoError(t, os.WriteFile(path, []byte("id,name\n1,one\n2,\"two\"\n3,three\n"), 0o600))
	rows, err := rest(t.Context(), Config{Path: path}, r.Position(), 10)
	require.NoError(t, err)
	require.Equal(t, []row{
		{line: 3, number: 2, fields: []string{"2", "two"}},
		{line: 4, number: 3, fields: []string{"3", "three"}},
	}, plain(rows))
}

// A file that ended without a line end may go on with a new line. If it goes on with the same line, the record that was
// read from it was not whole.
func TestFileThatEndedWithoutLineEndGrows(t *testing.T) {
	for _, c := range []struct {
		was, is string
		want    []row
		refused bool
	}{
		{was: "id,name\n1,one", is: "id,name\n1,one"},
		{was: "id,name\n1,one", is: "id,name\n1,one\n"},
		{was: "id,name\n1,one", is: "id,name\n1,one\n2,two", want: []row{{line: 3, number: 2, fields: []string{"2", "two"}}}},
		{was: "id,name\n1,one", is: "id,name\n1,one\r\n2,two", want: []row{{line: 3, number: 2, fields: []string{"2", "two"}}}},
		{was: "id,name\n1,one\r", is: "id,name\n1,one\r\n2,two", want: []row{{line: 3, number: 2, fields: []string{"2", "two"}}}},
		{was: "id,name\n1,one\r", is: "id,name\n1,one\r"},
		{was: "id,name\n1,one", is: "id,name\n1,one\r"},
		{was: "id,name\n1,one", is: "id,name\n1,ones\n", refused: true},
		{was: "id,name\n1,one", is: "id,name\n1,one,\n", refused: true},
		{was: "id,name\n1,one", is: "id,name\n1,one\rx\n", refused: true},
		{was: "id,name\n1,one\r", is: "id,name\n1,one\rx\n", refused: true},
		{was: "id,name\n1,one\r", is: "id,name\n1,one\r\r\n", refused: true},
		{was: "id,name\n1,\"one\"", is: "id,name\n1,\"one\"\"s\"\n", refused: true},
		{was: "id,name", is: "id,name"},
		{was: "id,name", is: "id,name\n1,one", want: []row{{line: 2, number: 1, fields: []string{"1", "one"}}}},
		{was: "id,name\r", is: "id,name\r\n1,one", want: []row{{line: 2, number: 1, fields: []string{"1", "one"}}}},
		{was: "id,name", is: "id,names\n1,one", refused: true},
		{was: "id\n1", is: "id\n1\n\n", want: []row{{line: 3, number: 2, fields: []string{""}}}},
		{was: "id\n1", is: "id\n1\n"},
		{was: "id\n1", is: "id\n1\r"},
	} {
		for _, zipped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%q becomes %q, gzip %t", c.was, c.is, zipped), func(t *testing.T) {
				was, is := []byte(c.was), []byte(c.is)
				if zipped {
					was, is = compress(t, was), compress(t, is)
				}
				path := write(t, "growing.csv", was)
				position, err := Start(t.Context(), Config{Path: path})
				require.NoError(t, err)
				rows, err := rest(t.Context(), Config{Path: path}, position, 1)
				require.NoError(t, err)
				if len(rows) > 0 {
					position = rows[len(rows)-1].position
				}

				require.NoError(t, os.WriteFile(path, is, 0o600))
				got, err := rest(t.Context(), Config{Path: path}, position, 1)
				if c.refused {
					var misfit *PositionError
					require.ErrorAs(t, err, &misfit)
					return
				}
				require.NoError(t, err)
				require.Len(t, got, len(c.want))
				if len(c.want) > 0 {
					require.Equal(t, c.want, plain(got))
					again, err := rest(t.Context(), Config{Path: path}, got[len(got)-1].position, 1)
					require.NoError(t, err)
					require.Empty(t, again)
				}
			})
		}
	}
}

// A plain file's position proves the last 64 KiB before it at least, across the edges of the sum's windows; a gzip
// file's proves everything.
func TestPositionProvesTheBytesBeforeIt(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("id,name\n")
	for i := range 4000 {
		fmt.Fprintf(&b, "%d,%s\n", i, strings.Repeat("x", 60))
	}
	content := b.Bytes()
	require.Greater(t, len(content), 4*window)
	dir := t.TempDir()
	zdir := t.TempDir()
	path, zpath := filepath.Join(dir, "long.csv"), filepath.Join(zdir, "long.csv")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	require.NoError(t, os.WriteFile(zpath, compress(t, content), 0o600))
	rows, err := rest(t.Context(), Config{Path: path}, nil, 211)
	require.NoError(t, err)
	zrows, err := rest(t.Context(), Config{Path: zpath}, nil, 211)
	require.NoError(t, err)

	for i, one := range rows {
		if one.position == nil {
			continue
		}
		require.NoError(t, os.WriteFile(path, content, 0o600))
		got, err := rest(t.Context(), Config{Path: path}, one.position, 500)
		require.NoError(t, err)
		require.Len(t, got, len(rows)-i-1)

		p, err := decodePlace(one.position)
		require.NoError(t, err)
		require.Less(t, p.offset-p.from, int64(2*window))
		require.GreaterOrEqual(t, p.offset-p.from, min(p.offset, window))
		for _, at := range []int64{p.from, p.offset - 2, max(p.offset-window, 0)} {
			changed := bytes.Clone(content)
			if changed[at] == '\n' {
				at--
			}
			if at < int64(len("id,name\n")) {
				continue
			}
			changed[at] ^= 1
			require.NoError(t, os.WriteFile(path, changed, 0o600))
			_, err = Open(t.Context(), Config{Path: path}, one.position)
			if at < p.from {
				require.NoError(t, err)
				continue
			}
			require.ErrorContains(t, err, "was changed", "position at %d, byte %d", p.offset, at)
		}
	}

	changed := bytes.Clone(content)
	changed[20] ^= 1
	require.NoError(t, os.WriteFile(zpath, compress(t, changed), 0o600))
	_, err = Open(t.Context(), Config{Path: zpath}, zrows[len(zrows)-1].position)
	require.ErrorContains(t, err, "(bytes 0 to")
}

// A file that was unpacked, or packed, under its old name is still the same file: positions are of the content.
func TestPositionHoldsWhenTheFileIsPacked(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("id,name\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "%d,%s\n", i, strings.Repeat("y", 50))
	}
	path, zpath := write(t, "same", b.Bytes()), write(t, "same", compress(t, b.Bytes()))
	for _, from := range []string{path, zpath} {
		position := behind(t, from, 4000)
		for _, to := range []string{path, zpath} {
			rows, err := rest(t.Context(), Config{Path: to}, position, 300)
			require.NoError(t, err)
			require.Len(t, rows, 1000)
			again, err := rest(t.Context(), Config{Path: from}, rows[299].position, 300)
			require.NoError(t, err)
			require.Len(t, again, 700)
		}
	}
}
