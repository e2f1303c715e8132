package txnsink

import "time"

// Row takes the values of one row of a [Batch], in the order of the columns. It is good until the next row of the
// batch begins; a value that comes later is reported as an error, not written elsewhere.
type Row struct {
	b   *Batch
	seq uint64
}

// Int64 gives an integer. For columns of integer, DECIMAL, floating-point, BIT and YEAR types.
func (r Row) Int64(v int64) Row { return r }

// Uint64 gives an integer.
func (r Row) Uint64(v uint64) Row { return r }

// Float64 gives a floating-point number.
func (r Row) Float64(v float64) Row { return r }

// Bool gives 1 or 0.
func (r Row) Bool(v bool) Row { return r }

// String gives text.
func (r Row) String(v string) Row { return r }

// Bytes gives bytes.
func (r Row) Bytes(v []byte) Row { return r }

// Decimal gives an exact number as text.
func (r Row) Decimal(v string) Row { return r }

// Time gives a point in time.
func (r Row) Time(v time.Time) Row { return r }

// Duration gives a value of a TIME column.
func (r Row) Duration(v time.Duration) Row { return r }

// JSON gives a JSON document.
func (r Row) JSON(v []byte) Row { return r }

// Null gives NULL.
func (r Row) Null() Row { return r }
