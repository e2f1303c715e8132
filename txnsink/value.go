package txnsink

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// kind is how a stored value is quoted in a statement. The stored text is the same for every use: backslash escapes
// that string literals and LOAD DATA both read back, so that either can be made of it. Sessions are utf8mb4, with
// backslash escapes on.
type kind uint8

const (
	kindNull    kind = iota // no text
	kindNumber              // as it is
	kindText                // '…'
	kindBytes               // _binary'…'
	kindRefused             // a value that was refused; a batch with one is never sent
)

const (
	textQuotes  = len(`''`)
	bytesQuotes = len(`_binary''`)
	nullText    = "NULL"
)

// literalSize is the length of a value's literal whose stored text has n bytes.
func (k kind) literalSize(n int) int {
	switch k {
	case kindText:
		return n + textQuotes
	case kindBytes:
		return n + bytesQuotes
	case kindNumber:
		return n
	case kindNull, kindRefused:
	}
	return len(nullText)
}

// appendLiteral adds a stored value as a statement has it.
func appendLiteral(dst []byte, k kind, stored []byte) []byte {
	switch k {
	case kindNumber:
		return append(dst, stored...)
	case kindText:
		dst = append(dst, '\'')
	case kindBytes:
		dst = append(dst, "_binary'"...)
	case kindNull, kindRefused:
		return append(dst, nullText...)
	}
	dst = append(dst, stored...)
	return append(dst, '\'')
}

// escapes has the letter that stands for a byte behind a backslash, 0 for bytes that stand for themselves. These are
// the escapes that MySQL's manual lists both for string literals (9.1.1) and for LOAD DATA (13.2.9); tab and newline
// are among them because they end fields and lines there.
var escapes = [256]byte{0: '0', '\n': 'n', '\r': 'r', '\t': 't', 0x1a: 'Z', '\'': '\'', '\\': '\\'}

// appendEscaped adds s in its stored form.
func appendEscaped[T string | []byte](dst []byte, s T) []byte {
	plain := 0
	for i := range len(s) {
		letter := escapes[s[i]]
		if letter == 0 {
			continue
		}
		dst = append(dst, s[plain:i]...)
		dst = append(dst, '\\', letter)
		plain = i + 1
	}
	return append(dst, s[plain:]...)
}

var errNotFinite = errors.New("the server has no infinity and no NaN: write NULL, or leave the row out")

// appendFloat adds v in a form that the server reads as a DOUBLE, never as a DECIMAL, and that gives v back: shortest
// digits and always an exponent. A negative zero keeps its sign, which MariaDB drops.
func appendFloat(dst []byte, v float64) ([]byte, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return dst, errNotFinite
	}
	return strconv.AppendFloat(dst, v, 'e', -1, 64), nil
}

// decimal is an exact number in parts.
type decimal struct {
	negative bool
	whole    string // digits without leading zeros
	fraction string // digits without trailing zeros
}

// parseDecimal reads [+-]digits[.digits].
func parseDecimal(s string) (decimal, error) {
	bad := func(why string) (decimal, error) {
		return decimal{}, fmt.Errorf("%q is not an exact number: %s", shorten(s), why)
	}
	d, rest := decimal{}, s
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		d.negative = rest[0] == '-'
		rest = rest[1:]
	}
	whole, fraction, point := strings.Cut(rest, ".")
	for _, part := range []string{whole, fraction} {
		for i := range len(part) {
			if part[i] < '0' || part[i] > '9' {
				return bad("want digits with at most one point, such as -12.30, and no exponent")
			}
		}
	}
	if whole == "" && fraction == "" || point && fraction == "" {
		return bad("digits are missing")
	}
	d.whole = strings.TrimLeft(whole, "0")
	d.fraction = strings.TrimRight(fraction, "0")
	d.negative = d.negative && !d.isZero()
	return d, nil
}

func (d decimal) isZero() bool { return d.whole == "" && d.fraction == "" }

