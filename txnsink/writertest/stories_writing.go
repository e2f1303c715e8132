package writertest

import (
	"context"
	"errors"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/txnsink"
)

var writingStories = []entry{
	{"rows are committed by the checkpoint", 0, rowsByCheckpoint},
	{"rows are not seen before their commit", exactlyOnce, rowsUnseenBefore},
	{"a write takes its batch", 0, writeTakesBatch},
	{"an empty batch begins nothing", 0, emptyBatch},
	{"changes of one key act in their order", 0, changesInOrder},
	{"a batch that is not the writer's is refused", 0, foreignBatch},
	{"of a batch with a bad row nothing is written", 0, badRow},
	{"a duplicate is an error of its row, and nothing of its write stays", exactlyOnce, duplicateRow},
	{"a batch above the limit is refused", 0, batchAboveLimit},
	{"a write that needs a checkpoint leaves no trace and is written after it", exactlyOnce, writeNeedsCheckpoint},
	{"a full segment that is not split asks for a checkpoint", whole, fullSegmentAsks},
	{"a segment is full by its bytes too", exactlyOnce, fullByBytes},
	{"rows are sent when there are enough for a statement", atLeastOnce, enoughRows},
	{"an ended context writes nothing", 0, endedContext},
}

func rowsByCheckpoint(s *story) {
	l := s.begin()
	l.write(event(1), order(1, "new"))
	l.write(event(2), order(2, "new"), gone(1))
	l.checkpoint()
	s.sees([]int64{1, 2}, map[int64]string{2: "new"}, "after Commit")
	l.holds(0, 0, "all is committed")
	require.Empty(s, s.prepared())
	l.write(event(3))
	l.checkpoint()
	s.sees([]int64{1, 2, 3}, map[int64]string{2: "new"}, "after the next Commit")
}

func rowsUnseenBefore(s *story) {
	l := s.begin()
	l.write(event(1), order(1, "new"))
	s.seesNothing("after Write")
	require.NoError(s, l.Flush(s.Context()))
	s.seesNothing("after Flush: it never commits")
	p := l.part()
	s.seesNothing("after Prepare")
	require.Equal(s, s.prepared(), l.listed(p), "what is prepared is what the part names")
	d := l.accept(p)
	s.seesNothing("the decision is accepted, and Commit was not called")
	require.NoError(s, l.Commit(s.Context(), d))
	s.sees([]int64{1}, map[int64]string{1: "new"}, "after Commit")
}

func writeTakesBatch(s *story) {
	l := s.begin()
	b := batch(l, event(1))
	require.Equal(s, 1, b.Len())
	require.NoError(s, l.Write(s.Context(), b))
	require.Zero(s, l.Batch().Len(), "an empty batch for the next Write")
	l.write(event(2))
	l.checkpoint()
	s.sees([]int64{1, 2}, nil, "each row once")
}

func emptyBatch(s *story) {
	l := s.begin()
	require.NoError(s, l.Write(s.Context(), l.Batch()))
	l.holds(0, 0, "nothing was written")
	require.Empty(s, l.listed(l.part()), "no branch for zero rows")
	require.NoError(s, l.Flush(s.Context()))
	require.Empty(s, s.prepared())
}

func changesInOrder(s *story) {
	l := s.begin()
	l.write(order(1, "a"), order(1, "b"), order(2, "a"), gone(2), order(3, "a"), gone(3), order(3, "b"))
	l.write(order(1, "c"), gone(3), order(4, "a"))
	l.checkpoint()
	s.sees(nil, map[int64]string{1: "c", 4: "a"}, "the last change of each key")
}

func foreignBatch(s *story) {
	l := s.begin()
	other := s.writer()
	_, err := s.look(other)
	require.NoError(s, err)
	require.Error(s, l.Write(s.Context(), nil), "no batch at all")
	l.crash()
	l = s.begin()
	require.Error(s, l.Write(s.Context(), &txnsink.Batch{}), "a batch that no writer made")
	s.seesNothing("nothing was written")
}

func badRow(s *story) {
	l := s.begin()
	b := batch(l, event(1), order(1, "a state that is far too long for its column"), event(2))
	b.Insert("events").Int64(3) // a value is missing
	err := l.Write(s.Context(), b)
	var row *txnsink.RowError
	require.ErrorAs(s, err, &row)
	require.Equal(s, "events", row.Table)
	require.NotNil(s, failedOf(l.Write(s.Context(), batch(l, event(4)))), "only Close is left")
	l.crash()
	s.seesNothing("all rows of a batch, or none")
	require.Empty(s, s.prepared())
}

