package txnsink

import (
	"hash/maphash"
	"unicode"
	"unicode/utf8"
)

// keyHasher makes the hashes by which the index of pending keys knows keys. Values that the server takes for equal should
// have one hash: letters of either case, with and without accents, with spaces behind them, as the usual collations
// compare. It is only roughly so. A key that is missed costs a lock wait, two keys with one hash cost a checkpoint; no
// row depends on it.
type keyHasher struct {
	seed maphash.Seed
	text []byte // of the key at hand
}

func newKeyHasher() keyHasher { return keyHasher{seed: maphash.MakeSeed()} }

// row appends the hashes of row i of b: its primary key's, and for a row that is written those of the other unique keys
// that have a value in each column. The batch is valid.
func (h *keyHasher) row(dst []uint64, b *Batch, i int) []uint64 {
	r := b.rows[i]
	if r.op == Delete {
		h.begin(r.table, 0)
		for n := range r.table.key {
			h.value(b, r.first+n)
		}
		return append(dst, h.end())
	}
	for n, key := range r.table.unique {
		if h.written(b, r, key, n) {
			dst = append(dst, h.end())
		}
	}
	return dst
}

// written puts a key of a written row together; false where the row has no value in one of its columns.
func (h *keyHasher) written(b *Batch, r rowRef, key uniqueKey, n int) bool {
	h.begin(r.table, n)
	for _, at := range key.at {
		if at < 0 || b.kinds[r.first+at] == kindNull {
			return false
		}
		h.value(b, r.first+at)
	}
	return true
}

// begin starts unique key n of t. The primary key is number 0.
func (h *keyHasher) begin(t *table, n int) {
	h.text = append(h.text[:0], byte(t.index), byte(t.index>>8), byte(n))
}

func (h *keyHasher) end() uint64 { return maphash.Bytes(h.seed, h.text) }

// value adds value v of b, and what ends it.
func (h *keyHasher) value(b *Batch, v int) {
	stored := b.stored(v)
	switch b.kinds[v] {
	case kindText:
		h.text = appendFolded(h.text, stored)
	case kindNumber, kindBytes, kindNull, kindRefused:
		h.text = append(h.text, stored...)
	}
	h.text = append(h.text, 0)
}

// appendFolded adds text in small letters, without accents where that is one letter, and without spaces behind it.
func appendFolded(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		dst = utf8.AppendRune(dst, foldRune(r))
		i += size
	}
	for len(dst) > 0 && dst[len(dst)-1] == ' ' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// latin has the plain letter for each of U+00C0 to U+017F; a dot stands for itself.
const latin = "aaaaaa.ceeeeiiii.nooooo.ouuuuy..aaaaaa.ceeeeiiii.nooooo.ouuuuy.y" +
	"aaaaaaccccccccdd..eeeeeeeeeegggggggghh..iiiiiiiii...jjkk.llllll....nnnnnn...oooooo..rrrrrrssssssssttttt.uuuuuuuuuuuuwwyyyzzzzzz."

func foldRune(r rune) rune {
	const first = 0xc0
	if i := int(r) - first; i >= 0 && i < len(latin) && latin[i] != '.' {
		return rune(latin[i])
	}
	return unicode.ToLower(unicode.ToUpper(r))
}
