package txnsinktest_test

import (
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/txnsink/txnsinktest"
)

func TestOtherUniqueKeys(t *testing.T) {
	layout := txnsink.Layout{Name: "users", Key: []string{"id"}, Unique: [][]string{{"mail"}}, Columns: []txnsink.LayoutColumn{
		{Name: "id", Type: "int"}, {Name: "mail", Type: "varchar(9)", Nullable: true}}}
	start := func(t *testing.T, o txnsink.Operation) (*txnsinktest.DB, *txnsink.Sink) {
		t.Helper()
		db := txnsinktest.New(layout)
		cfg := config()
		cfg.Tables = []txnsink.Table{{Name: "users", Operations: o}}
		return db, open(t, db, cfg)
	}
	write := func(t *testing.T, s *txnsink.Sink, fill func(*txnsink.Batch)) error {
		t.Helper()
		b := s.Batch()
		fill(b)
		return s.Write(t.Context(), b, []byte("x"))
	}
	add := func(id int64, mail string) func(*txnsink.Batch) {
		return func(b *txnsink.Batch) { b.Insert("users").Int64(id).String(mail) }
	}
	duplicate := func(t *testing.T, err error) {
		t.Helper()
		var row *txnsink.RowError
		require.ErrorAs(t, err, &row)
		require.Equal(t, uint16(1062), row.Code)
		require.Equal(t, "id=2", row.Key)
		require.ErrorContains(t, err, "duplicate entry for key mail")
	}
	t.Run("in the branch", func(t *testing.T) {
		_, s := start(t, txnsink.Insert)
		require.NoError(t, write(t, s, add(1, "a")))
		duplicate(t, write(t, s, add(2, "a")))
	})
	t.Run("committed", func(t *testing.T) {
		_, s := start(t, txnsink.Insert)
		require.NoError(t, write(t, s, add(1, "a")))
		require.NoError(t, s.Checkpoint(t.Context()))
		duplicate(t, write(t, s, add(2, "a")))
	})
	t.Run("prepared", func(t *testing.T) {
		db, s := start(t, txnsink.Insert)
		require.NoError(t, write(t, s, add(1, "a")))
		require.NoError(t, s.Flush(t.Context()))
		duplicate(t, write(t, s, add(2, "a")))
		require.Len(t, db.Rows("users"), 1, "the Write settled first")
	})
	t.Run("NULL and deleted rows are nobody's duplicates", func(t *testing.T) {
		db, s := start(t, txnsink.Insert|txnsink.Delete)
		require.NoError(t, write(t, s, func(b *txnsink.Batch) {
			add(1, "a")(b)
			b.Insert("users").Int64(3).Null()
			b.Insert("users").Int64(4).Null()
		}))
		require.NoError(t, s.Checkpoint(t.Context()))
		require.NoError(t, write(t, s, func(b *txnsink.Batch) {
			b.Delete("users").Int64(1)
			add(2, "a")(b)
		}))
		require.NoError(t, s.Finish(t.Context()))
		require.Equal(t, []txnsinktest.Row{{"id": "2", "mail": "a"}, {"id": "3"}, {"id": "4"}}, db.Rows("users"))
	})
	t.Run("upserts are refused", func(t *testing.T) {
		db := txnsinktest.New(layout)
		cfg := config()
		cfg.Tables = []txnsink.Table{{Name: "users", Operations: txnsink.Upsert}}
		_, err := db.Open(t.Context(), cfg)
		require.ErrorContains(t, err, "it has more unique keys than the primary key (mail)")
	})
}

func TestARowThatAnotherJobHoldsBlocks(t *testing.T) {
	db := txnsinktest.New(layouts...)
	cfg := config()
	var waits []string
	cfg.Observer.LockWait = func(table, keys string, own bool) {
		waits = append(waits, table+" "+keys+" "+strconv.FormatBool(own))
	}
	holder := config()
	holder.Job, holder.Store = "other", state.NewMemory()
	h := open(t, db, holder)
	s := open(t, db, cfg)
	require.NoError(t, h.Write(t.Context(), event(h, 1), []byte("1")))
	require.NoError(t, s.Write(t.Context(), event(s, 2), []byte("1")))
	err := s.Write(t.Context(), event(s, 1), []byte("2"))
	var blocked *txnsink.BlockedError
	require.ErrorAs(t, err, &blocked)
	require.Equal(t, "events", blocked.Table)
	require.Equal(t, "id=1", blocked.Keys)
	require.Equal(t, []string{"events id=1 true", "events id=1 false"}, waits)
	require.Len(t, db.Rows("events"), 1, "what was its own was settled first")
	require.Equal(t, uint64(2), s.Stats().LockWaits)
	require.NoError(t, s.Close())

	require.NoError(t, h.Close(), "its open rows are gone, and their locks")
	s = open(t, db, config())
	require.NoError(t, s.Write(t.Context(), event(s, 1), []byte("2")))
	require.NoError(t, s.Finish(t.Context()))
	require.Len(t, db.Rows("events"), 2)
}

func TestNothingIsSettledWhereNothingIsHeld(t *testing.T) {
	db := txnsinktest.New(layouts...)
	holder := config()
	holder.Job, holder.Store = "other", state.NewMemory()
	h := open(t, db, holder)
	require.NoError(t, h.Write(t.Context(), event(h, 1), []byte("1")))
	w, _ := begun(t, db, config().WriterConfig(uuid.New()), state.NewMemory())
	var blocked *txnsink.BlockedError
	require.ErrorAs(t, w.Write(t.Context(), event(w, 1)), &blocked)
}

// TestAWriteThatMeetsItsOwnLockLeavesNoTrace: what it has changed up to the lock is in no branch that is cut.
func TestAWriteThatMeetsItsOwnLockLeavesNoTrace(t *testing.T) {
	db := txnsinktest.New(layouts...)
	w, claim := begun(t, db, config().WriterConfig(uuid.New()), state.NewMemory())
	orders := func(state string, ids ...int64) *txnsink.Batch {
		b := w.Batch()
		for _, id := range ids {
			b.Upsert("orders").Int64(id).String(state)
		}
		return b
	}
	states := func() (list []string) {
		for _, r := range db.Rows("orders") {
			list = append(list, r["state"])
		}
		return list
	}
	var want []string
	for round := range int64(2) { // a second settle is as good as the first
		next := 10 * round
		require.NoError(t, w.Write(t.Context(), orders("prepared", next)))
		part, err := w.Prepare(t.Context())
		require.NoError(t, err)
		require.NoError(t, w.Write(t.Context(), orders("open", next+1)))
		b := orders("again", next+1, next+2, next)
		b.Insert("events").Int64(next).String("e")
		require.ErrorIs(t, w.Write(t.Context(), b), txnsink.ErrNeedsCheckpoint)
		why, needed := w.NeedsCheckpoint()
		require.True(t, needed)
		require.Equal(t, txnsink.ReasonLockWait, why)
		rows, branches := w.Held()
		require.Equal(t, []int{1, 1}, []int{int(rows), branches})
		require.NoError(t, w.Commit(t.Context(), accept(t, claim, part)))
		decide(t, w, claim)
		require.Equal(t, append(want, "prepared", "open"), states())
		require.Len(t, db.Rows("events"), int(round))
		require.NoError(t, w.Write(t.Context(), b), "the same Write again")
		_, needed = w.NeedsCheckpoint()
		require.False(t, needed)
		decide(t, w, claim)
		want = append(want, "again", "again", "again")
		require.Equal(t, want, states())
		require.Len(t, db.Rows("events"), int(round+1))
	}
}

// TestLocksOfAFailedSinkAreFree: whoever comes next need not wait until the failed one is closed.
func TestLocksOfAFailedSinkAreFree(t *testing.T) {
	for name, fail := range map[string]func(*testing.T, *txnsinktest.DB, *txnsink.Sink) error{
		"write": func(t *testing.T, db *txnsinktest.DB, s *txnsink.Sink) error {
			t.Helper()
			db.FailAfter(fault.Batch)
			return s.Write(t.Context(), event(s, 2), []byte("2"))
		},
		"flush": func(t *testing.T, db *txnsinktest.DB, s *txnsink.Sink) error {
			t.Helper()
			db.FailBefore(fault.End)
			return s.Flush(t.Context())
		},
		"checkpoint": func(t *testing.T, db *txnsinktest.DB, s *txnsink.Sink) error {
			t.Helper()
			db.FailAfter(fault.LedgerRow)
			return s.Checkpoint(t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := txnsinktest.New(layouts...)
			s := open(t, db, config())
			require.NoError(t, s.Write(t.Context(), event(s, 1), []byte("1")))
			require.Error(t, fail(t, db, s))
			other := config()
			other.Job, other.Store = "other", state.NewMemory()
			o := open(t, db, other)
			require.NoError(t, o.Write(t.Context(), event(o, 1), []byte("1")))
			require.NoError(t, o.Finish(t.Context()))
		})
	}
}
