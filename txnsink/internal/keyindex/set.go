// Package keyindex remembers which keys are in branches that are prepared and not yet committed, so that a Write that
// touches one of them can settle first, instead of waiting for its own lock.
//
// Keys are 64-bit hashes. Two keys with one hash cost a checkpoint that was not needed; they never cost a row. The
// package knows no tables, no values and no server.
package keyindex

import "math/bits"

// Set is a set of hashes, open addressing with linear probing. It allocates only where it grows. The zero Set is empty
// and ready. It is not safe for concurrent use.
type Set struct {
	slots []uint64 // 0 is free; a power of two
	used  int
	shift uint // from a product to a slot
	zero  bool // the hash 0 is in it
}

const (
	firstSlots = 64
	// The high bits of a product with it depend on all bits of a hash: 2^64 divided by the golden ratio, odd.
	spread = 0x9e3779b97f4a7c15
	// At three quarters it doubles: between 10.7 and 21.3 bytes a key.
	fullNumerator, fullDenominator = 3, 4
)

// Add puts h into the set.
func (s *Set) Add(h uint64) {
	if h == 0 {
		s.zero = true
		return
	}
	if (s.used+1)*fullDenominator > len(s.slots)*fullNumerator {
		s.grow()
	}
	s.used += s.put(h)
}

// put is 1 where h is new. There is a free slot.
func (s *Set) put(h uint64) int {
	mask := uint64(len(s.slots) - 1)
	for i := h * spread >> s.shift; ; i = (i + 1) & mask {
		switch s.slots[i] {
		case 0:
			s.slots[i] = h
			return 1
		case h:
			return 0
		}
	}
}

func (s *Set) grow() {
	old := s.slots
	s.slots = make([]uint64, max(firstSlots, 2*len(old)))
	s.shift = uint(64 - bits.TrailingZeros(uint(len(s.slots))))
	for _, h := range old {
		if h != 0 {
			s.put(h)
		}
	}
}

// Has tells whether h was added.
func (s *Set) Has(h uint64) bool {
	if h == 0 {
		return s.zero
	}
	if s.used == 0 {
		return false
	}
	mask := uint64(len(s.slots) - 1)
	for i := h * spread >> s.shift; ; i = (i + 1) & mask {
		switch s.slots[i] {
		case 0:
			return false
		case h:
			return true
		}
	}
}

// Len is the number of hashes in the set.
func (s *Set) Len() int {
	if s.zero {
		return s.used + 1
	}
	return s.used
}

// Bytes is the memory that the set holds.
func (s *Set) Bytes() int { return 8 * len(s.slots) }

// Clear empties the set and keeps its memory, unless it holds more than keep bytes: then it gives that back.
func (s *Set) Clear(keep int) {
	if s.Bytes() > keep {
		s.slots = nil
	} else {
		clear(s.slots)
	}
	s.used, s.zero = 0, false
}
