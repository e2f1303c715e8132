package txnsink

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Row takes the values of one row of a [Batch], in the order of the columns. It is good until the next row of the
// batch begins: a value that comes later is reported as an error and written nowhere.
//
// Each method takes the column types that it names, because a value of another type would be changed on its way in
// without a word. A method that does not fit is reported with the ones that do.
type Row struct {
	b   *Batch
	seq uint64
}

// gift is a kind of value that a row is given.
type gift uint16

const (
	giveInteger gift = 1 << iota
	giveFloat
	giveDecimal
	giveText
	giveBytes
	giveTime
	giveDuration
	giveJSON
)

// gifts are the methods by the kind of value, for messages.
var gifts = []struct {
	gift  gift
	names string
}{
	{giveInteger, "Int64, Uint64, Bool"}, {giveFloat, "Float64"}, {giveDecimal, "Decimal"}, {giveText, "String"},
	{giveBytes, "Bytes"}, {giveTime, "Time"}, {giveDuration, "Duration"}, {giveJSON, "JSON"},
}

// takes is what a column of each class can be given.
var takes = [...]gift{
	classInteger:   giveInteger | giveDecimal,
	classYear:      giveInteger | giveDecimal,
	classBit:       giveInteger,
	classDecimal:   giveInteger | giveDecimal,
	classFloat:     giveInteger | giveDecimal | giveFloat,
	classText:      giveText | giveBytes | giveJSON,
	classEnum:      giveText | giveBytes,
	classJSON:      giveText | giveBytes | giveJSON,
	classBinary:    giveText | giveBytes,
	classDate:      giveTime | giveText,
	classDateTime:  giveTime | giveText,
	classTimestamp: giveTime | giveText,
	classTime:      giveDuration | giveText,
}

// Int64 gives an integer, to a column of an integer type, DECIMAL, FLOAT, DOUBLE, BIT or YEAR.
func (r Row) Int64(v int64) Row {
	if c := r.next(giveInteger); c != nil {
		switch {
		case v < 0 && c.class == classBit:
			r.refuse(c, errors.New("a BIT column takes no negative number"))
		case c.class == classYear && !isYear(v):
			r.refuse(c, fmt.Errorf("%d is not a year of the server: write 0 or 1901 to 2155, it would read a short one as another", v))
		case v == 0 && c.auto && !r.b.catalog.keepsZero:
			r.refuse(c, errZeroNumber)
		default:
			r.b.data = strconv.AppendInt(r.b.data, v, 10)
			r.b.value(kindNumber)
		}
	}
	return r
}

// Uint64 gives an integer, as Int64 does.
func (r Row) Uint64(v uint64) Row {
	if v <= 1<<63-1 {
		return r.Int64(int64(v))
	}
	if c := r.next(giveInteger); c != nil {
		if c.class == classYear {
			r.refuse(c, fmt.Errorf("%d is not a year", v))
			return r
		}
		r.b.data = strconv.AppendUint(r.b.data, v, 10)
		r.b.value(kindNumber)
	}
	return r
}

// Bool gives 1 or 0, as Int64 does.
func (r Row) Bool(v bool) Row {
	if v {
		return r.Int64(1)
	}
	return r.Int64(0)
}

// Float64 gives a floating-point number to a FLOAT or DOUBLE column. Infinities and NaN are errors.
func (r Row) Float64(v float64) Row {
	if c := r.next(giveFloat); c != nil {
		data, err := appendFloat(r.b.data, v)
		if err != nil {
			r.refuse(c, err)
			return r
		}
		r.b.data = data
		r.b.value(kindNumber)
	}
	return r
}

// Decimal gives a number by its digits, such as "-12.30", to a column of any numeric type but BIT. A digit that an
// integer or DECIMAL column cannot keep is an error, where the server would round in silence; FLOAT and DOUBLE hold the
// number of theirs that is nearest.
func (r Row) Decimal(v string) Row {
	if c := r.next(giveDecimal); c != nil {
		d, err := parseDecimal(v)
		if err == nil {
			err = c.fits(d, v)
		}
		if err == nil && d.isZero() && c.auto && !r.b.catalog.keepsZero {
			err = errZeroNumber
		}
		if err != nil {
			r.refuse(c, err)
			return r
		}
		r.b.data = d.append(r.b.data)
		if c.class == classFloat {
			r.b.data = append(r.b.data, "e0"...) // read as a DOUBLE: a DECIMAL literal has at most 65 digits
		}
		r.b.value(kindNumber)
	}
	return r
}

// String gives text, to a column of a character or binary type, ENUM, SET or JSON. It must be UTF-8, except for binary
// columns. To a date or time column it gives a value in the notation 2006-01-02 15:04:05.999999, 2006-01-02 or
// [-]15:04:05.999999, local to the sessions' time zone; 0000-00-00 is written as it is, where sql_mode allows it.
// Trailing spaces are kept by all types but CHAR.
func (r Row) String(v string) Row {
	if c := r.next(giveText); c != nil {
		appendText(r, c, v, utf8.ValidString(v))
	}
	return r
}

// Bytes gives bytes, to a column of a binary type, or UTF-8 text as String does. nil is the empty string, not NULL.
func (r Row) Bytes(v []byte) Row {
	if c := r.next(giveBytes); c != nil {
		appendText(r, c, v, utf8.Valid(v))
	}
	return r
}

