package filesource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

var (
	markUTF8 = []byte("\xef\xbb\xbf")
	utf16    = [][]byte{[]byte("\xff\xfe"), []byte("\xfe\xff")}
)

// readHeader reads the columns' names and leaves the reader behind them.
func (r *Reader) readHeader(ctx context.Context) error {
	s := r.stream
	if err := s.fill(ctx); err != nil {
		return err
	}
	r.at = mark{line: 1, digest: digestAt(0, s.gzip)}
	for _, m := range utf16 {
		if bytes.HasPrefix(s.buf, m) {
			return r.unusable(field{line: 1, column: 1}, errors.New("the file is UTF-16: convert it to UTF-8"))
		}
	}
	if bytes.HasPrefix(s.buf, markUTF8) {
		r.pass(&r.at, len(markUTF8), 1)
	}
	for {
		size, line, err := r.scan(ctx, r.at.line)
		if errors.Is(err, io.EOF) {
			return r.unusable(field{line: 1, column: 1}, errors.New("the file is empty: want a line that names the columns"))
		}
		if err != nil {
			return err
		}
		fields := r.split.fields
		blank := len(fields) == 1 && fields[0].blank()
		if !blank {
			err = r.nameColumns(fields)
		}
		r.split.fields = fields[:0]
		if err != nil {
			return err
		}
		text := bytes.TrimRight(s.buf[s.head:s.head+size], "\r\n")
		r.headerEnd = s.offset() + int64(len(text))
		r.pass(&r.at, size, line)
		if !blank {
			r.split.most = len(r.names)
			return nil
		}
	}
}

// nameColumns takes the names out of the header's fields.
func (r *Reader) nameColumns(fields []field) error {
	r.byName = make(map[string]int, len(fields))
	for i, f := range fields {
		b := bytes.Clone(r.stream.buf[f.start:f.end])
		if f.doubled {
			b = b[:undouble(b)]
		}
		name := string(b)
		switch first, twice := r.byName[name]; {
		case bytes.ContainsFunc(b, control):
			return r.unusable(f, fmt.Errorf("%q holds control characters: is this a text file?", shorten(b)))
		case !utf8.Valid(b):
			return r.unusable(f, fmt.Errorf("%q is not UTF-8: convert the file", shorten(b)))
		case twice:
			return r.unusable(f, fmt.Errorf("columns %d and %d are both named %q: rename one", first+1, i+1, shorten(b)))
		}
		r.byName[name] = i
		r.names = append(r.names, name)
	}
	r.header = hashHeader(r.split.comma, r.names)
	return nil
}

// control tells characters that no text has.
func control(c rune) bool {
	return c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f
}

func (r *Reader) unusable(f field, err error) error {
	return r.bad(LineError{Line: f.line, Column: f.column, Err: fmt.Errorf("%w: %w", ErrHeader, err)})
}
