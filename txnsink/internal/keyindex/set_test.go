package keyindex

import (
	"hash/maphash"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSetIsASet(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var s Set
	model := map[uint64]bool{}
	require.False(t, s.Has(0))
	require.False(t, s.Has(7))
	for range 200_000 {
		h := random.Uint64N(50_000) << (random.Uint64N(3) * 16) // many alike in their low bits, 0 among them
		before := s.Has(h)
		s.Add(h)
		if before != model[h] || !s.Has(h) {
			require.FailNow(t, "the set is wrong", "hash %d: before %t, want %t; after %t", h, before, model[h], s.Has(h))
		}
		model[h] = true
	}
	require.Equal(t, len(model), s.Len())
	s.Clear(s.Bytes())
	require.Positive(t, s.Bytes(), "it keeps what it may")
	require.Zero(t, s.Len())
	for h := range model {
		require.False(t, s.Has(h))
	}
	s.Add(1)
	s.Clear(s.Bytes() - 1)
	require.Zero(t, s.Bytes(), "and gives back what is too much")
}

func TestSetStaysSmall(t *testing.T) {
	var s Set
	seed := maphash.MakeSeed()
	worst := 0.0
	for n := 1; n <= 1_100_000; n++ {
		s.Add(maphash.Comparable(seed, n))
		if n > 10_000 {
			worst = max(worst, float64(s.Bytes())/float64(s.Len()))
		}
	}
	require.LessOrEqual(t, worst, 24.0, "bytes a key")
}

func BenchmarkSet(b *testing.B) {
	seed := maphash.MakeSeed()
	var s Set
	for n := range 1_000_000 {
		s.Add(maphash.Comparable(seed, n))
	}
	b.Run("has", func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			s.Has(maphash.Comparable(seed, n))
			n++
		}
	})
	b.Run("add", func(b *testing.B) {
		var s Set
		for n := range 1_000_000 {
			s.Add(maphash.Comparable(seed, n))
		}
		s.Clear(s.Bytes())
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			if n == 1_000_000 {
				s.Clear(s.Bytes())
				n = 0
			}
			s.Add(maphash.Comparable(seed, n))
			n++
		}
	})
}