// JSON gives a JSON document, to a JSON column or one of a character type. The document null is not NULL.
func (r Row) JSON(v []byte) Row {
	if c := r.next(giveJSON); c != nil {
		if len(v) == 0 {
			r.refuse(c, errors.New("an empty text is no JSON document: write Null, or the document null"))
			return r
		}
		appendText(r, c, v, utf8.Valid(v))
	}
	return r
}

// Time gives a point in time to a DATE, DATETIME or TIMESTAMP column. It is written in the time zone of the sessions,
// rounded to the column's digits on every server; a DATE is the day there. The zero Time is an error, never NULL or 0000-00-00.
func (r Row) Time(v time.Time) Row {
	if c := r.next(giveTime); c != nil {
		data, err := appendTime(r.b.data, v, c, r.b.catalog.zone, r.b.catalog.fixed)
		if err != nil {
			r.refuse(c, err)
			return r
		}
		r.b.data = data
		r.b.value(kindText)
	}
	return r
}

// Duration gives a value to a TIME column, rounded to the column's digits.
func (r Row) Duration(v time.Duration) Row {
	if c := r.next(giveDuration); c != nil {
		data, err := appendDuration(r.b.data, v, c.precision)
		if err != nil {
			r.refuse(c, fmt.Errorf("%s: %w", v, err))
			return r
		}
		r.b.data = data
		r.b.value(kindText)
	}
	return r
}

// Null gives NULL. It is never replaced by the column's default.
func (r Row) Null() Row {
	c := r.column()
	switch {
	case c == nil:
	case !c.nullable:
		why := "the column is NOT NULL"
		if c.auto {
			why += ": to let the server number it, leave it out of Columns"
		}
		r.refuse(c, errors.New(why))
	default:
		r.b.value(kindNull)
	}
	return r
}

var errZeroNumber = errors.New("the server would replace 0 in an AUTO_INCREMENT column by its next number: give another one, or leave the column out of Columns")

// next is the column whose value comes now and takes g; nil if there is none, and then the value is not to be written.
func (r Row) next(g gift) *column {
	c := r.column()
	if c == nil || takes[c.class]&g != 0 {
		return c
	}
	var has, want string
	for _, k := range gifts {
		if k.gift == g {
			has = k.names
		}
	}
	for _, k := range gifts {
		if takes[c.class]&k.gift != 0 {
			want += ", " + k.names
		}
	}
	r.refuse(c, fmt.Errorf("the column is %s and takes %s or Null, not %s", c.typ, strings.TrimPrefix(want, ", "), has))
	return nil
}

// column is the column whose value comes now; nil if the row has none left.
func (r Row) column() *column {
	b := r.b
	if r.seq != b.seq || !b.open {
		if len(b.rows) == 0 { // the batch was reset: count the row, so that the problem has a place
			b.rows = append(b.rows, rowRef{})
		}
		b.problem("", "", errors.New("a value was given to a row after the next one had begun, or the batch was written or emptied: give all values of a row first"))
		return nil
	}
	row := &b.rows[len(b.rows)-1]
	if row.table == nil {
		return nil
	}
	given := row.table.given(row.op)
	i := len(b.ends) - row.first
	if i >= len(given) {
		b.value(kindRefused) // closeRow reports the number of values
		return nil
	}
	return &given[i]
}

// refuse remembers what is wrong with a value, and keeps its place.
func (r Row) refuse(c *column, err error) {
	b := r.b
	b.problem(b.rows[len(b.rows)-1].table.name, c.name, err)
	b.value(kindRefused)
}

func appendText[T string | []byte](r Row, c *column, v T, valid bool) {
	switch {
	case c.class == classBinary:
		r.b.data = appendEscaped(r.b.data, v)
		if r.deletes() {
			for range c.length - len(v) {
				r.b.data = appendEscaped(r.b.data, "\x00")
			}
		}
		r.b.value(kindBytes)
	case !valid:
		r.refuse(c, errors.New("the text is not UTF-8: convert it, or use a column of a binary type"))
	case timeTexts[c.class] != "":
		r.timeText(c, string(v))
	case losesSpaces(c, v):
		r.refuse(c, errSpaces)
	case c.class == classEnum && c.readsAsNumber(string(v)):
		r.refuse(c, fmt.Errorf("%q is not a member of %s, and the server would take it for a member's number", shorten(string(v)), c.typ))
	default:
		if c.fixed && r.deletes() {
			v = T(strings.TrimRight(string(v), " "))
		}
		r.b.data = appendEscaped(r.b.data, v)
		r.b.value(kindText)
	}
}

// timeText gives a date or time in the server's notation.
func (r Row) timeText(c *column, v string) {
	err := checkTimeText(c, v)
	if err == nil && c.class == classTimestamp && !r.b.catalog.fixed {
		err = checkLocalText(v, r.b.catalog.zone)
	}
	if err != nil {
		r.refuse(c, err)
		return
	}
	r.b.data = appendEscaped(r.b.data, v)
	r.b.value(kindText)
}

// deletes tells whether values are compared with what is stored, where CHAR has lost its trailing spaces and BINARY
// has got trailing zeros.
func (r Row) deletes() bool { return r.b.rows[len(r.b.rows)-1].op == Delete }

func isYear(v int64) bool { return v == 0 || v >= 1901 && v <= 2155 }
