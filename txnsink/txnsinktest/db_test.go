package txnsinktest_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/txnsink/txnsinktest"
	"github.com/xasink/xasink/xa"
)

func open(t *testing.T, db *txnsinktest.DB, cfg txnsink.Config) *txnsink.Sink {
	t.Helper()
	s, err := db.Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func event(s interface{ Batch() *txnsink.Batch }, id int) *txnsink.Batch {
	b := s.Batch()
	b.Insert("events").Int64(int64(id)).String("e")
	return b
}

func TestAFailureActsWhenItWasAskedFor(t *testing.T) {
	db := txnsinktest.New(layouts...)
	in := db.Faults()
	at := func(p fault.Point) bool { return in.At(t.Context(), p) != nil }
	db.FailAfter(fault.Prepare)
	db.FailBefore(fault.Commit, 1, 3)
	require.Equal(t, "fail@after:xa-prepare#1,fail@before:xa-commit#1,fail@before:xa-commit#3", in.String())
	require.False(t, at(fault.Before(fault.Prepare)))
	require.Equal(t, []bool{true, false}, []bool{at(fault.After(fault.Prepare)), at(fault.After(fault.Prepare))})
	require.Equal(t, []bool{true, false, true, false}, []bool{at(fault.Before(fault.Commit)), at(fault.Before(fault.Commit)),
		at(fault.Before(fault.Commit)), at(fault.Before(fault.Commit))})
	db.FailBefore(fault.Batch, txnsinktest.EachTime)
	require.True(t, at(fault.Before(fault.Batch)) && at(fault.Before(fault.Batch)))
	db.Mend()
	require.False(t, at(fault.Before(fault.Batch)))
}

func TestAFailureThatWouldNeverHappenIsRefused(t *testing.T) {
	db := txnsinktest.New(layouts...)
	for _, op := range fault.Ops() {
		switch op {
		case fault.Mark, fault.Savepoint, fault.RollbackTo, fault.Kill, fault.LedgerCreate, fault.SourceRead:
			require.PanicsWithValue(t, "txnsinktest: there is no effect "+op.String()+" in memory: a failure at it would never happen",
				func() { db.FailAfter(op) })
		default:
			db.FailAfter(op, 1)
			db.FailBefore(op, 1)
		}
	}
}

func TestAFailureTellsItsOutcome(t *testing.T) {
	db := txnsinktest.New(layouts...)
	s := open(t, db, config())
	db.FailAfter(fault.Batch)
	err := s.Write(t.Context(), event(s, 1), []byte("1"))
	require.Equal(t, xa.InDoubt, xa.OutcomeOf(err))
	require.ErrorIs(t, err, xa.ErrSessionLost)
	var injected *fault.Error
	require.ErrorAs(t, err, &injected)
	require.Equal(t, fault.After(fault.Batch), injected.Point)
	var failed *txnsink.FailedError
	require.ErrorAs(t, s.Flush(t.Context()), &failed)
	require.Empty(t, db.Prepared())
}

// A decision whose write stays in doubt is what the store says it is, once it is opened again.
func TestADecisionInDoubtIsSettledByTheNextOpen(t *testing.T) {
	for _, c := range []struct {
		name     string
		fail     func(*txnsinktest.DB)
		position string
		rows     int
	}{
		{"stored", func(db *txnsinktest.DB) { db.FailAfter(fault.DecisionWrite, txnsinktest.EachTime) }, "1", 1},
		{"not stored", func(db *txnsinktest.DB) { db.FailBefore(fault.DecisionWrite, txnsinktest.EachTime) }, "0", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := txnsinktest.New(layouts...)
			cfg := config()
			cfg.DecisionTimeout = 20 * time.Millisecond
			s := open(t, db, cfg)
			require.NoError(t, s.Write(t.Context(), event(s, 1), []byte("1")))
			c.fail(db)
			require.ErrorIs(t, s.Checkpoint(t.Context()), txnsink.ErrInDoubt)
			require.Empty(t, db.Rows("events"), "nothing that it lists may be committed")
			require.Len(t, db.Prepared(), 1)
			require.NoError(t, s.Close())
			db.Mend()
			s = open(t, db, config())
			require.Equal(t, c.position, string(s.Position()))
			require.Len(t, db.Rows("events"), c.rows)
			require.Empty(t, db.Prepared())
		})
	}
}

