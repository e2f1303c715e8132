package datum

import (
	"encoding/binary"
	"math"
	"math/big"
	"strings"
)

// AppendKey adds v, a value that t stored, to a key of an index: the bytes of keys compare as the values do, equal
// values give equal bytes, and no key is the beginning of another one with as many columns.
func (t *Type) AppendKey(key []byte, v Value) []byte {
	if v.IsNull() {
		return append(key, 0)
	}
	key = append(key, 1)
	switch v.Kind {
	case Int:
		return binary.BigEndian.AppendUint64(key, v.bits^(1<<63))
	case Uint:
		return binary.BigEndian.AppendUint64(key, v.bits)
	case Float:
		bits := v.bits
		if v.float() == 0 {
			bits = 0
		}
		if bits>>63 == 1 {
			bits = ^bits
		} else {
			bits |= 1 << 63
		}
		return binary.BigEndian.AppendUint64(key, bits)
	case Decimal:
		return t.appendDecimal(key, v)
	default:
	}
	text := v.text
	if t.class() == classTime {
		return append(key, clockKey(text)...)
	}
	if t.Pads() {
		text = strings.TrimRight(text, " ")
	}
	if t.IgnoresCase() {
		text = Fold(text)
	}
	// A zero byte is escaped, and two end the text.
	if strings.IndexByte(text, 0) < 0 {
		key = append(key, text...)
	} else {
		for i := range len(text) {
			if key = append(key, text[i]); text[i] == 0 {
				key = append(key, 0xff)
			}
		}
	}
	return append(key, 0, 0)
}

// appendDecimal adds the digits, which have one length in one column, as an unsigned number that is moved up by half.
func (t *Type) appendDecimal(key []byte, v Value) []byte {
	n := v.exact().rounded(t.Scale).n
	size := t.Digits/2 + 2
	moved := new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(size*8-1)))
	b := make([]byte, size)
	return append(key, moved.FillBytes(b)...)
}

// clockKey orders TIME values.
func clockKey(text string) []byte {
	m, _ := parseClock(text)
	n := int64(((m.hour*60+m.minute)*60+m.second)*1000000 + m.micros)
	if m.negative {
		n = -n
	}
	return binary.BigEndian.AppendUint64(nil, uint64(n)^(1<<63))
}

// Same tells whether a and b are one stored value. Unlike an index it sees capitals and trailing spaces.
func Same(a, b Value) bool {
	if a.Kind == Float && b.Kind == Float {
		return math.Float64bits(a.float()) == math.Float64bits(b.float())
	}
	return a == b
}
