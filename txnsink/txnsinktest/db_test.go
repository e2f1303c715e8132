package txnsinktest_test

import (
	"strconv"
	"testing"

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
	require.Zero(t, stats.OpenRows)
	require.Equal(t, 3, stats.Pending)
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
