package datum

import (
	"errors"
	"math"
	"math/big"
	"math/bits"
	"strings"
)

// ErrRange is a result that fits no value: 1690.
var ErrRange = errors.New("value is out of range")

// Arith is a op b for + - * / %. NULL gives NULL, and so does a division by zero.
func Arith(op byte, a, b Value) (Value, error) {
	if a.IsNull() || b.IsNull() {
		return Value{}, nil
	}
	a, b = number(a), number(b)
	switch {
	case a.Kind == Float || b.Kind == Float:
		return floatArith(op, a.AsFloat(), b.AsFloat())
	case op == '/' || a.Kind == Decimal || b.Kind == Decimal:
		return exactArith(op, a.exact(), b.exact())
	}
	return intArith(op, a, b)
}

// Neg is -v.
func Neg(v Value) (Value, error) { return Arith('-', Int64(0), v) }

// number is v as a number: text counts as a double.
func number(v Value) Value {
	if v.IsNumber() {
		return v
	}
	return Float64(v.AsFloat())
}

func floatArith(op byte, a, b float64) (Value, error) {
	var f float64
	switch op {
	case '+':
		f = a + b
	case '-':
		f = a - b
	case '*':
		f = a * b
	default:
		if b == 0 {
			return Value{}, nil
		}
		if f = a / b; op == '%' {
			f = math.Mod(a, b)
		}
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return Value{}, ErrRange
	}
	return Float64(f), nil
}

func exactArith(op byte, a, b decimal) (Value, error) {
	scale := max(a.scale, b.scale)
	switch op {
	case '+':
		return decimal{new(big.Int).Add(a.rounded(scale).n, b.rounded(scale).n), scale}.value(), nil
	case '-':
		return decimal{new(big.Int).Sub(a.rounded(scale).n, b.rounded(scale).n), scale}.value(), nil
	case '*':
		return decimal{new(big.Int).Mul(a.n, b.n), a.scale + b.scale}.rounded(min(a.scale+b.scale, maxScale)).value(), nil
	}
	if b.n.Sign() == 0 {
		return Value{}, nil
	}
	if op == '%' {
		return decimal{new(big.Int).Rem(a.rounded(scale).n, b.rounded(scale).n), scale}.value(), nil
	}
	// The servers give four digits more than the dividend has.
	digits := min(a.scale+4, maxScale)
	n := new(big.Int).Mul(a.n, pow10(digits+1+b.scale))
	return decimal{n.Quo(n, b.n), digits + 1 + a.scale}.rounded(digits).value(), nil
}

func intArith(op byte, a, b Value) (Value, error) {
	if op == '%' && b.bits == 0 {
		return Value{}, nil
	}
	r := exactInt(op, a.exact().n, b.exact().n)
	unsigned := a.Kind == Uint || b.Kind == Uint
	switch {
	case unsigned && r.IsUint64():
		return Uint64(r.Uint64()), nil
	case !unsigned && r.IsInt64():
		return Int64(r.Int64()), nil
	}
	return Value{}, ErrRange
}

func exactInt(op byte, a, b *big.Int) *big.Int {
	switch op {
	case '+':
		return new(big.Int).Add(a, b)
	case '-':
		return new(big.Int).Sub(a, b)
	case '*':
		return new(big.Int).Mul(a, b)
	default:
		return new(big.Int).Rem(a, b)
	}
}

// Compare orders a and b, neither of them NULL. fold tells whether texts that differ in capitals only are equal.
func Compare(a, b Value, fold bool) int {
	switch {
	case a.Kind == Int && b.Kind == Int:
		return order(int64(a.bits), int64(b.bits))
	case a.Kind == Uint && b.Kind == Uint:
		return order(a.bits, b.bits)
	case !a.IsNumber() && !b.IsNumber():
		if fold && a.Kind == Text && b.Kind == Text {
			return strings.Compare(Fold(a.text), Fold(b.text))
		}
		return strings.Compare(a.text, b.text)
	}
	a, b = number(a), number(b)
	if a.Kind == Float || b.Kind == Float {
		return order(a.AsFloat(), b.AsFloat())
	}
	return a.exact().cmp(b.exact())
}

func order[T int64 | uint64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Fold is s as collations see it that ignore capitals. (Those of the servers ignore accents as well.)
func Fold(s string) string { return strings.ToLower(s) }

// bitLength is the number of bits of v.
func bitLength(v uint64) int { return bits.Len64(v) }
