package txnsink

import (
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"
)

// keyOf is the primary key of row i for people, "id=7, part='a'", as far as the row has it; "" for a table without.
func (b *Batch) keyOf(i int) string {
	var s strings.Builder
	r := b.rows[i]
	if r.table == nil {
		return ""
	}
	for k, c := range r.table.key {
		at := k
		if r.op != Delete {
			at = r.table.keyAt[k]
		}
		if at < 0 {
			continue
		}
		if s.Len() > 0 {
			s.WriteString(", ")
		}
		s.WriteString(c.name + "=")
		if v := r.first + at; v < b.endOf(i) {
			s.WriteString(b.show(v))
		} else {
			s.WriteByte('?')
		}
	}
	return s.String()
}

// endOf is the position behind the last value of row i.
func (b *Batch) endOf(i int) int {
	if i+1 < len(b.rows) {
		return b.rows[i+1].first
	}
	return len(b.ends)
}

// show is value v for people, shortened.
func (b *Batch) show(v int) string {
	switch b.kinds[v] {
	case kindNull:
		return nullText
	case kindNumber:
		return shorten(string(b.stored(v)))
	case kindText:
		return "'" + strings.ReplaceAll(shorten(printable(unescape(b.stored(v)))), "'", "''") + "'"
	case kindBytes:
		return "X'" + shorten(hex.EncodeToString([]byte(unescape(b.stored(v))))) + "'"
	case kindRefused:
	}
	return "?"
}

// unescape is what appendEscaped was given.
func unescape(stored []byte) string {
	out := make([]byte, 0, len(stored))
	for i := 0; i < len(stored); i++ {
		c := stored[i]
		if c == '\\' {
			i++
			for plain, letter := range escapes {
				if letter != 0 && letter == stored[i] {
					c = byte(plain)
				}
			}
		}
		out = append(out, c)
	}
	return string(out)
}

// printable is s with what would break a line or a terminal in Go's escapes.
func printable(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	q := strconv.Quote(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

// keys names the keys of a statement: the first few, and the last.
func (s statement) keys(b *Batch) string {
	const few = 3
	var keys []string
	for _, i := range s.rows {
		k := b.keyOf(i)
		if k == "" {
			return ""
		}
		if len(keys) == few {
			keys = append(keys, "…", b.keyOf(s.rows[len(s.rows)-1]))
			break
		}
		keys = append(keys, k)
	}
	return strings.Join(keys, "; ")
}

// blocked names table and keys (the first few) of a statement that waited for a lock in vain. keys is "" for a table
// without a primary key.
func (s statement) blocked(b *Batch) (table, keys string) { return s.table.name, s.keys(b) }
