package datum

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problem is why a column does not take a value in strict mode. Number is the server's.
type Problem struct {
	Number uint16
	format string // with {column} and {row}
	args   []any
}

// In is the server's text, for a column and a row, which counts from 1.
func (p *Problem) In(column string, row int) string {
	format := strings.NewReplacer("{column}", strings.ReplaceAll(column, "%", "%%"), "{row}", strconv.Itoa(row)).Replace(p.format)
	return fmt.Sprintf(format, p.args...)
}

func (p *Problem) Error() string { return fmt.Sprintf("error %d: %s", p.Number, p.In("?", 1)) }

func problem(number uint16, format string, args ...any) *Problem {
	return &Problem{number, format, args}
}

func outOfRange() *Problem {
	return problem(1264, "Out of range value for column '{column}' at row {row}")
}

func tooLong() *Problem { return problem(1406, "Data too long for column '{column}' at row {row}") }

func truncated() *Problem { return problem(1265, "Data truncated for column '{column}' at row {row}") }

func incorrect(kind, value string) *Problem {
	switch kind {
	case "integer", "decimal", "double", "DOUBLE", "string":
		return problem(1366, "Incorrect %s value: '%s' for column '{column}' at row {row}", kind, value)
	}
	return problem(1292, "Incorrect %s value: '%s' for column '{column}' at row {row}", kind, value)
}

// Options are what storing depends on besides the type.
type Options struct {
	// NoZeroDate refuses dates with zeros in them.
	NoZeroDate bool
	// MariaDB has some errors of its own, and takes X'…' for a text where MySQL takes it for a number.
	MariaDB bool
}

// Store is what a column of type t keeps of v, in strict mode: all of it, but for digits behind the point, or a Problem.
func (t *Type) Store(v Value, o Options) (Value, *Problem) {
	if v.IsNull() {
		return v, nil
	}
	if t.Numeric() && !o.MariaDB {
		v = v.number()
	}
	switch t.class() {
	case classInteger:
		return t.storeInteger(v)
	case classYear:
		return storeYear(v, o)
	case classBit:
		return t.storeBit(v)
	case classDecimal:
		return t.storeDecimal(v, o)
	case classFloat, classDouble:
		return t.storeFloat(v, o)
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

func (t *Type) storeInteger(v Value) (Value, *Problem) {
	var n *big.Int
	switch v.Kind {
	case Int, Uint:
		return t.fitSmall(v)
	case Decimal:
		n = v.exact().rounded(0).n
	case Float:
		f := math.RoundToEven(v.float())
		if math.Abs(f) > 1e19 {
			return Value{}, outOfRange()
		}
		n, _ = big.NewFloat(f).Int(nil)
	default:
		if _, none := rest(v.text); none {
			return Value{}, incorrect("integer", v.quoted())
		}
		n = parseDecimal(leadingNumber(v.text)).rounded(0).n
	}
	stored, p := t.fit(n)
	if p == nil && !v.IsNumber() {
		if after, _ := rest(v.text); after != "" {
			p = truncated()
		}
	}
	return stored, p
}

// fitSmall is fit for an integer of 64 bits.
func (t *Type) fitSmall(v Value) (Value, *Problem) {
	bits := integerBits[t.Name]
	negative := v.Kind == Int && int64(v.bits) < 0
	switch {
	case t.Unsigned && (negative || v.bits>>(bits-1)>>1 != 0):
		return Value{}, outOfRange()
	case t.Unsigned:
		return Uint64(v.bits), nil
	case negative && int64(v.bits)>>(bits-1) != -1, !negative && v.bits>>(bits-1) != 0:
		return Value{}, outOfRange()
	}
	return Int64(int64(v.bits)), nil
}

func (t *Type) fit(n *big.Int) (Value, *Problem) {
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

func storeYear(v Value, o Options) (Value, *Problem) {
	number := NewType("bigint")
	n, p := number.Store(v, o)
	if p != nil {
		return Value{}, p
	}
	y := n.AsInt()
	switch { // a year of two digits
	case y >= 1 && y <= 69:
		y += 2000
	case y >= 70 && y <= 99:
		y += 1900
	}
	if y != 0 && (y < 1901 || y > 2155) {
		return Value{}, outOfRange()
	}
	return Int64(y), nil
}

func (t *Type) storeBit(v Value) (Value, *Problem) {
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

func (t *Type) storeDecimal(v Value, o Options) (Value, *Problem) {
	var d decimal
	switch v.Kind {
	case Int, Uint, Decimal:
		d = v.exact()
	case Float:
		d = parseDecimal(strconv.FormatFloat(v.float(), 'f', -1, 64))
	default:
		if _, none := rest(v.text); none {
			return Value{}, incorrect("decimal", v.quoted())
		}
		d = parseDecimal(leadingNumber(v.text))
	}
	d = d.rounded(t.Scale)
	if d.wholeDigits() > t.Digits-t.Scale || t.Unsigned && d.n.Sign() < 0 {
		return Value{}, outOfRange()
	}
	if !v.IsNumber() {
		switch after, _ := rest(v.text); {
		case after == "":
		case o.MariaDB:
			return Value{}, truncated()
		default:
			return Value{}, incorrect("decimal", v.quoted())
		}
	}
	return d.value(), nil
}

func (t *Type) storeFloat(v Value, o Options) (Value, *Problem) {
	if !v.IsNumber() {
		switch after, none := rest(v.text); {
		case after == "" && !none:
		case !o.MariaDB:
			return Value{}, incorrect("DOUBLE", v.quoted())
		case none:
			return Value{}, incorrect("double", v.quoted())
		default:
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

func (t *Type) storeText(v Value, o Options) (Value, *Problem) {
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
	shown := escaped(text[at:min(len(text), at+6)])
	if len(text) > at+6 {
		shown += "..."
	}
	return incorrect("string", shown)
}

// escaped is text with what is no printable ASCII as \xNN.
func escaped(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c >= utf8.RuneSelf {
			fmt.Fprintf(&b, `\x%02X`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// quoted is v as messages have it.
func (v Value) quoted() string {
	if v.Kind == Bytes {
		return escaped(v.text)
	}
	return v.Text()
}

func (t *Type) storeBytes(v Value) (Value, *Problem) {
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

func (t *Type) storeEnum(v Value) (Value, *Problem) {
	if v.IsNumber() {
		if n := math.Trunc(v.AsFloat()); n >= 1 && n <= float64(len(t.Members)) {
			return String(t.Members[int(n)-1]), nil
		}
		return Value{}, truncated()
	}
	if m, ok := t.member(v.Text()); ok {
		return String(m), nil
	}
	return Value{}, truncated()
}

func (t *Type) member(text string) (string, bool) {
	text = strings.TrimRight(text, " ")
	for _, m := range t.Members {
		if m == text || t.IgnoresCase() && Fold(m) == Fold(text) {
			return m, true
		}
	}
	return "", false
}

func (t *Type) storeSet(v Value) (Value, *Problem) {
	chosen := map[string]bool{}
	if v.IsNumber() {
		f := math.Trunc(v.AsFloat())
		if f < 0 || f >= math.Pow(2, float64(len(t.Members))) {
			return Value{}, truncated()
		}
		n := uint64(f)
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
