package txnsinktest

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xasink/xasink/txnsink/internal/coltype"
)

// Numbers of the errors by which a server in strict mode refuses a value (MySQL 8.4 error reference).
const (
	codeOutOfRange = 1264
	codeTruncated  = 1265
	codeWrongValue = 1292
	codeTooLong    = 1406
	codeSumTooBig  = 1690
	codeDuplicate  = 1062
	codeNoJSON     = 3140
)

// refusal is a value that a server in strict mode does not take.
type refusal struct {
	code   uint16
	column string
	reason string
}

func (r *refusal) Error() string { return r.reason }

func refuse(code uint16, format string, args ...any) *refusal {
	return &refusal{code: code, reason: fmt.Sprintf(format, args...)}
}

// bits of the integer types.
var bits = map[string]uint{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}

// maxBytes of the types whose length is not part of the type.
var maxBytes = map[string]int{
	"tinytext": 1<<8 - 1, "text": 1<<16 - 1, "mediumtext": 1<<24 - 1, "tinyblob": 1<<8 - 1, "blob": 1<<16 - 1, "mediumblob": 1<<24 - 1,
}

// stored is text as a column of type t keeps and shows it.
func stored(t coltype.Type, text string) (string, *refusal) {
	switch t.Name {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		return storedInteger(t, text)
	case "decimal":
		return storedDecimal(t, text)
	case "float", "double":
		return storedFloat(t, text)
	case "year":
		if text == "0" {
			return "0000", nil
		}
		return text, nil
	case "bit":
		if n, ok := new(big.Int).SetString(text, 10); !ok || n.BitLen() > t.Args[0] {
			return "", refuse(codeTooLong, "%s does not fit %s", text, t.Text)
		}
		return text, nil
	case "char", "varchar":
		return storedText(t, text)
	case "binary", "varbinary":
		if len(text) > t.Args[0] {
			return "", refuse(codeTooLong, "%d bytes do not fit %s", len(text), t.Text)
		}
		if t.Name == "binary" {
			text += strings.Repeat("\x00", t.Args[0]-len(text))
		}
		return text, nil
	case "enum":
		if i := member(t, text); i >= 0 {
			return t.Members[i], nil
		}
		return "", refuse(codeTruncated, "%q is no member of %s", text, t.Text)
	case "set":
		return storedSet(t, text)
	case "json":
		if !json.Valid([]byte(text)) {
			return "", refuse(codeNoJSON, "the text is no JSON document")
		}
		return text, nil
	case "date", "datetime", "timestamp":
		return storedMoment(t, text)
	case "time":
		return storedTime(t, text)
	}
	if limit, limited := maxBytes[t.Name]; limited && len(text) > limit {
		return "", refuse(codeTooLong, "%d bytes do not fit %s", len(text), t.Text)
	}
	return text, nil
}

func storedInteger(t coltype.Type, text string) (string, *refusal) {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return "", refuse(codeWrongValue, "%q is no integer", text)
	}
	low, high := new(big.Int), new(big.Int).Lsh(big.NewInt(1), bits[t.Name])
	if !t.Unsigned {
		high.Rsh(high, 1)
		low.Neg(high)
	}
	if n.Cmp(low) < 0 || n.Cmp(high) >= 0 {
		return "", refuse(codeOutOfRange, "%s is out of the range of %s", text, t.Text)
	}
	return n.String(), nil
}

func storedDecimal(t coltype.Type, text string) (string, *refusal) {
	n, ok := units(text, t.Args[1])
	if !ok {
		return "", refuse(codeWrongValue, "%q is no number of %s", text, t.Text)
	}
	return decimal(t, n)
}

// units is the number in text, counted in units of its last digit behind the point.
func units(text string, scale int) (*big.Int, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	if len(fraction) > scale {
		return nil, false
	}
	return new(big.Int).SetString(whole+fraction+strings.Repeat("0", scale-len(fraction)), 10)
}

// decimal is n units as a column of type t shows them.
func decimal(t coltype.Type, n *big.Int) (string, *refusal) {
	digits := new(big.Int).Abs(n).String()
	if len(digits) > t.Args[0] || t.Unsigned && n.Sign() < 0 {
		return "", refuse(codeOutOfRange, "the number is out of the range of %s", t.Text)
	}
	sign := ""
	if n.Sign() < 0 {
		sign = "-"
	}
	scale := t.Args[1]
	if scale == 0 {
		return sign + digits, nil
	}
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	point := len(digits) - scale
	return sign + digits[:point] + "." + digits[point:], nil
}

func storedFloat(t coltype.Type, text string) (string, *refusal) {
	size := 64
	if t.Name == "float" {
		size = 32
	}
	v, err := strconv.ParseFloat(text, size)
	if err != nil || t.Unsigned && v < 0 {
		return "", refuse(codeOutOfRange, "%s is out of the range of %s", text, t.Text)
	}
	return strings.Replace(strconv.FormatFloat(v, 'g', -1, size), "e+", "e", 1), nil
}

