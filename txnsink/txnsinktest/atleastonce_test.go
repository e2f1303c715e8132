package txnsinktest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/txnsink/txnsinktest"
)

func TestAtLeastOnceShowsWhatWasSent(t *testing.T) {
	db := txnsinktest.New(layouts...)
	cfg := config()
	cfg.Mode = txnsink.AtLeastOnce
	s := open(t, db, cfg)
	require.NoError(t, s.Write(t.Context(), event(s, 1), []byte("1")))
	require.Empty(t, db.Rows("events"), "gathered")
	require.Equal(t, int64(1), s.Stats().OpenRows)
	db.FailAfter(fault.Batch)
	require.Error(t, s.Flush(t.Context()))
	require.Len(t, db.Rows("events"), 1, "the answer was lost, not the rows")
	require.NoError(t, s.Close())

	s = open(t, db, cfg)
	require.Equal(t, "0", string(s.Position()))
	b := s.Batch()
	b.Insert("events").Int64(2).String("x")
	b.Insert("events").Int64(1).String("repeated")
	require.NoError(t, s.Write(t.Context(), b, []byte("2")))
	err := s.Checkpoint(t.Context())
	var row *txnsink.RowError
	require.ErrorAs(t, err, &row)
	require.Equal(t, uint16(1062), row.Code)
	require.Len(t, db.Rows("events"), 1, "a statement is kept whole or not at all")
	require.NoError(t, s.Close())
	s = open(t, db, cfg)
	require.NoError(t, s.Write(t.Context(), event(s, 2), []byte("2")))
	require.NoError(t, s.Checkpoint(t.Context()), "and holds no locks")
	require.NoError(t, s.Close())

	holder := config()
	holder.Job, holder.Store = "other", state.NewMemory()
	h := open(t, db, holder)
	require.NoError(t, h.Write(t.Context(), event(h, 5), []byte("1")))
	s = open(t, db, cfg)
	require.NoError(t, s.Write(t.Context(), event(s, 5), []byte("2")))
	var blocked *txnsink.BlockedError
	require.ErrorAs(t, s.Flush(t.Context()), &blocked)
}

func TestAtLeastOnceSendsWhatABatchLeavesNoRoomFor(t *testing.T) {
	db := txnsinktest.New(layouts...)
	cfg := config()
	cfg.Mode, cfg.MaxBatchBytes = txnsink.AtLeastOnce, 12
	s := open(t, db, cfg)
	require.NoError(t, s.Write(t.Context(), event(s, 1), []byte("1"))) // (1,'e')
	require.NoError(t, s.Write(t.Context(), event(s, 2), []byte("2")))
	require.Len(t, db.Rows("events"), 1)
	require.NoError(t, s.Finish(t.Context()))
	require.Len(t, db.Rows("events"), 2)
}
