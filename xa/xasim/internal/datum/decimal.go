package datum

import (
	"math/big"
	"strings"
)

// decimal is an exact number, n / 10^scale.
type decimal struct {
	n     *big.Int
	scale int
}

// maxScale bounds the digits behind the point of a result; the servers have 30.
const maxScale = 30

// Dec is the decimal number that text is: digits with a sign and a point, or with an exponent.
func Dec(text string) Value { return parseDecimal(text).value() }

// parseDecimal reads text, which leadingNumber has passed or which was printed by String.
func parseDecimal(text string) decimal {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	n, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		n = new(big.Int)
	}
	d := decimal{n, len(fraction)}
	if exponent != "" {
		e, _ := new(big.Int).SetString(strings.TrimPrefix(exponent, "+"), 10)
		if e != nil && e.IsInt64() && e.Int64() > -100 && e.Int64() < 100 {
			d.scale -= int(e.Int64())
		}
	}
	if d.scale < 0 {
		d = decimal{new(big.Int).Mul(d.n, pow10(-d.scale)), 0}
	}
	return d
}

func (d decimal) String() string {
	digits := new(big.Int).Abs(d.n).String()
	if d.scale > 0 {
		if pad := d.scale + 1 - len(digits); pad > 0 {
			digits = strings.Repeat("0", pad) + digits
		}
		digits = digits[:len(digits)-d.scale] + "." + digits[len(digits)-d.scale:]
	}
	if d.n.Sign() < 0 {
		return "-" + digits
	}
	return digits
}

func (d decimal) value() Value { return Value{Kind: Decimal, text: d.String()} }

// rounded has the given digits behind the point, half away from zero.
func (d decimal) rounded(scale int) decimal {
	if d.scale <= scale {
		return decimal{new(big.Int).Mul(d.n, pow10(scale-d.scale)), scale}
	}
	unit := pow10(d.scale - scale)
	q, r := new(big.Int).QuoRem(d.n, unit, new(big.Int))
	if new(big.Int).Abs(new(big.Int).Lsh(r, 1)).Cmp(unit) >= 0 {
		q.Add(q, big.NewInt(int64(d.n.Sign())))
	}
	return decimal{q, scale}
}

// wholeDigits is the number of digits before the point.
func (d decimal) wholeDigits() int {
	whole := new(big.Int).Quo(d.n, pow10(d.scale))
	if whole.Sign() == 0 {
		return 0
	}
	return len(new(big.Int).Abs(whole).String())
}

func (d decimal) int64() int64 { return d.n.Int64() }

func (d decimal) cmp(o decimal) int {
	scale := max(d.scale, o.scale)
	return d.rounded(scale).n.Cmp(o.rounded(scale).n)
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// exact is v as a decimal. v is an Int, a Uint or a Decimal.
func (v Value) exact() decimal {
	switch v.Kind {
	case Int:
		return decimal{big.NewInt(int64(v.bits)), 0}
	case Uint:
		return decimal{new(big.Int).SetUint64(v.bits), 0}
	default:
		return parseDecimal(v.text)
	}
}
