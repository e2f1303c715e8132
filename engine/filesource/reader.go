package filesource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/xasink/xasink/fault"
)

// A batch ends before it has all the records that were asked for when it comes to this much: the memory of one Read is
// bounded.
const (
	batchBytes  = 4 << 20
	batchFields = 1 << 17
)

// Reader reads one file from one position on. It is not safe for concurrent use.
type Reader struct {
	config Config
	stream *stream
	split  splitter

	names     []string
	byName    map[string]int
	header    [8]byte // hash of names and comma
	headerEnd int64   // where its text ends, the line end not included

	at      mark
	records []Record
	batch   uint64 // number of the Read whose records are valid
	err     error  // what every further Read answers
}

// mark is a place between two records.
type mark struct {
	line   int64
	record int64
	digest digest // digest.at is the offset
}

// open opens the file and reads its header.
func open(ctx context.Context, c Config) (*Reader, error) {
	s, err := openStream(c.Path)
	if err != nil {
		return nil, err
	}
	r := &Reader{config: c, stream: s, split: splitter{comma: byte(c.Comma)}}
	if err := r.readHeader(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return r, nil
}

// Header is the columns' names in the file's order. The caller may keep it and may not change it.
func (r *Reader) Header() []string { return r.names }

// Column is the index of the column of that name, for the methods of Record. Names are compared byte by byte.
func (r *Reader) Column(name string) (int, error) {
	i, ok := r.byName[name]
	if !ok {
		return 0, fmt.Errorf("%s: has no column %q: its header names %q", r.config.Path, name, r.names)
	}
	return i, nil
}

// Position is where to go on after the records of the last Read: bytes for Open, at most 2 KB, to be kept as they are. It
// is the reader's position at any time: before the first Read the one it was opened at, after an error the one before
// the record that could not be read.
func (r *Reader) Position() []byte {
	return place{
		offset: r.at.digest.at,
		line:   r.at.line,
		record: r.at.record,
		from:   r.at.digest.from,
		sum:    r.at.digest.sum,
		header: r.header,
		base:   filepath.Base(r.config.Path),
	}.encode()
}

// Close closes the file. It does not change Position.
func (r *Reader) Close() error { return r.stream.close() }

// Read gives the next records: one to most of them, fewer than most at the end of the file, before a bad record, or when
// they come to 4 MiB or 131,072 fields. Records and their fields are valid until the next Read.
//
// io.EOF says that all records were read; a file that grows is opened anew. Errors: *LineError, *ReadError, what a
// fault injector answers, and the cause of ctx. A bad record is told when all before it were given, and the position
// stays before it. Except for an ended ctx, a reader that gave an error gives the same at each further Read.
func (r *Reader) Read(ctx context.Context, most int) ([]Record, error) {
	if most < 1 {
		return nil, fmt.Errorf("%s: %d records were asked for: want at least 1", r.config.Path, most)
	}
	if r.err != nil {
		return nil, r.err
	}
	if err := r.stream.stopped(ctx); err != nil {
		return nil, err
	}
	if r.err = fault.At(ctx, r.config.Faults, fault.Before(fault.SourceRead)); r.err != nil {
		return nil, r.err
	}

	r.batch++
	r.records = r.records[:0]
	r.split.fields = r.split.fields[:0]
	r.stream.forget()
	next := r.at
	end := next.digest.at + batchBytes
	var err error
	for err == nil && len(r.records) < most && len(r.split.fields) < batchFields && next.digest.at < end {
		err = r.readRecord(ctx, &next)
	}
	if err != nil && ctx.Err() == nil {
		r.err = err
	}

	if fErr := fault.At(ctx, r.config.Faults, fault.After(fault.SourceRead)); fErr != nil {
		r.err = fErr
		return nil, fErr
	}
	r.at = next
	if len(r.records) == 0 {
		return nil, err
	}
	return r.records, nil
}

// readRecord appends the next record to r.records and moves m behind it. After an error m is where it was.
func (r *Reader) readRecord(ctx context.Context, m *mark) error {
	for {
		first := len(r.split.fields)
		size, line, err := r.scan(ctx, m.line)
		if err != nil {
			return err
		}
		fields := r.split.fields[first:]
		if len(fields) == 1 && fields[0].blank() && len(r.names) > 1 {
			r.split.fields = r.split.fields[:first]
			r.pass(m, size, line)
			continue
		}
		if len(fields) != len(r.names) {
			return r.fieldCount(fields)
		}
		recordLine := m.line
		r.pass(m, size, line)
		m.record++
		for i := range fields {
			f := &fields[i]
			if f.doubled {
				f.end = f.start + undouble(r.stream.buf[f.start:f.end])
			}
		}
		r.records = append(r.records, Record{reader: r, batch: r.batch, first: first, line: recordLine, number: m.record})
		return nil
	}
}

// pass consumes size bytes, which the digest of m takes in, and leaves m at the given line.
func (r *Reader) pass(m *mark, size int, line int64) {
	s := r.stream
	m.digest.add(s.buf[s.head : s.head+size])
	m.line = line
	s.head += size
}

// scan looks for the end of the record that begins at the given line, reads on as far as that takes, and appends its
// fields to r.split.fields. It consumes nothing. io.EOF: no record begins here.
func (r *Reader) scan(ctx context.Context, line int64) (size int, next int64, err error) {
	s := r.stream
	first := len(r.split.fields)
	for {
		if s.ahead() == 0 && s.final {
			return 0, 0, io.EOF
		}
		outcome := splitMore
		if s.ahead() > 0 {
			outcome = r.split.next(s.buf, s.head, line, s.final)
		}
		switch {
		case outcome == splitRecord && r.split.size <= r.config.MaxLine:
			return r.split.size, r.split.line, nil
		case outcome == splitBad:
			return 0, 0, r.bad(r.split.bad)
		case outcome == splitRecord || s.ahead() > r.config.MaxLine:
			return 0, 0, r.tooLong(outcome, line)
		}
		r.split.fields = r.split.fields[:first]
		if err := s.fill(ctx); err != nil {
			return 0, 0, err
		}
	}
}

func (r *Reader) bad(e LineError) error {
	e.File = r.config.Path
	return &e
}

func (r *Reader) tooLong(outcome split, line int64) error {
	e := LineError{Line: line, Column: 1}
	open := ""
	if outcome == splitMore && r.split.bad.Line > 0 {
		e = r.split.bad
		open = "; is the quoted field that begins here ever closed?"
	}
	e.Err = fmt.Errorf("%w: the record that begins at line %d has more than %d bytes (MaxLine)%s",
		ErrTooLong, line, r.config.MaxLine, open)
	return r.bad(e)
}

// fieldCount is the error of a record with fewer fields than the header, at the last one there is.
func (r *Reader) fieldCount(fields []field) error {
	f := fields[len(fields)-1]
	return r.bad(LineError{Line: f.line, Column: f.column,
		Err: fmt.Errorf("%w: %d, and the header has %d", ErrFieldCount, len(fields), len(r.names))})
}
