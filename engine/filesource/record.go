package filesource

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// Record is one record of the last Read: a small value that points into the reader. Its fields have the header's indexes,
// see Reader.Column; another index panics. Using a record after the next Read panics too, since its bytes would be those
// of another one.
//
// The typed methods refuse what they cannot take exactly, with a *LineError that names file, line and column. An empty
// field is no number and no time: whoever takes it for NULL looks at len(Bytes(i)) first. Spaces are part of a field.
type Record struct {
	reader *Reader
	batch  uint64
	first  int // of its fields in reader.split.fields
	line   int64
	number int64
}

// Line is the line that the record begins at, from 1.
func (rec Record) Line() int64 { return rec.line }

// Number counts the file's records from 1; the header and skipped blank lines do not count.
func (rec Record) Number() int64 { return rec.number }

// Len is the number of fields: always the header's.
func (rec Record) Len() int { return len(rec.reader.names) }

// Bytes is field i as it stands in the file, quotes resolved, whatever its encoding. It may not be changed, and is valid
// until the next Read.
func (rec Record) Bytes(i int) []byte {
	f := rec.field(i)
	return rec.reader.stream.buf[f.start:f.end:f.end]
}

func (rec Record) field(i int) field {
	if rec.batch != rec.reader.batch {
		panic(fmt.Sprintf("filesource: record %d of %s was used after the next Read", rec.number, rec.reader.config.Path))
	}
	if i < 0 || i >= len(rec.reader.names) {
		panic(fmt.Sprintf("filesource: %s has no column with index %d, it has %d", rec.reader.config.Path, i, len(rec.reader.names)))
	}
	return rec.reader.split.fields[rec.first+i]
}

// Text is field i as a string of its own. It must be UTF-8.
func (rec Record) Text(i int) (string, error) {
	b := rec.Bytes(i)
	if !utf8.Valid(b) {
		return "", rec.Errorf(i, "%q is not UTF-8", shorten(b))
	}
	return string(b), nil
}

// Int64 is field i as a decimal whole number.
func (rec Record) Int64(i int) (int64, error) {
	b := rec.Bytes(i)
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return 0, rec.notWhole(i, b, err)
	}
	return n, nil
}

// Uint64 is field i as a decimal whole number that is not negative.
func (rec Record) Uint64(i int) (uint64, error) {
	b := rec.Bytes(i)
	n, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil {
		return 0, rec.notWhole(i, b, err)
	}
	return n, nil
}

func (rec Record) notWhole(i int, b []byte, err error) error {
	if errors.Is(err, strconv.ErrRange) {
		return rec.Errorf(i, "%q does not fit into 64 bits", shorten(b))
	}
	return rec.Errorf(i, "%q is not a whole number of this kind", shorten(b))
}

// Float64 is field i as a finite decimal number, rounded to the nearest that the type has. For amounts use Decimal.
func (rec Record) Float64(i int) (float64, error) {
	b := rec.Bytes(i)
	for _, c := range b {
		if c == 'x' || c == 'X' || c == '_' {
			return 0, rec.Errorf(i, "%q is not a decimal number", shorten(b))
		}
	}
	n, err := strconv.ParseFloat(string(b), 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, rec.Errorf(i, "%q is beyond what a double can hold", shorten(b))
	case err != nil, math.IsNaN(n), math.IsInf(n, 0):
		return 0, rec.Errorf(i, "%q is not a decimal number", shorten(b))
	}
	return n, nil
}

// Decimal is field i, checked to be digits with at most one sign before and one point between them, as a string: exact
// for any number of digits.
func (rec Record) Decimal(i int) (string, error) {
	b := rec.Bytes(i)
	digits, point := 0, false
	for j, c := range b {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '.' && !point:
			point = true
		case (c == '-' || c == '+') && j == 0:
		default:
			return "", rec.Errorf(i, "%q is not a decimal number", shorten(b))
		}
	}
	if digits == 0 {
		return "", rec.Errorf(i, "%q is not a decimal number", shorten(b))
	}
	return string(b), nil
}

// Time is field i by a layout of package time, in loc where the layout names no zone. Mind that a local time may exist
// twice or not at all; time.UTC keeps it as it is written.
func (rec Record) Time(i int, layout string, loc *time.Location) (time.Time, error) {
	b := rec.Bytes(i)
	t, err := time.ParseInLocation(layout, string(b), loc)
	if err != nil {
		return time.Time{}, rec.Errorf(i, "%q is not a time of the form %q", shorten(b), layout)
	}
	return t, nil
}

// Errorf is a *LineError at field i, for what a caller finds wrong with its value.
func (rec Record) Errorf(i int, format string, args ...any) error {
	f := rec.field(i)
	return &LineError{File: rec.reader.config.Path, Line: f.line, Column: f.column, Name: rec.reader.names[i],
		Err: fmt.Errorf(format, args...)}
}

// shorten is b for an error message.
func shorten(b []byte) string {
	const most = 60
	if len(b) <= most {
		return string(b)
	}
	return string(b[:most]) + "…"
}