func storedText(t coltype.Type, text string) (string, *refusal) {
	if t.Name == "char" {
		text = strings.TrimRight(text, " ")
	}
	for utf8.RuneCountInString(text) > t.Args[0] && strings.HasSuffix(text, " ") {
		text = text[:len(text)-1] // spaces too many are cut without an error
	}
	if n := utf8.RuneCountInString(text); n > t.Args[0] {
		return "", refuse(codeTooLong, "%d characters do not fit %s", n, t.Text)
	}
	return text, nil
}

// member is the position of text among t's members, -1 if it is none.
func member(t coltype.Type, text string) int {
	text = strings.TrimRight(text, " ")
	return slices.IndexFunc(t.Members, func(m string) bool { return strings.EqualFold(m, text) })
}

// storedSet is the members of a list, each once, in the order of the type.
func storedSet(t coltype.Type, text string) (string, *refusal) {
	if text == "" {
		return "", nil
	}
	given := make([]bool, len(t.Members))
	for part := range strings.SplitSeq(text, ",") {
		i := member(t, part)
		if i < 0 {
			return "", refuse(codeTruncated, "%q is no member of %s", part, t.Text)
		}
		given[i] = true
	}
	var list []string
	for i, m := range t.Members {
		if given[i] {
			list = append(list, m)
		}
	}
	return strings.Join(list, ","), nil
}

// momentLayouts are the forms in which dates are read here; a server reads more.
var momentLayouts = []string{time.DateOnly, time.DateTime, "2006-01-02T15:04:05"}

// zeroMoment is the date that is none. The sessions of a sink let a server keep it.
const zeroMoment = "0000-00-00 00:00:00"

func storedMoment(t coltype.Type, text string) (string, *refusal) {
	if text == zeroMoment || text == zeroMoment[:len(time.DateOnly)] {
		if t.Name == "date" {
			return zeroMoment[:len(time.DateOnly)], nil
		}
		return zeroMoment + fraction(t.Args[0]), nil
	}
	for _, layout := range momentLayouts {
		v, err := time.Parse(layout, text) // takes a fraction of the seconds as well
		if err != nil {
			continue
		}
		if t.Name == "date" {
			return v.Format(time.DateOnly), nil
		}
		v = v.Round(unit(t.Args[0]))
		if t.Name == "timestamp" && (v.Year() < 1970 || v.Year() > 2038) {
			break
		}
		return v.Format(time.DateTime + fraction(t.Args[0])), nil
	}
	return "", refuse(codeWrongValue, "%q is no value of %s here: write %s", text, t.Text, strings.Join(momentLayouts[:2], " or "))
}

func storedTime(t coltype.Type, text string) (string, *refusal) {
	wrong := refuse(codeWrongValue, "%q is no value of %s here: write hours:minutes:seconds up to 838:59:59", text, t.Text)
	hours, rest, ok := strings.Cut(strings.TrimPrefix(text, "-"), ":")
	h, err := strconv.ParseUint(hours, 10, 16)
	clock, clockErr := time.Parse("04:05", rest)
	if !ok || err != nil || clockErr != nil {
		return "", wrong
	}
	start, _ := time.Parse("04:05", "00:00")
	d := (time.Duration(h)*time.Hour + clock.Sub(start)).Round(unit(t.Args[0]))
	if d > 839*time.Hour-time.Second {
		return "", wrong
	}
	sign := ""
	if text[0] == '-' && d > 0 {
		sign = "-"
	}
	return fmt.Sprintf("%s%02d:%s", sign, d/time.Hour, start.Add(d%time.Hour).Format("04:05"+fraction(t.Args[0]))), nil
}

// unit is the last of the given digits behind a second.
func unit(digits int) time.Duration {
	d := time.Second
	for range digits {
		d /= 10
	}
	return d
}

func fraction(digits int) string {
	if digits == 0 {
		return ""
	}
	return "." + strings.Repeat("0", digits)
}

// sum is have plus add in a column of type t, an integer or a decimal. Both are stored forms.
func sum(t coltype.Type, have, add string) (string, *refusal) {
	scale := 0
	if t.Name == "decimal" {
		scale = t.Args[1]
	}
	a, okA := units(have, scale)
	b, okB := units(add, scale)
	if !okA || !okB {
		return "", refuse(codeWrongValue, "%q and %q cannot be added", have, add)
	}
	a.Add(a, b)
	if t.Name == "decimal" {
		return decimal(t, a)
	}
	text, wrong := storedInteger(t, a.String())
	if wrong != nil && t.Name == "bigint" {
		wrong.code = codeSumTooBig
	}
	return text, wrong
}

// compare orders stored values of type t: numbers by size, all else by its bytes.
func compare(t coltype.Type, a, b string) int {
	if _, integer := bits[t.Name]; integer || slices.Contains([]string{"decimal", "float", "double", "bit", "year"}, t.Name) {
		x, okX := new(big.Rat).SetString(a)
		y, okY := new(big.Rat).SetString(b)
		if okX && okY {
			return x.Cmp(y)
		}
	}
	return strings.Compare(a, b)
}
