package filesource

import (
	"errors"
	"fmt"
)

// What a [*LineError] can wrap when the line itself cannot be split into fields.
var (
	// ErrFieldCount: the record has more or fewer fields than the header.
	ErrFieldCount = errors.New("wrong number of fields")
	// ErrQuote: a double quote stands where none may be, or text follows the quote that closes a field.
	ErrQuote = errors.New("misplaced double quote")
	// ErrUnclosed: a quoted field is not closed before the file ends.
	ErrUnclosed = errors.New("quoted field without its closing quote")
	// ErrCarriageReturn: a carriage return that no line feed follows, in a field without quotes.
	ErrCarriageReturn = errors.New("carriage return without a line feed")
	// ErrTooLong: a record longer than Config.MaxLine.
	ErrTooLong = errors.New("record too long")
	// ErrHeader: the header cannot name the columns.
	ErrHeader = errors.New("unusable header")
)

// LineError is a record, or a field of one, that cannot be read. The reader's position stays before that record: once
// the line is mended, opening at the position goes on with it.
type LineError struct {
	File   string // the path as configured
	Line   int64  // counts line feeds, from 1; for a record that spans lines, the line of the place meant
	Column int    // counts bytes of that line, from 1; of a quoted field, the column of its opening quote
	Name   string // the header's name of the field, "" where no single field is meant
	Err    error
}

func (e *LineError) Error() string {
	if e.Name != "" {
		return fmt.Sprintf("%s:%d:%d: column %s: %v", e.File, e.Line, e.Column, e.Name, e.Err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", e.File, e.Line, e.Column, e.Err)
}

func (e *LineError) Unwrap() error { return e.Err }

// ReadError is a file that cannot be read on: the disk refused, or a gzip stream is damaged or cut off. A gzip stream
// carries its checksum at its end, so damage inside it may be noticed only after records that it spoilt were read.
type ReadError struct {
	File   string
	Offset int64 // bytes of the uncompressed content that could be read
	Err    error
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("%s: cannot be read beyond byte %d of its content: %v; get a whole copy of the file and go on with that",
		e.File, e.Offset, e.Err)
}

func (e *ReadError) Unwrap() error { return e.Err }

// PositionError is a position that does not fit the file, or is none of this package. Nothing was read.
type PositionError struct {
	File   string
	Reason string
}

func (e *PositionError) Error() string {
	return fmt.Sprintf("%s: the stored position does not fit: %s; give the job the very file that it began with, "+
		"or take it over with a position of your choice", e.File, e.Reason)
}