func TestAShortFailureOfTheStoreIsRepeatedInSilence(t *testing.T) {
	db := txnsinktest.New(layouts...)
	s := open(t, db, config())
	require.NoError(t, s.Write(t.Context(), event(s, 1), []byte("1")))
	db.FailAfter(fault.DecisionWrite)
	require.NoError(t, s.Checkpoint(t.Context()))
	require.Equal(t, uint64(1), s.Stats().DecisionsRepeated)
	require.Len(t, db.Rows("events"), 1)
}

func TestRowsAreTextByColumnInTheOrderOfTheKey(t *testing.T) {
	db := txnsinktest.New(
		txnsink.Layout{Name: "pairs", Key: []string{"n", "name"}, Columns: []txnsink.LayoutColumn{
			{Name: "name", Type: "varchar(9)"}, {Name: "n", Type: "int"}, {Name: "note", Type: "text", Nullable: true}}},
		txnsink.Layout{Name: "logs", Columns: []txnsink.LayoutColumn{{Name: "line", Type: "varbinary(9)"}}},
	)
	cfg := config()
	cfg.Tables = []txnsink.Table{{Name: "pairs"}, {Name: "logs"}}
	s := open(t, db, cfg)
	b := s.Batch()
	for _, n := range []int64{10, 9, -1} {
		for _, name := range []string{"b", "a"} {
			b.Insert("pairs").String(name).Int64(n).Null()
		}
		b.Insert("logs").Bytes([]byte{byte(n), 0})
	}
	b.Insert("logs").Bytes([]byte{9, 0}) // no key: no duplicate
	require.NoError(t, s.Write(t.Context(), b, []byte("1")))
	require.NoError(t, s.Finish(t.Context()))
	require.Equal(t, []txnsinktest.Row{
		{"n": "-1", "name": "a"}, {"n": "-1", "name": "b"}, {"n": "9", "name": "a"}, {"n": "9", "name": "b"},
		{"n": "10", "name": "a"}, {"n": "10", "name": "b"},
	}, db.Rows("pairs"))
	require.Equal(t, []txnsinktest.Row{{"line": "\x0a\x00"}, {"line": "\x09\x00"}, {"line": "\xff\x00"}, {"line": "\x09\x00"}}, db.Rows("logs"))
	require.Equal(t, db.Rows("logs"), db.Rows("main.logs"))
	require.PanicsWithValue(t, `txnsinktest: there is no table "log": there are ["main.logs" "main.pairs"]`, func() { db.Rows("log") })
}

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

