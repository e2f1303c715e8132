package filesource

import (
	"bytes"
	"fmt"
)

// field is where one field's value stands in the reader's buffer, and where the field begins in the file.
type field struct {
	start, end int
	line       int64
	column     int
	quoted     bool
	doubled    bool // quotes inside are still doubled
}

// blank tells whether f, being the only field of its line, makes that a blank line: nothing stands there, not even quotes.
func (f field) blank() bool { return f.start == f.end && !f.quoted }

// split is the outcome of looking at one record.
type split uint8

const (
	splitRecord split = iota // one record, or a blank line, was found
	splitMore                // the bytes end before the record does
	splitBad                 // the record breaks the grammar
)

// splitter cuts one record into fields. It has no state between calls but the slice that it appends to, so that a record
// whose end is not there yet is simply looked at again.
type splitter struct {
	comma  byte
	most   int // fields of a record; 0: any number
	fields []field

	// What the last call found. For a record its bytes, line end included, and the line that follows; for splitBad where
	// and why; for splitMore the place of the quoted field that is still open, Line 0 for none.
	size int
	line int64
	bad  LineError
}

// next looks at the record that begins at buf[at:] in the given line. final says that no bytes follow buf. Its fields are
// appended to s.fields. A blank line gives one empty field.
func (s *splitter) next(buf []byte, at int, line int64, final bool) split {
	s.bad = LineError{}
	first := len(s.fields)
	lineStart := at
	i := at
	for {
		column := i - lineStart + 1
		if s.most > 0 && len(s.fields)-first == s.most {
			return s.fail(line, column, fmt.Errorf("%w: more than the header's %d", ErrFieldCount, s.most))
		}
		if i < len(buf) && buf[i] == '"' {
			f := field{start: i + 1, line: line, column: column, quoted: true}
			j := f.start
			for {
				k := bytes.IndexByte(buf[j:], '"')
				if k < 0 {
					return s.open(final, f)
				}
				if n := bytes.Count(buf[j:j+k], newline); n > 0 {
					line += int64(n)
					lineStart = j + bytes.LastIndexByte(buf[j:j+k], '\n') + 1
				}
				j += k
				if j+1 == len(buf) && !final {
					return s.open(final, f)
				}
				if j+1 == len(buf) || buf[j+1] != '"' {
					break
				}
				f.doubled = true
				j += 2
			}
			f.end = j
			i = j + 1
			s.fields = append(s.fields, f)
			if i < len(buf) && buf[i] == s.comma {
				i++
				continue
			}
			if n, more := lineEnd(buf[i:], final); more {
				return splitMore
			} else if n >= 0 {
				return s.record(buf, at, i+n, line)
			}
			return s.fail(line, i-lineStart+1, fmt.Errorf("%w: text follows the quote that closes the field; "+
				"a quote inside a quoted field is written twice", ErrQuote))
		}

		start := i
		for i < len(buf) && buf[i] != s.comma && buf[i] != '\n' && buf[i] != '\r' && buf[i] != '"' {
			i++
		}
		n, more := lineEnd(buf[i:], final)
		switch {
		case more:
			return splitMore
		case n >= 0:
			s.fields = append(s.fields, field{start: start, end: i, line: line, column: column})
			return s.record(buf, at, i+n, line)
		case buf[i] == s.comma:
			s.fields = append(s.fields, field{start: start, end: i, line: line, column: column})
			i++
		case buf[i] == '"':
			return s.fail(line, i-lineStart+1, fmt.Errorf("%w: inside a field that does not begin with one", ErrQuote))
		default:
			return s.fail(line, i-lineStart+1, fmt.Errorf("%w: lines end in LF or CRLF; "+
				"a field that holds a carriage return is quoted", ErrCarriageReturn))
		}
	}
}

var newline = []byte{'\n'}

// lineEnd is the length of the line end that b begins with, 0 at the very end of the file, -1 for none. more says that
// it takes further bytes to tell.
func lineEnd(b []byte, final bool) (n int, more bool) {
	switch {
	case len(b) == 0:
		return 0, !final
	case b[0] == '\n':
		return 1, false
	case b[0] != '\r':
		return -1, false
	case len(b) == 1:
		return 1, !final
	case b[1] == '\n':
		return 2, false
	default:
		return -1, false
	}
}

// record is the record, or blank line, buf[at:end], which ends in the given line.
func (s *splitter) record(buf []byte, at, end int, line int64) split {
	s.size = end - at
	s.line = line
	if end > at && buf[end-1] == '\n' {
		s.line++
	}
	return splitRecord
}

// open is a quoted field f that is not closed where the buffer ends.
func (s *splitter) open(final bool, f field) split {
	if !final {
		s.bad = LineError{Line: f.line, Column: f.column}
		return splitMore
	}
	return s.fail(f.line, f.column, fmt.Errorf("%w: it begins here, and the file ends inside it", ErrUnclosed))
}

func (s *splitter) fail(line int64, column int, err error) split {
	s.bad = LineError{Line: line, Column: column, Err: err}
	return splitBad
}

// undouble turns doubled quotes in b into single ones, in place, and gives the new length.
func undouble(b []byte) int {
	n := 0
	for i := 0; i < len(b); i++ {
		b[n] = b[i]
		n++
		if b[i] == '"' {
			i++
		}
	}
	return n
}
