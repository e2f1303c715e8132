package txnsink_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/xa/xasim"
)

// inSplittingShop is inShop on the kind of server where a checkpoint is split.
func inSplittingShop(t *testing.T, story func(t *testing.T, s *shop)) {
	t.Helper()
	inShop(t, func(t *testing.T, s *shop) {
		if s.server.Kind().String() != xasim.MySQL().String() {
			t.Skip("nothing is split on an attached server")
		}
		story(t, s)
	})
}

// A Write that touches a key of a prepared branch does not wait for its lock: it settles first, upsert or delete.
func TestAWriteToAPreparedKeySettlesWithoutALockWait(t *testing.T) {
	inSplittingShop(t, func(t *testing.T, s *shop) {
		sink := s.open()
		for i := range 4 {
			n := uint64(i)
			require.NoError(t, put(t, sink, "a", anOrder(7, strconv.Itoa(i)), anEvent(int64(i))))
			require.NoError(t, sink.Flush(t.Context()))
			stats := sink.Stats()
			require.Equal(t, n, stats.Checkpoints[txnsink.ReasonKey])
			require.Zero(t, stats.LockWaits)
			if i < 3 {
				require.NoError(t, put(t, sink, "b", anOrder(int64(100+i), "other")), "another key")
				require.Equal(t, n, sink.Stats().Checkpoints[txnsink.ReasonKey], "settles nothing")
				require.NoError(t, sink.Flush(t.Context()))
			}
		}
		require.NoError(t, put(t, sink, "c", func(b *txnsink.Batch) { b.Delete("orders").Int64(7) }))
		require.Equal(t, uint64(4), sink.Stats().Checkpoints[txnsink.ReasonKey])
		require.Zero(t, sink.Stats().LockWaits)
		require.NoError(t, sink.Finish(t.Context()))
		require.Equal(t, map[int64]string{100: "other", 101: "other", 102: "other"}, s.content().Orders)
		require.Len(t, s.content().Events, 4)
	})
}

// The index of keys is bounded: at the limit splitting stops, and nothing is lost.
func TestSplittingStopsWhereTheIndexIsFull(t *testing.T) {
	inSplittingShop(t, func(t *testing.T, s *shop) {
		s.change = func(c *txnsink.Config) { c.MaxIndexKeys = 3 }
		sink := s.open()
		want := map[int64]string{}
		for i := range int64(10) {
			require.NoError(t, put(t, sink, "x", anOrder(i, "a")))
			require.NoError(t, sink.Flush(t.Context()))
			want[i] = "a"
		}
		require.Equal(t, 3, sink.Stats().Pending)
		require.Equal(t, int64(7), sink.Stats().OpenRows)
		require.NoError(t, sink.Finish(t.Context()))
		require.Equal(t, want, s.content().Orders)
	})
}

// A stream that settles after each flush gains nothing from being split, so flushes prepare nothing of it for a while.
func TestSplittingInVainStopsForAWhile(t *testing.T) {
	inSplittingShop(t, func(t *testing.T, s *shop) {
		sink := s.open()
		for range 20 {
			require.NoError(t, put(t, sink, "x", anOrder(1, "a")))
			require.NoError(t, sink.Flush(t.Context()))
		}
		require.Equal(t, uint64(3), sink.Stats().Checkpoints[txnsink.ReasonKey])
		require.Equal(t, uint64(16), sink.Stats().FlushesHeld)
		require.NoError(t, sink.Finish(t.Context()))
	})
}
