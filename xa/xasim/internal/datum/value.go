// Package datum has the values of the simulated server: their kinds, comparison, arithmetic, the types of columns, and
// what a column makes of a value that is stored in it.
package datum

import (
	"math"
	"strconv"
	"strings"
)

// Kind is the kind of a value.
type Kind uint8

// The kinds. Dates and times are Text in the server's notation.
const (
	Null Kind = iota
	Int
	Uint
	Decimal
	Float
	Text
	Bytes
)

// Value is one SQL value. The zero value is NULL. Values are comparable, by their exact representation.
type Value struct {
	Kind Kind
	bits uint64 // Int, Uint, Float; of Bytes 1 for a literal that is a number where one is wanted
	text string // Text, Bytes, and the digits of a Decimal
}

// Int64 is an integer.
func Int64(v int64) Value { return Value{Kind: Int, bits: uint64(v)} }

// Uint64 is an unsigned integer.
func Uint64(v uint64) Value { return Value{Kind: Uint, bits: v} }

// Float64 is a double.
func Float64(v float64) Value { return Value{Kind: Float, bits: math.Float64bits(v)} }

// String is text.
func String(v string) Value { return Value{Kind: Text, text: v} }

// Binary is a string of bytes.
func Binary(v string) Value { return Value{Kind: Bytes, text: v} }

// Hex is a literal such as X'00ff': bytes, and a number where one is wanted.
func Hex(v string) Value { return Value{Kind: Bytes, bits: 1, text: v} }

// Bool is 1 or 0.
func Bool(v bool) Value {
	if v {
		return Int64(1)
	}
	return Int64(0)
}

// IsNull tells whether v is NULL.
func (v Value) IsNull() bool { return v.Kind == Null }

// IsNumber tells whether v is a number.
func (v Value) IsNumber() bool { return v.Kind >= Int && v.Kind <= Float }

// Text is v as the server prints it; "" for NULL.
func (v Value) Text() string {
	switch v.Kind {
	case Int:
		return strconv.FormatInt(int64(v.bits), 10)
	case Uint:
		return strconv.FormatUint(v.bits, 10)
	case Float:
		return formatFloat(v.float(), 64)
	case Decimal, Text, Bytes:
		return v.text
	case Null:
	}
	return ""
}

// True tells whether v counts as true: a number other than 0.
func (v Value) True() bool {
	switch v.Kind {
	case Null:
		return false
	case Int, Uint:
		return v.bits != 0
	default:
		return v.AsFloat() != 0
	}
}

// number is a Hex as a number, and any other value as it is.
func (v Value) number() Value {
	if v.Kind != Bytes || v.bits == 0 || len(v.text) > 8 {
		return v
	}
	n := uint64(0)
	for i := range len(v.text) {
		n = n<<8 | uint64(v.text[i])
	}
	return Uint64(n)
}

// AsInt is v as an integer, rounded, 0 for NULL and for text without a number in front.
func (v Value) AsInt() int64 {
	switch v.Kind {
	case Int, Uint:
		return int64(v.bits)
	case Null:
		return 0
	case Decimal:
		return parseDecimal(v.text).rounded(0).int64()
	default:
		return int64(math.Round(v.AsFloat()))
	}
}

// AsFloat is v as a double, 0 for NULL and for text without a number in front.
func (v Value) AsFloat() float64 {
	switch v.Kind {
	case Int:
		return float64(int64(v.bits))
	case Uint:
		return float64(v.bits)
	case Float:
		return v.float()
	case Decimal, Text, Bytes:
		f, _ := strconv.ParseFloat(leadingNumber(v.text), 64)
		return f
	case Null:
	}
	return 0
}

func (v Value) float() float64 { return math.Float64frombits(v.bits) }

// Driver is v as github.com/go-sql-driver/mysql gives it to database/sql from its text protocol.
func (v Value) Driver() any {
	switch v.Kind {
	case Int:
		return int64(v.bits)
	case Uint:
		return v.bits
	case Float:
		return v.float()
	case Decimal, Text, Bytes:
		return []byte(v.text)
	case Null:
	}
	return nil
}

// formatFloat prints as the servers do: shortest digits, an exponent where the number is very large or small.
func formatFloat(f float64, bits int) string {
	if f == 0 {
		return "0"
	}
	if a := math.Abs(f); a >= 1e15 || a < 1e-15 {
		s := strconv.FormatFloat(f, 'e', -1, bits)
		mantissa, exponent, _ := strings.Cut(s, "e")
		exponent = strings.TrimPrefix(exponent, "+")
		sign := ""
		if strings.HasPrefix(exponent, "-") {
			sign, exponent = "-", exponent[1:]
		}
		return mantissa + "e" + sign + strings.TrimLeft(exponent, "0")
	}
	return strconv.FormatFloat(f, 'f', -1, bits)
}

// leadingNumber is the longest number that s begins with, "0" if there is none.
func leadingNumber(s string) string {
	s = strings.TrimLeft(s, " \t\n\r")
	i, digits := 0, false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	for i < len(s) && isDigit(s[i]) {
		i, digits = i+1, true
	}
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && isDigit(s[i]); i++ {
			digits = true
		}
	}
	if !digits {
		return "0"
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '-' || s[j] == '+') {
			j++
		}
		if j < len(s) && isDigit(s[j]) {
			for i = j; i < len(s) && isDigit(s[i]); i++ {
				continue
			}
		}
	}
	return s[:i]
}

// rest is what follows the number that s begins with, without spaces around it; none tells that there is no number.
func rest(s string) (after string, none bool) {
	t := strings.Trim(s, " \t\n\r")
	n := leadingNumber(t)
	if !strings.HasPrefix(t, n) || n == "" {
		return t, true
	}
	return strings.TrimLeft(t[len(n):], " \t\n\r"), false
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }
