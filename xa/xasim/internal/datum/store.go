package datum

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problem is why a column does not take a value in strict mode. Number is the server's; Text has the server's words
// with %[1]s for the column and %[2]d for the row.
type Problem struct {
	Number uint16
	Text   string
}

func (p *Problem) Error() string { return fmt.Sprintf("error %d: %s", p.Number, p.Text) }

func problem(number uint16, format string, args ...any) *Problem {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "%", "%%")
	return &Problem{number, strings.NewReplacer("{column}", "%[1]s", "{row}", "%[2]d").Replace(text)}
}

func outOfRange() *Problem {
	return problem(1264, "Out of range value for column '{column}' at row {row}")
}

func tooLong() *Problem { return problem(1406, "Data too long for column '{column}' at row {row}") }

func truncated() *Problem { return problem(1265, "Data truncated for column '{column}' at row {row}") }

func incorrect(kind, value string) *Problem {
	if kind == "integer" || kind == "decimal" || kind == "double" || kind == "string" {
		return problem(1366, "Incorrect %s value: '%s' for column '{column}' at row {row}", kind, value)
	}
	return problem(1292, "Incorrect %s value: '%s' for column '{column}' at row {row}", kind, value)
}

// Options are what storing depends on besides the type.
type Options struct {
	// CutFraction cuts digits of a second off that the column does not have (MariaDB); else they are rounded (MySQL).
	CutFraction bool
	// NoZeroDate refuses dates with zeros in them.
	NoZeroDate bool
	// JSONNumber is the error for what is no JSON document.
	JSONNumber uint16
}

// Store is what a column of type t keeps of v, in strict mode: all of it, but for digits behind the point, or a Problem.
func (t Type) Store(v Value, o Options) (Value, *Problem) {
	if v.IsNull() {
		return v, nil
	}
	switch t.class() {
	case classInteger:
		return t.storeInteger(v)
	case classYear:
		return storeYear(v)
	case classBit:
		return t.storeBit(v)
	case classDecimal:
		return t.storeDecimal(v)
	case classFloat, classDouble:
		return t.storeFloat(v)
	case classChar, classText:
		return t.storeText(v, o)
	case classBinary, classBytes:
		return t.storeBytes(v)
	case classEnum:
		return t.storeEnum(v)
	case classSet:
		return t.storeSet(v)
	case classJSON:
		return storeJSON(v, o)
	default:
		return t.storeTime(v, o)
	}
}

var integerBits = map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}

func (t Type) storeInteger(v Value) (Value, *Problem) {
	var n *big.Int
	switch v.Kind {
	case Int, Uint:
		n = v.exact().n
	case Decimal:
		n = v.exact().rounded(0).n
	case Float:
		f := math.RoundToEven(v.float())
		if math.Abs(f) > 1e19 {
			return Value{}, outOfRange()
		}
		n, _ = big.NewFloat(f).Int(nil)
	default:
		text, whole := wholeNumber(v.text)
		if !whole {
			return Value{}, incorrect("integer", v.text)
		}
		n = parseDecimal(text).rounded(0).n
	}
	bits := integerBits[t.Name]
	if t.Unsigned {
		if n.Sign() < 0 || n.BitLen() > bits {
			return Value{}, outOfRange()
		}
		return Uint64(n.Uint64()), nil
	}
	limit := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	if n.Cmp(limit) >= 0 || n.Cmp(new(big.Int).Neg(limit)) < 0 {
		return Value{}, outOfRange()
	}
	return Int64(n.Int64()), nil
}

func storeYear(v Value) (Value, *Problem) {
	n, p := Type{Name: "bigint"}.storeInteger(v)
	if p != nil {
		return Value{}, p
	}
	y := n.AsInt()
	if y != 0 && (y < 1901 || y > 2155) {
		return Value{}, outOfRange()
	}
	return Int64(y), nil
}

func (t Type) storeBit(v Value) (Value, *Problem) {
	var n uint64
	switch v.Kind {
	case Int, Uint:
		n = v.bits
	default:
		text := strings.TrimLeft(v.Text(), "\x00")
		if len(text) > 8 {
			return Value{}, tooLong()
		}
		for i := range len(text) {
			n = n<<8 | uint64(text[i])
		}
	}
	if bitLength(n) > t.Length {
		return Value{}, tooLong()
	}
	b := make([]byte, (t.Length+7)/8)
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte(n)
		n >>= 8
	}
	return Binary(string(b)), nil
}

func (t Type) storeDecimal(v Value) (Value, *Problem) {
	var d decimal
	switch v.Kind {
	case Int, Uint, Decimal:
		d = v.exact()
	case Float:
		d = parseDecimal(strconv.FormatFloat(v.float(), 'f', -1, 64))
	default:
		text, whole := wholeNumber(v.text)
		if !whole {
			return Value{}, incorrect("decimal", v.text)
		}
		d = parseDecimal(text)
	}
	d = d.rounded(t.Scale)
	if d.wholeDigits() > t.Digits-t.Scale || t.Unsigned && d.n.Sign() < 0 {
		return Value{}, outOfRange()
	}
	return d.value(), nil
}

func (t Type) storeFloat(v Value) (Value, *Problem) {
	if !v.IsNumber() {
		if _, whole := wholeNumber(v.text); !whole {
			return Value{}, truncated()
		}
	}
	f := v.AsFloat()
	if t.class() == classFloat {
		f = float64(float32(f))
	}
	if math.IsInf(f, 0) || t.Unsigned && f < 0 {
		return Value{}, outOfRange()
	}
	return Float64(f), nil
}

func (t Type) storeText(v Value, o Options) (Value, *Problem) {
	text := v.Text()
	if !utf8.ValidString(text) {
		return Value{}, badText(text)
	}
	if t.Charset == "ascii" {
		for i := range len(text) {
			if text[i] >= utf8.RuneSelf {
				return Value{}, badText(text[i:])
			}
		}
	}
	if t.JSON {
		if _, p := storeJSON(v, o); p != nil {
			return Value{}, p
		}
	}
	if t.class() == classChar {
		text = strings.TrimRight(text, " ")
	}
	if most, ok := octets[t.Name]; ok {
		if len(text) > most {
			return Value{}, tooLong()
		}
		return String(text), nil
	}
	if n := utf8.RuneCountInString(text); n > t.Length {
		// Spaces that are too many are cut off, also in strict mode.
		end := len(text)
		for n > t.Length && text[end-1] == ' ' {
			end, n = end-1, n-1
		}
		if n > t.Length {
			return Value{}, tooLong()
		}
		text = text[:end]
	}
	return String(text), nil
}

// badText is for bytes that are no text of the column's character set.
func badText(text string) *Problem {
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRuneInString(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	if at == len(text) {
		at = 0
	}
	var shown strings.Builder
	for i := at; i < len(text) && i < at+6; i++ {
		if b := text[i]; b < 0x20 || b >= utf8.RuneSelf {
			fmt.Fprintf(&shown, `\x%02X`, b)
		} else {
			shown.WriteByte(b)
		}
	}
	if len(text) > at+6 {
		shown.WriteString("...")
	}
	return incorrect("string", shown.String())
}

func (t Type) storeBytes(v Value) (Value, *Problem) {
	b := v.Text()
	most, ok := octets[t.Name]
	if !ok {
		most = t.Length
	}
	if len(b) > most {
		return Value{}, tooLong()
	}
	if t.class() == classBinary {
		b += strings.Repeat("\x00", t.Length-len(b))
	}
	return Binary(b), nil
}

func (t Type) storeEnum(v Value) (Value, *Problem) {
	if v.IsNumber() {
		if n := v.AsInt(); n >= 1 && n <= int64(len(t.Members)) {
			return String(t.Members[n-1]), nil
		}
		return Value{}, truncated()
	}
	if m, ok := t.member(v.Text()); ok {
		return String(m), nil
	}
	return Value{}, truncated()
}

func (t Type) member(text string) (string, bool) {
	text = strings.TrimRight(text, " ")
	for _, m := range t.Members {
		if m == text || t.IgnoresCase() && Fold(m) == Fold(text) {
			return m, true
		}
	}
	return "", false
}

func (t Type) storeSet(v Value) (Value, *Problem) {
	chosen := map[string]bool{}
	if v.IsNumber() {
		n := v.AsInt()
		if n < 0 || bitLength(uint64(n)) > len(t.Members) {
			return Value{}, truncated()
		}
		for i, m := range t.Members {
			chosen[m] = n&(1<<i) != 0
		}
	} else if text := v.Text(); text != "" {
		for part := range strings.SplitSeq(text, ",") {
			m, ok := t.member(part)
			if !ok {
				return Value{}, truncated()
			}
			chosen[m] = true
		}
	}
	var kept []string
	for _, m := range t.Members {
		if chosen[m] {
			kept = append(kept, m)
		}
	}
	return String(strings.Join(kept, ",")), nil
}
