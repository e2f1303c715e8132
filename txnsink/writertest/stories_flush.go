package writertest

import (
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/txnsink"
)

var flushStories = []entry{
	{"a flush without rows does nothing", 0, flushNothing},
	{"a flush prepares what can be split", splits, flushPrepares},
	{"a key that is prepared can be written again", splits, preparedKeyAgain},
	{"a duplicate of a prepared row settles, and is then an error of its row", splits, duplicateOfPrepared},
	{"a flush prepares nothing where nothing is split", whole, flushKeepsWhole},
	{"a flush writes what is gathered", atLeastOnce, flushWrites},
	{"a full segment is prepared", splits, fullSegmentIsPrepared},
	{"splitting stops at the cap", splits, splittingStops},
}

func flushNothing(s *story) {
	l := s.begin()
	require.NoError(s, l.Flush(s.Context()))
	require.NoError(s, l.Flush(s.Context()))
	l.holds(0, 0, "there was nothing to flush")
	require.Empty(s, s.prepared())
}

func flushPrepares(s *story) {
	l := s.begin()
	l.write(event(1))
	require.NoError(s, l.Flush(s.Context()))
	l.holds(0, 1, "the rows are prepared")
	require.Len(s, s.prepared(), 1)
	l.write(event(2))
	require.NoError(s, l.Flush(s.Context()))
	require.Len(s, s.prepared(), 2, "the next rows go into a branch of their own")
	s.seesNothing("a flush never commits")
	l.checkpoint()
	s.sees([]int64{1, 2}, nil, "after Commit")
}

func preparedKeyAgain(s *story) {
	l := s.begin()
	l.write(order(1, "a"))
	require.NoError(s, l.Flush(s.Context()))
	l.holds(0, 1, "upserts are prepared too")
	again := batch(l, order(1, "b"))
	require.ErrorIs(s, l.Write(s.Context(), again), txnsink.ErrNeedsCheckpoint, "it would wait for its own lock")
	l.holds(0, 1, "the Write left no trace")
	l.checkpoint()
	s.sees(nil, map[int64]string{1: "a"}, "what was prepared is committed first")
	require.NoError(s, l.Write(s.Context(), again))
	l.checkpoint()
	s.sees(nil, map[int64]string{1: "b"}, "after Commit")
}

func duplicateOfPrepared(s *story) {
	l := s.begin()
	l.write(event(1))
	require.NoError(s, l.Flush(s.Context()))
	again := batch(l, event(2), event(1))
	require.ErrorIs(s, l.Write(s.Context(), again), txnsink.ErrNeedsCheckpoint, "the lock is the writer's own")
	l.checkpoint()
	var row *txnsink.RowError
	require.ErrorAs(s, l.Write(s.Context(), again), &row)
	require.Equal(s, uint16(1062), row.Code)
	l.crash()
	s.sees([]int64{1}, nil, "nothing of the second Write")
}

func flushKeepsWhole(s *story) {
	l := s.begin()
	l.write(event(1))
	require.NoError(s, l.Flush(s.Context()))
	l.holds(1, 0, "the writer is declared not to split")
	require.Empty(s, s.prepared())
	l.write(event(2))
	l.checkpoint()
	s.sees([]int64{1, 2}, nil, "after Commit")
}

func flushWrites(s *story) {
	l := s.begin()
	l.write(event(1), order(1, "a"))
	require.NoError(s, l.Flush(s.Context()))
	l.holds(0, 0, "nothing is gathered any more")
	s.sees([]int64{1}, map[int64]string{1: "a"}, "after Flush")
}

func fullSegmentIsPrepared(s *story) {
	l := s.begin(func(c *txnsink.WriterConfig) { c.MaxSegmentRows = 2 })
	l.write(event(1))
	l.holds(1, 0, "it is not full")
	l.write(event(2), event(3))
	l.holds(0, 1, "a Write that ends at or over the limit closes the segment")
	_, needed := l.NeedsCheckpoint()
	require.False(s, needed)
	s.seesNothing("it is prepared, not committed")
}

func splittingStops(s *story) {
	const most = 4
	l := s.begin(func(c *txnsink.WriterConfig) { c.MaxPending = most })
	for i := range int64(2 * most) {
		l.write(event(i))
		require.NoError(s, l.Flush(s.Context()))
		_, branches := l.Held()
		require.LessOrEqual(s, branches, most)
	}
	l.write(order(1, "a"))
	require.LessOrEqual(s, len(l.listed(l.part())), most, "there is room for every lane at the barrier")
	l.checkpoint()
	s.sees([]int64{0, 1, 2, 3, 4, 5, 6, 7}, map[int64]string{1: "a"}, "nothing is lost at the cap")
}