func TestRecoveryTellsWhatItFound(t *testing.T) {
	db := txnsinktest.New(layouts...)
	s := open(t, db, config())
	require.NoError(t, s.Write(t.Context(), event(s, 1), []byte("1")))
	require.NoError(t, s.Flush(t.Context()))
	require.NoError(t, s.Write(t.Context(), event(s, 2), []byte("2")))
	db.FailAfter(fault.Commit)
	require.Error(t, s.Checkpoint(t.Context()))
	require.NoError(t, s.Close())
	cfg := config()
	var first *state.Decision
	cfg.Observer.Decided = func(d state.Decision, _ txnsink.Reason) {
		if first == nil {
			first = &d
		}
	}
	s = open(t, db, cfg)
	r := s.Recovered()
	require.Equal(t, []int{1, 1, 0, 0}, []int{r.Already, r.Committed, r.RolledBack, r.Foreign})
	require.Equal(t, "2", string(s.Position()))
	require.Equal(t, uint64(3), first.Number)
	require.Equal(t, uint64(2), first.Whole)
	require.Contains(t, first.Lanes, state.Lane{Number: recovery.FirstLane, Epoch: 1, Seq: 2, Tables: []string{"main.events"}})
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

func TestSplittingStopsWhereRoomForTheBarrierEnds(t *testing.T) {
	db := txnsinktest.New(layouts...)
	cfg := config()
	cfg.MaxPending, cfg.Tables[0].MaxSegmentRows = 4, 1 // 3 lanes
	s := open(t, db, cfg)
	require.NoError(t, s.Write(t.Context(), event(s, 1), []byte("1")))
	require.Len(t, db.Prepared(), 1)
	require.NoError(t, s.Write(t.Context(), event(s, 2), []byte("2")))
	require.Len(t, db.Rows("events"), 2, "a checkpoint was cut instead")
	require.Equal(t, map[txnsink.Reason]uint64{txnsink.ReasonOpening: 1, txnsink.ReasonSize: 1}, s.Stats().Checkpoints)
	require.Equal(t, "2", string(s.Committed()))
}

func TestAStatementHasAtMostBatchRows(t *testing.T) {
	db := txnsinktest.New(layouts...)
	cfg := config()
	cfg.BatchRows = 2
	var seen fault.Recorder
	cfg.Faults = &seen
	s := open(t, db, cfg)
	b := s.Batch()
	for id := range int64(5) {
		b.Upsert("orders").Int64(id).Null()
	}
	b.Delete("orders").Int64(0)
	require.NoError(t, s.Write(t.Context(), b, []byte("1")))
	require.Equal(t, 4, seen.Count(fault.Before(fault.Batch)))
}

func TestSegmentsAreFullByBytesToo(t *testing.T) {
	db := txnsinktest.New(layouts...)
	cfg := config()
	cfg.MaxSegmentBytes = 14
	s := open(t, db, cfg)
	require.NoError(t, s.Write(t.Context(), event(s, 1), []byte("1"))) // (1,'e')
	require.Empty(t, db.Prepared())
	require.NoError(t, s.Write(t.Context(), event(s, 2), []byte("2")))
	require.Len(t, db.Prepared(), 1)
}

func TestABranchOfAnotherJobIsLeftAlone(t *testing.T) {
	db := txnsinktest.New(layouts...)
	other := config()
	other.Job, other.Store = "other", state.NewMemory()
	o := open(t, db, other)
	require.NoError(t, o.Write(t.Context(), event(o, 100), []byte("1")))
	require.NoError(t, o.Flush(t.Context()))
	left := db.Prepared()
	require.Len(t, left, 1)
	s := open(t, db, config())
	require.Equal(t, 1, s.Recovered().Foreign)
	require.NoError(t, s.Write(t.Context(), event(s, 1), []byte("1")))
	require.NoError(t, s.Finish(t.Context()))
	require.Equal(t, left, db.Prepared())
}

func TestWithDatabaseGoneRowsAreLostAndNotForgotten(t *testing.T) {
	db := txnsinktest.New(layouts...)
	s := open(t, db, config())
	require.NoError(t, s.Write(t.Context(), event(s, 1), []byte("1")))
	db.FailBefore(fault.Commit)
	require.Error(t, s.Checkpoint(t.Context()))
	require.NoError(t, s.Close())
	empty := txnsinktest.New(layouts...)
	cfg := config()
	cfg.Store = db.Store()
	_, err := empty.Open(t.Context(), cfg)
	var lost *txnsink.LostError
	require.ErrorAs(t, err, &lost)
	require.Len(t, lost.Lost, 1)
	require.Equal(t, db.Prepared()[0], lost.Lost[0].ID)
	require.Equal(t, uint64(1), lost.Lost[0].Range.Rows)
	require.Equal(t, uint64(2), lost.Decision)
	require.ErrorContains(t, err, "1 branch is lost")

	s = open(t, db, config())
	require.NoError(t, s.Finish(t.Context()))
	require.Len(t, db.Rows("events"), 1)
	_, err = txnsinktest.New(layouts...).Open(t.Context(), cfg)
	var stop *recovery.Stop
	require.ErrorAs(t, err, &stop)
	require.Equal(t, recovery.StopTakenBack, stop.Kind)
}

func TestProblemsOfConfigurationAndLayoutsComeAllAtOnce(t *testing.T) {
	db := txnsinktest.New(txnsink.Layout{Name: "events", Columns: []txnsink.LayoutColumn{{Name: "id", Type: "serial"}}})
	cfg := config()
	cfg.Job, cfg.BatchRows = "Job", -1
	_, err := db.Open(t.Context(), cfg)
	var problems *txnsink.ConfigError
	require.ErrorAs(t, err, &problems)
	for _, want := range []string{"Job: ", "BatchRows is -1", "column id has type serial, which is not supported",
		"table totals: there is no layout of it"} {
		require.ErrorContains(t, err, want)
	}
	cfg = config()
	cfg.Start = nil
	_, err = txnsinktest.New(layouts...).Open(t.Context(), cfg)
	require.ErrorAs(t, err, &problems)
	require.ErrorContains(t, err, "Start")
}

func TestWhatHappensIsTold(t *testing.T) {
	db := txnsinktest.New(layouts...)
	cfg := config()
	var told []string
	cfg.Observer = txnsink.Observer{
		Recovered: func(recovery.Report) { told = append(told, "recovered") },
		Prepared: func(id xa.ID, rows int64) {
			told = append(told, "prepared "+id.String()+" "+strconv.FormatInt(rows, 10))
		},
		Decided:         func(_ state.Decision, why txnsink.Reason) { told = append(told, "decided "+string(why)) },
		BranchCommitted: func(id xa.ID) { told = append(told, "committed "+id.String()) },
		Committed:       func(p []byte) { told = append(told, "position "+string(p)) },
	}
	s := open(t, db, cfg)
	b := s.Batch()
	fill(b, 0)
	require.NoError(t, s.Write(t.Context(), b, []byte("1")))
	require.NoError(t, s.Flush(t.Context()))
	stats := s.Stats()
	require.Equal(t, int64(2), stats.OpenRows)
	require.Equal(t, 1, stats.Pending)
	require.Positive(t, stats.OldestPending)
	require.NoError(t, s.Checkpoint(t.Context()))
	require.Equal(t, []string{"recovered", "decided opening", "position 0", "prepared job/e1.w2.s1 2",
		"prepared job/e1.w3.s1 1", "prepared job/e1.w4.s1 1", "decided asked",
		"committed job/e1.w2.s1", "committed job/e1.w3.s1", "committed job/e1.w4.s1", "position 1"}, told)
	stats = s.Stats()
	require.Equal(t, uint64(4), stats.RowsWritten)
	require.Equal(t, uint64(4), stats.RowsCommitted)
	require.Equal(t, uint64(1), stats.Writes)
	require.Equal(t, uint64(1), stats.Flushes)
	require.Equal(t, uint64(3), stats.SegmentsPrepared)
	require.Equal(t, uint64(3), stats.BranchesCommitted)
	require.Zero(t, stats.OpenRows)
	require.Zero(t, stats.Pending)
	require.Zero(t, stats.OldestPending)
}

func TestProofRowsArePruned(t *testing.T) {
	db := txnsinktest.New(layouts...)
	for round := range 3 { // what earlier owners left is pruned as well, and no opening stops because of it
		s := open(t, db, config())
		if round > 1 {
			require.Positive(t, s.Stats().ProofsPruned, "what the owner before the last one left")
		}
		from, err := strconv.Atoi(string(s.Position()))
		require.NoError(t, err)
		for i := from; i < from+20; i++ {
			require.NoError(t, s.Write(t.Context(), event(s, i), []byte(strconv.Itoa(i+1))))
			require.NoError(t, s.Checkpoint(t.Context()))
		}
		require.Greater(t, s.Stats().ProofsPruned, uint64(15))
		require.NoError(t, s.Close())
	}
	require.Len(t, db.Rows("events"), 60)
}

func TestWhatIsPrunedIsNotNamedAgain(t *testing.T) {
	cfg := config().WriterConfig(uuid.New())
	var seen fault.Recorder
	cfg.Faults = &seen
	w, claim := begun(t, txnsinktest.New(layouts...), cfg, state.NewMemory())
	for id := range 4 {
		require.NoError(t, w.Write(t.Context(), event(w, id)))
		decide(t, w, claim)
	}
	decide(t, w, claim)
	decide(t, w, claim)
	pruned := seen.Count(fault.Before(fault.LedgerPrune))
	require.Positive(t, pruned)
	decide(t, w, claim)
	require.Equal(t, pruned, seen.Count(fault.Before(fault.LedgerPrune)))
}

// TestAnEndedContext: a context that ended stops everything but what a decision has begun.
func TestAnEndedContext(t *testing.T) {
	db := txnsinktest.New(layouts...)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := db.Open(ended, config())
	require.ErrorIs(t, err, context.Canceled)
	s := open(t, db, config())
	require.ErrorIs(t, s.Flush(t.Context()), nil)
	require.NoError(t, s.Write(t.Context(), event(s, 1), []byte("1")))
	require.ErrorIs(t, s.Checkpoint(ended), context.Canceled)
	require.Empty(t, db.Prepared())
}

// owned is a claim and the store that gave it.
type owned struct {
	state.Claim
	store uuid.UUID
}

// begun is a writer driven by hand up to its claim's own decision.
func begun(t *testing.T, db *txnsinktest.DB, cfg txnsink.WriterConfig, store *state.Memory) (txnsink.Writer, owned) {
	t.Helper()
	ctx := t.Context()
	w, err := db.NewWriter(ctx, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	info, err := store.Peek(ctx, cfg.Job)
	require.NoError(t, err)
	floor, err := w.Look(ctx, store.ID(), info)
	require.NoError(t, err)
	given, err := store.Claim(ctx, cfg.Job, state.ClaimRequest{Floor: floor, Run: uuid.New()})
	require.NoError(t, err)
	claim := owned{given, store.ID()}
	_, err = w.Recover(ctx, recovery.Owner{Job: cfg.Job, Store: store.ID(), Run: uuid.New(), Epoch: claim.Epoch()}, claim.History())
	require.NoError(t, err)
	decide(t, w, claim)
	return w, claim
}

// decide takes a checkpoint.
func decide(t *testing.T, w txnsink.Writer, claim owned) {
	t.Helper()
	part, err := w.Prepare(t.Context())
	require.NoError(t, err)
	d := accept(t, claim, part)
	require.NoError(t, w.Commit(t.Context(), d))
	require.NoError(t, w.Commit(t.Context(), d), "a repeat is a no-op")
}

func accept(t *testing.T, claim owned, part state.Part) state.Decision {
	t.Helper()
	for _, r := range part.Pending {
		require.Positive(t, r.Rows, "a branch without rows was prepared")
	}
	d := state.Next(claim.Last(), claim.Epoch(), claim.store, uuid.New(), config().Job, []state.Position{{Source: "s", Data: []byte("p")}}, part, time.Now())
	require.NoError(t, claim.Commit(t.Context(), d))
	return d
}

func TestAWriterDrivenByHand(t *testing.T) {
	db := txnsinktest.New(layouts...)
	store := state.NewMemory()
	cfg := config().WriterConfig(uuid.New())
	w, claim := begun(t, db, cfg, store)
	require.NoError(t, w.Write(t.Context(), event(w, 1)))
	require.NoError(t, w.Flush(t.Context()))
	_, err := w.Prepare(t.Context())
	require.NoError(t, err)
	require.NoError(t, w.Write(t.Context(), event(w, 2)), "a checkpoint that was given up before its decision")
	part, err := w.Prepare(t.Context())
	require.NoError(t, err)
	require.Equal(t, uint64(2), part.Pending[0].To)
	d := accept(t, claim, part)
	require.NoError(t, w.Write(t.Context(), event(w, 3)), "between decision and COMMIT")
	require.Empty(t, db.Rows("events"))
	require.NoError(t, w.Commit(t.Context(), d))
	require.Len(t, db.Rows("events"), 2)
	rows, branches := w.Held()
	require.Equal(t, []int{1, 0}, []int{int(rows), branches})
	require.ErrorContains(t, w.Finished(t.Context()), "1 rows are open")
}

func TestADecisionThatIsNotMadeOfWhatPrepareGaveIsRefused(t *testing.T) {
	db := txnsinktest.New(layouts...)
	w, claim := begun(t, db, config().WriterConfig(uuid.New()), state.NewMemory())
	require.NoError(t, w.Write(t.Context(), event(w, 1)))
	part, err := w.Prepare(t.Context())
	require.NoError(t, err)
	part.Pending[0].To++
	require.ErrorContains(t, w.Commit(t.Context(), accept(t, claim, part)), "not made of what Prepare gave")
	require.Empty(t, db.Rows("events"))
}

func TestAnAttachedDatabaseSplitsNothing(t *testing.T) {
	db := txnsinktest.NewAttached(layouts...)
	w, claim := begun(t, db, config().WriterConfig(uuid.New()), state.NewMemory())
	require.NoError(t, w.Write(t.Context(), event(w, 1)))
	require.NoError(t, w.Flush(t.Context()))
	require.Empty(t, db.Prepared())
	part, err := w.Prepare(t.Context())
	require.NoError(t, err)
	b := event(w, 2)
	require.ErrorIs(t, w.Write(t.Context(), b), txnsink.ErrNeedsCheckpoint)
	why, needed := w.NeedsCheckpoint()
	require.True(t, needed)
	require.Equal(t, txnsink.ReasonPending, why)
	require.NoError(t, w.Commit(t.Context(), accept(t, claim, part)))
	require.NoError(t, w.Write(t.Context(), b), "the same Write again")
	decide(t, w, claim)
	require.Len(t, db.Rows("events"), 2)
}

func TestAnOlderOwnerIsFencedByTheJobRow(t *testing.T) {
	db := txnsinktest.New(layouts...)
	store := state.NewMemory()
	cfg := config().WriterConfig(uuid.New())
	older, _ := begun(t, db, cfg, store)
	require.NoError(t, older.Write(t.Context(), event(older, 1)))
	slow, err := db.NewWriter(t.Context(), cfg)
	require.NoError(t, err)
	info, err := store.Peek(t.Context(), cfg.Job)
	require.NoError(t, err)
	_, err = slow.Look(t.Context(), store.ID(), info)
	require.NoError(t, err)

	newer, claim := begun(t, db, cfg, store)
	require.NoError(t, newer.Write(t.Context(), event(newer, 1)), "the older owner's open rows, and their locks, are gone")
	decide(t, newer, claim)
	_, err = older.Prepare(t.Context())
	require.ErrorIs(t, err, txnsink.ErrFenced)
	require.Empty(t, db.Prepared())
	_, err = slow.Recover(t.Context(), recovery.Owner{Job: cfg.Job, Store: store.ID(), Run: uuid.New(), Epoch: 2}, nil)
	require.ErrorIs(t, err, txnsink.ErrFenced, "the job row changed since it was looked at")
	require.NoError(t, slow.Close())
	require.Len(t, db.Rows("events"), 1)
}

func TestWritersKeepTheOrderOfCalls(t *testing.T) {
	for _, mode := range []txnsink.Mode{txnsink.ExactlyOnce, txnsink.AtLeastOnce} {
		cfg := config().WriterConfig(uuid.New())
		cfg.Mode = mode
		for name, call := range map[string]func(txnsink.Writer) error{
			"write":   func(w txnsink.Writer) error { return w.Write(t.Context(), event(w, 1)) },
			"prepare": func(w txnsink.Writer) error { _, err := w.Prepare(t.Context()); return err },
			"commit":  func(w txnsink.Writer) error { return w.Commit(t.Context(), state.Decision{}) },
			"recover": func(w txnsink.Writer) error {
				_, err := w.Recover(t.Context(), recovery.Owner{Job: cfg.Job}, nil)
				return err
			},
		} {
			w, err := txnsinktest.New(layouts...).NewWriter(t.Context(), cfg)
			require.NoError(t, err)
			first := call(w)
			require.Error(t, first, "%s %s", mode, name)
			var failed *txnsink.FailedError
			require.ErrorAs(t, call(w), &failed)
			require.Equal(t, first, failed.Cause)
			require.NoError(t, w.Close())
			require.NoError(t, w.Close())
			require.ErrorIs(t, call(w), txnsink.ErrClosed)
		}
	}
}

func TestTwoGoroutinesAreDetected(t *testing.T) {
	for _, mode := range []txnsink.Mode{txnsink.ExactlyOnce, txnsink.AtLeastOnce} {
		db := txnsinktest.New(layouts...)
		cfg := config().WriterConfig(uuid.New())
		cfg.Mode = mode
		entered, release := make(chan struct{}), make(chan struct{})
		cfg.Faults = waits{entered, release}
		w, err := db.NewWriter(t.Context(), cfg)
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() { _, err := w.Look(context.Background(), uuid.New(), state.Info{}); done <- err }()
		<-entered
		require.ErrorIs(t, w.Sweep(t.Context()), txnsink.ErrConcurrentUse)
		require.ErrorIs(t, w.Close(), txnsink.ErrConcurrentUse)
		_ = w.Stats()
		close(release)
		require.NoError(t, <-done)
		require.NoError(t, w.Close())
	}
}

// waits holds the first Recover.
type waits struct{ entered, release chan struct{} }

func (w waits) At(_ context.Context, p fault.Point) error {
	if p == fault.Before(fault.Recover) {
		close(w.entered)
		<-w.release
	}
	return nil
}

func (w waits) String() string { return "waits" }

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

var errTest = errors.New("test")

func TestTheInjectorOfTheConfigurationActsToo(t *testing.T) {
	db := txnsinktest.New(layouts...)
	cfg := config()
	cfg.Faults = fault.FailAt(fault.Before(fault.End), 1, errTest)
	s := open(t, db, cfg)
	require.NoError(t, s.Write(t.Context(), event(s, 1), []byte("1")))
	require.ErrorIs(t, s.Flush(t.Context()), errTest)
}
