package txnsink

import (
	"fmt"
	"hash/maphash"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/xa"
)

// A row is written again while it is in a prepared branch. With the index the
// Write settles first; without it, it waits for its own lock, and comes out of that by a cut. Rows are exact either way.
func TestAWriteThatTouchesAPreparedKeySettlesFirst(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	for name, blind := range map[string]bool{"settling": false, "blind": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, r.server)
			s := r.open()
			for i := range 12 {
				if blind { // hashes that nothing in the index can equal
					s.writer.(*exactlyOnce).split.hasher.seed = maphash.MakeSeed()
				}
				write(t, s, i) // each third Write adds to the same total
				require.NoError(t, s.Flush(t.Context()))
			}
			stats := s.Stats()
			if blind {
				require.Positive(t, stats.LockWaits)
				require.Positive(t, stats.Checkpoints[ReasonLockWait])
			} else {
				require.Zero(t, stats.LockWaits)
				require.Positive(t, stats.Checkpoints[ReasonKey])
			}
			require.Greater(t, stats.SegmentsPrepared, uint64(8), "upsert lanes are split")
			require.NoError(t, s.Finish(t.Context()))
			r.verify(12)
		})
	}
}

// A stream that settles after every flush gains nothing from being split: splitting pauses, and is tried again.
func TestSplittingInVainPauses(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	r.change = func(c *Config) { c.Tables = c.Tables[1:2] }
	s := r.open()
	const writes = 40
	for i := range writes {
		b := s.Batch()
		b.Upsert("totals").String("hot").Int64(1).Decimal("1")
		require.NoError(t, s.Write(t.Context(), b, []byte(fmt.Sprint(i+1))))
		require.NoError(t, s.Flush(t.Context()))
	}
	stats := s.Stats()
	require.Equal(t, uint64(writes), stats.Flushes)
	require.Equal(t, uint64(4), stats.Checkpoints[ReasonKey], "three in a row, then one after each pause")
	require.Equal(t, uint64(writes-4), stats.FlushesHeld)
	require.NoError(t, s.Finish(t.Context()))
	count, _ := r.pair("SELECT n, 0 FROM `%s`.totals")
	require.Equal(t, int64(writes), count)
}

// A full index stops splitting, and nothing waits: what is open stays open until the checkpoint.
func TestFullIndexStopsSplitting(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	r.change = func(c *Config) { c.Tables, c.MaxIndexKeys = c.Tables[2:], 3 }
	s := r.open()
	for i := range 10 {
		b := s.Batch()
		b.Upsert("orders").Int64(int64(i)).String("new")
		require.NoError(t, s.Write(t.Context(), b, []byte(fmt.Sprint(i+1))))
		require.NoError(t, s.Flush(t.Context()))
		require.LessOrEqual(t, s.writer.(*exactlyOnce).split.index.Len(), 3)
	}
	require.Equal(t, 3, s.Stats().Pending)
	require.Equal(t, int64(7), s.Stats().OpenRows)
	require.NoError(t, s.Finish(t.Context()))
	require.Equal(t, int64(10), r.visible("orders"))
}

func TestPauseOfSplittingGrowsToItsLimitAndEndsWithSuccess(t *testing.T) {
	s := splitting{most: 10}
	inVain := func() {
		s.flushes = 1
		s.settled()
		s.committed()
	}
	for range vainFlushes - 1 {
		inVain()
		require.True(t, s.mayPrepare(1))
	}
	for _, want := range []int{16, 32, 64, 128, 256, 256, 256} {
		inVain()
		for range want {
			require.False(t, s.mayPrepare(1))
			require.True(t, s.signal())
		}
		require.True(t, s.mayPrepare(1))
		require.False(t, s.signal())
	}
	s.flushes = 2 // a flush that was not settled at once
	s.settled()
	s.committed()
	inVain()
	require.True(t, s.mayPrepare(1), "the count begins anew")
	s.settled()
	require.Equal(t, 1, s.vain, "a settle without a flush before it says nothing about flushes")
}

// What the server's usual collations take for equal has one hash; what no collation takes for equal has another.
func TestHashesOfKeysFollowTheServersIdeaOfEqual(t *testing.T) {
	c := &catalog{byName: map[string]*table{}, maxPacket: 1 << 20, zone: time.UTC}
	for i, name := range []string{"words", "others"} {
		c.tables = append(c.tables, &table{
			index: i, name: name, operations: allOperations,
			columns: []column{{name: "k", class: classText}, {name: "u", class: classText, nullable: true}, {name: "n", class: classInteger}},
			key:     []column{{name: "k", class: classText}}, keyAt: []int{0},
			unique: []uniqueKey{{name: "PRIMARY", at: []int{0}}, {name: "u", at: []int{1, 2}}, {name: "hidden", at: []int{-1}}},
		})
		c.byName[name] = c.tables[i]
	}
	h := newKeyHasher()
	b := c.batch()
	hashes := func(add func(b *Batch)) []uint64 {
		b.Reset()
		add(b)
		require.NoError(t, b.validate())
		return h.row(nil, b, 0)
	}
	upsert := func(k, u string) []uint64 {
		return hashes(func(b *Batch) { b.Upsert("words").String(k).String(u).Int64(1) })
	}
	first := upsert("Straße Éa", "x")
	require.Len(t, first, 2, "one for each unique key whose columns are written")
	require.Equal(t, first, upsert("straße éa  ", "X"))
	require.Equal(t, first, upsert("straßE EA", "x "))
	require.Equal(t, first[:1], hashes(func(b *Batch) { b.Delete("words").String("STRAßE ea") }))
	require.NotEqual(t, first[0], upsert("strasze ea", "x")[0])
	require.NotEqual(t, first[0], first[1])
	require.Equal(t, upsert("Ω", "")[0], upsert("ω", "")[0])
	null := hashes(func(b *Batch) { b.Insert("words").String("a").Null().Int64(1) })
	require.Len(t, null, 1, "NULL is equal to nothing")
	require.NotEqual(t, null[0], hashes(func(b *Batch) { b.Insert("others").String("a").Null().Int64(1) })[0], "another table")
	require.NotEqual(t, upsert("a", "bc")[1], hashes(func(b *Batch) { b.Upsert("words").String("a").String("b").Int64(1) })[1])
}