func (d decimal) append(dst []byte) []byte {
	if d.negative {
		dst = append(dst, '-')
	}
	if d.whole == "" {
		dst = append(dst, '0')
	}
	dst = append(dst, d.whole...)
	if d.fraction != "" {
		dst = append(dst, '.')
		dst = append(dst, d.fraction...)
	}
	return dst
}

var (
	errZeroTime   = errors.New("the zero time.Time is not a point in time: write NULL, or the time that is meant")
	errAmbiguous  = errors.New("this local time comes twice in the sessions' time zone, and the server could store the other: use an offset such as +00:00 as TimeZone")
	errLongAgo    = errors.New("the server's years are 1 to 9999")
	errTooLong    = errors.New("a TIME is between -838:59:59 and 838:59:59")
	unitOfDigits  = [7]time.Duration{time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond, 100 * time.Microsecond, 10 * time.Microsecond, time.Microsecond}
	maxTimeColumn = 839*time.Hour - time.Second
)

// appendTime adds v as a DATE, DATETIME or TIMESTAMP of zone. It is rounded to the column's digits here, because MySQL
// would round what MariaDB would cut off.
func appendTime(dst []byte, v time.Time, c *column, zone *time.Location, fixed bool) ([]byte, error) {
	if v.IsZero() {
		return dst, errZeroTime
	}
	if c.class != classDate {
		v = v.Round(unitOfDigits[c.precision])
	}
	v = v.In(zone)
	if c.class == classTimestamp && !fixed && comesTwice(v) {
		return dst, errAmbiguous
	}
	year, month, day := v.Date()
	if year < 1 || year > 9999 {
		return dst, fmt.Errorf("the year is %d: %w", year, errLongAgo)
	}
	dst = appendDigits(dst, year, 4)
	dst = append(dst, '-')
	dst = appendDigits(dst, int(month), 2)
	dst = append(dst, '-')
	dst = appendDigits(dst, day, 2)
	if c.class == classDate {
		return dst, nil
	}
	dst = append(dst, ' ')
	hour, minute, second := v.Clock()
	return appendClock(dst, hour, minute, second, v.Nanosecond(), c.precision), nil
}

// appendDuration adds v as a TIME, rounded to the column's digits.
func appendDuration(dst []byte, v time.Duration, digits int) ([]byte, error) {
	v = v.Round(unitOfDigits[digits])
	if v > maxTimeColumn || v < -maxTimeColumn {
		return dst, errTooLong
	}
	if v < 0 {
		dst = append(dst, '-')
		v = -v
	}
	seconds := int(v / time.Second)
	return appendClock(dst, seconds/3600, seconds/60%60, seconds%60, int(v%time.Second), digits), nil
}

func appendClock(dst []byte, hour, minute, second, nanos, digits int) []byte {
	dst = appendDigits(dst, hour, 2)
	dst = append(dst, ':')
	dst = appendDigits(dst, minute, 2)
	dst = append(dst, ':')
	dst = appendDigits(dst, second, 2)
	if digits == 0 {
		return dst
	}
	dst = append(dst, '.')
	return appendDigits(dst, nanos/int(unitOfDigits[digits]), digits)
}

// appendDigits adds v with at least width digits.
func appendDigits(dst []byte, v, width int) []byte {
	for limit := 10; width > 1; width, limit = width-1, limit*10 {
		if v < limit {
			dst = append(dst, '0')
		}
	}
	return strconv.AppendInt(dst, int64(v), 10)
}

// comesTwice tells whether v's local time is that of another point in time as well, as when clocks are set back.
func comesTwice(v time.Time) bool {
	_, here := v.Zone()
	for _, near := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		_, offset := v.Add(near).Zone()
		other := v.Add(time.Duration(here-offset) * time.Second)
		if _, there := other.Zone(); there == offset && offset != here {
			return true
		}
	}
	return false
}

// hasOneOffset tells whether zone has the same offset at all times.
func hasOneOffset(zone *time.Location) bool {
	start, end := time.Unix(0, 0).In(zone).ZoneBounds()
	return start.IsZero() && end.IsZero()
}

// shorten cuts a value for a message, between runes.
func shorten(s string) string {
	const most = 40
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