func duplicateRow(s *story) {
	l := s.begin()
	l.write(event(1))
	l.checkpoint()
	l.write(event(2))
	err := l.Write(s.Context(), batch(l, order(1, "a"), event(3), event(1), event(4)))
	if errors.Is(err, txnsink.ErrNeedsCheckpoint) {
		require.Fail(s, "nothing of the writer's own is in the way", "%v", err)
	}
	var row *txnsink.RowError
	require.ErrorAs(s, err, &row)
	require.Equal(s, uint16(1062), row.Code)
	require.Equal(s, "events", row.Table)
	l.crash()
	l = s.begin()
	l.checkpoint()
	s.sees([]int64{1}, nil, "a branch in which a statement failed is never prepared")
}

func batchAboveLimit(s *story) {
	l := s.begin(func(c *txnsink.WriterConfig) { c.MaxBatchBytes = 100 })
	var rows []row
	for i := range int64(50) {
		rows = append(rows, event(i))
	}
	require.Error(s, l.Write(s.Context(), batch(l, rows...)))
	l.crash()
	s.seesNothing("it is refused whole")
}

// A branch that is prepared, and whose checkpoint was given up, holds what the next Write wants.
func writeNeedsCheckpoint(s *story) {
	l := s.begin()
	l.write(order(1, "a"))
	l.part()
	l.holds(0, 1, "one branch is prepared")
	b := batch(l, event(9), order(1, "b"))
	err := l.Write(s.Context(), b)
	require.ErrorIs(s, err, txnsink.ErrNeedsCheckpoint)
	why, needed := l.NeedsCheckpoint()
	require.True(s, needed)
	require.NotEmpty(s, why)
	l.holds(0, 1, "the Write left nothing")
	require.Equal(s, 2, b.Len(), "the batch is still the caller's")
	l.checkpoint()
	s.sees(nil, map[int64]string{1: "a"}, "nothing of the Write is in the checkpoint before it")
	require.NoError(s, l.Write(s.Context(), b), "the same Write again")
	l.checkpoint()
	s.sees([]int64{9}, map[int64]string{1: "b"}, "now it is")
}

func fullSegmentAsks(s *story) {
	l := s.begin(func(c *txnsink.WriterConfig) { c.MaxSegmentRows = 2 })
	l.write(order(1, "a"))
	_, needed := l.NeedsCheckpoint()
	require.False(s, needed)
	l.write(order(2, "a"), order(3, "a"))
	why, needed := l.NeedsCheckpoint()
	require.True(s, needed, "the writer is declared not to split")
	require.Equal(s, txnsink.ReasonSize, why)
	l.holds(3, 0, "and nothing is prepared before the checkpoint")
	l.checkpoint()
	l.write(order(4, "a"))
	_, needed = l.NeedsCheckpoint()
	require.False(s, needed, "the checkpoint relieved it")
}

func fullByBytes(s *story) {
	l := s.begin(func(c *txnsink.WriterConfig) { c.MaxSegmentBytes = 60 })
	for i := range int64(3) {
		l.write(order(i, "a state of 20 bytes."))
	}
	_, needed := l.NeedsCheckpoint()
	_, branches := l.Held()
	require.True(s, needed || branches > 0, "the segment is prepared, or asks for a checkpoint")
}

func enoughRows(s *story) {
	l := s.begin(func(c *txnsink.WriterConfig) { c.BatchRows = 3 })
	l.write(event(1), event(2))
	l.holds(2, 0, "they wait for a third")
	l.write(event(3), event(4))
	l.holds(0, 0, "what is gathered is bounded by BatchRows and one Write")
	s.sees([]int64{1, 2, 3, 4}, nil, "they are sent")
}

func endedContext(s *story) {
	l := s.begin()
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	if err := l.Write(ctx, batch(l, event(1))); err == nil {
		_, err = l.Prepare(ctx)
		require.Error(s, err, "what Write gathered is sent by Prepare")
	}
	l.crash()
	s.seesNothing("nothing was sent")
	require.Empty(s, s.prepared())
}
