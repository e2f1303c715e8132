package filesource

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestStoriesOfFiles reads the files that testdata/stories describes. Each is read plain and as gzip, from its start and from
// behind every record, and must give the same each time.
//
//	read [comma=C] [max-line=N] [cut]
//
// The input is the file's content; \r \n \t \\ and \xHH stand for those bytes. Each input line ends in LF, with cut the last
// one does not. The output is the header, each record with its line and number, and how it ended.
func TestStoriesOfFiles(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			require.Equal(t, "read", d.Cmd)
			content := unescape(t, d.Input)
			if !d.HasArg("cut") {
				content += "\n"
			}
			c := Config{Path: write(t, "story.csv", []byte(content))}
			var comma string
			d.MaybeScanArgs(t, "comma", &comma)
			if comma != "" {
				c.Comma = rune(unescape(t, comma)[0])
			}
			d.MaybeScanArgs(t, "max-line", &c.MaxLine)

			out := tell(t, c, "story.csv")
			z := c
			z.Path = write(t, "story.csv.gz", compress(t, []byte(content)))
			require.Equal(t, out, tell(t, z, "story.csv.gz"), "the same content as gzip")
			return out
		})
	})
}

// tell is what a story's output says of one file.
func tell(t *testing.T, c Config, base string) string {
	t.Helper()
	var b strings.Builder
	r, err := Open(t.Context(), c, nil)
	if err == nil {
		fmt.Fprintf(&b, "header %q\n", r.Header())
		require.NoError(t, r.Close())
	}
	rows, err := requireSameFromEverywhere(t, c)
	for _, one := range rows {
		fmt.Fprintf(&b, "line %d record %d %q\n", one.line, one.number, one.fields)
	}
	switch place := (*LineError)(nil); {
	case err == nil:
		b.WriteString("end\n")
	case errors.As(err, &place):
		text := strings.TrimPrefix(err.Error(), c.Path)
		require.NotEqual(t, err.Error(), text, "the error names the file")
		fmt.Fprintf(&b, "error FILE%s\n", text)
	default:
		require.Failf(t, "not a LineError", "%s: %v", base, err)
	}
	return b.String()
}

func unescape(t *testing.T, s string) string {
	t.Helper()
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		require.Less(t, i, len(s), "a backslash at the end")
		switch s[i] {
		case 'r':
			b.WriteByte('\r')
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case '\\':
			b.WriteByte('\\')
		case 'x':
			n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			require.NoError(t, err)
			b.WriteByte(byte(n))
			i += 2
		default:
			require.Failf(t, "no such escape", "%q", s[i])
		}
	}
	return b.String()
}
