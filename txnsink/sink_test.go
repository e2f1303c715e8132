package txnsink

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

func TestF01_RowsAreInvisibleUntilTheCheckpoint(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		r := newRig(t, server)
		s := r.open()
		write(t, s, 0)
		require.Zero(t, r.visible("events"))
		require.NoError(t, s.Checkpoint(t.Context()))
		r.verify(1)
		require.Equal(t, "1", string(s.Committed()))
	})
}

func TestF02_F03_AFlushPreparesAndOnlyTheCheckpointCommits(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	r.change = insertOnly
	s := r.open()
	insert(t, s, 0)
	require.NoError(t, s.Flush(t.Context()))
	insert(t, s, 1)
	require.NoError(t, s.Flush(t.Context()))
	require.Zero(t, r.visible("events"), "a flush signal never commits")
	require.ElementsMatch(t, ids(r.job, 1, recovery.FirstLane, 1, 2), r.server.Prepared(t, r.job))
	require.NoError(t, s.Checkpoint(t.Context()))
	require.Equal(t, int64(2), r.visible("events"))
	require.Empty(t, r.server.Prepared(t, r.job))
}

func TestF05_F07_F08_CloseLeavesPreparedBranchesToRecoveryAndNoOpenOnes(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	r.change = insertOnly
	s := r.open()
	insert(t, s, 0)
	require.NoError(t, s.Flush(t.Context()))
	insert(t, s, 1)
	require.NoError(t, s.Close())
	require.Zero(t, r.visible("events"))
	require.Equal(t, ids(r.job, 1, recovery.FirstLane, 1), r.server.Prepared(t, r.job), "prepared stays, open is gone")

	s = r.open()
	require.Equal(t, 1, s.Recovered().RolledBack, "no decision lists it")
	require.Equal(t, "0", string(s.Position()))
	require.Empty(t, r.server.Prepared(t, r.job))
	insert(t, s, 0)
	insert(t, s, 1)
	require.NoError(t, s.Finish(t.Context()))
	require.Equal(t, int64(2), r.visible("events"))
}

func TestF09_F10_WhatADecisionListsIsCommittedDuringOpen(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		r := newRig(t, server)
		r.faults = fault.FailAt(fault.Before(fault.Commit), 1, errors.New("the link is cut"))
		// The committer may not try again in this process.
		r.change = func(c *Config) { c.CommitTimeout = 10 * time.Millisecond }
		s, err := Open(t.Context(), r.config())
		require.NoError(t, err)
		write(t, s, 0)
		require.Error(t, s.Checkpoint(t.Context()))
		require.NoError(t, s.Close())

		r.faults, r.change = nil, nil
		s = r.open()
		require.Equal(t, "1", string(s.Position()))
		require.Equal(t, 3, s.Recovered().Committed+s.Recovered().Already, "one branch for each lane")
		r.verify(1)
		write(t, s, 1)
		require.NoError(t, s.Finish(t.Context()))
		r.verify(2)
	})
}

func TestF11_F12_ReplayFromAnOlderPositionCountsOnce(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		r := newRig(t, server)
		s := r.open()
		require.NoError(t, run(t.Context(), s, 5, 0, 3))
		require.NoError(t, s.Close())
		s = r.open()
		require.Equal(t, "3", string(s.Position()), "Writes 3 and 4 were in no decision")
		require.NoError(t, run(t.Context(), s, 7, 0, 0))
		require.NoError(t, s.Finish(t.Context()))
		r.verify(7)
	})
}

func TestF19_F20_K08_G038_CheckpointsWithoutRowsLeaveNoBranch(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	recorder := &fault.Recorder{}
	r.faults = recorder
	s := r.open()
	for range 10 {
		require.NoError(t, s.Flush(t.Context()))
		require.NoError(t, s.Checkpoint(t.Context()))
	}
	require.Zero(t, recorder.Count(fault.Before(fault.Start)))
	require.NoError(t, s.Write(t.Context(), nil, []byte("7")), "an empty batch moves only the position")
	require.NoError(t, s.Checkpoint(t.Context()))
	require.Equal(t, "7", string(s.Committed()))
	require.Zero(t, recorder.Count(fault.Before(fault.Start)))
	require.NoError(t, s.Finish(t.Context()))
}

func TestT14_IdleLanesGetNoBranch(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	recorder := &fault.Recorder{}
	r.faults = recorder
	s := r.open()
	insert(t, s, 0)
	require.NoError(t, s.Checkpoint(t.Context()))
	require.Equal(t, 1, recorder.Count(fault.After(fault.Prepare)), "one of three lanes had rows")
	require.NoError(t, s.Finish(t.Context()))
}

func TestMaxSegmentRowsSplitsLanesAndCutsThoseThatCannotBeSplit(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	servertest.Exec(t, r.db, "CREATE TABLE `"+r.database+"`.tree (id BIGINT PRIMARY KEY, up BIGINT, FOREIGN KEY (up) REFERENCES tree (id))")
	r.change = func(c *Config) { c.MaxSegmentRows, c.Tables = 4, append(c.Tables, Table{Name: "tree"}) }
	s := r.open()
	for i := range 4 {
		insert(t, s, i)
	}
	require.Len(t, r.server.Prepared(t, r.job), 1, "four rows close a segment")
	b := s.Batch()
	for i := range 4 {
		b.Upsert("orders").Int64(int64(i)).String("x")
	}
	require.NoError(t, s.Write(t.Context(), b, []byte("5")))
	require.Len(t, r.server.Prepared(t, r.job), 2, "of upserts as well")
	b = s.Batch()
	for i := range 4 {
		b.Insert("tree").Int64(int64(i)).Null()
	}
	require.Zero(t, r.visible("events"))
	require.NoError(t, s.Write(t.Context(), b, []byte("6")))
	require.Equal(t, int64(4), r.visible("tree"), "a lane with foreign keys cannot be split and cuts a checkpoint")
	require.Equal(t, int64(4), r.visible("orders"))
	require.Equal(t, int64(4), r.visible("events"))
	require.Equal(t, uint64(1), s.Stats().Checkpoints[ReasonSize])
	require.NoError(t, s.Finish(t.Context()))
}

func TestMaxPendingStopsSplittingAndNothingWaits(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	r.change = func(c *Config) { insertOnly(c); c.MaxPending = 3 }
	s := r.open()
	for i := range 10 {
		insert(t, s, i)
		require.NoError(t, s.Flush(t.Context()))
		require.LessOrEqual(t, s.Stats().Pending, 3)
	}
	require.NoError(t, s.Finish(t.Context()))
	require.Equal(t, int64(10), r.visible("events"))
}

func TestTimersFlushAndCheckpointByWriteAndByTick(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	r.change = func(c *Config) {
		insertOnly(c)
		c.FlushInterval, c.CheckpointInterval = 20*time.Millisecond, 200*time.Millisecond
	}
	s := r.open()
	insert(t, s, 0)
	require.Eventually(t, func() bool { // T29: no new row is needed
		_, err := s.Tick(t.Context())
		require.NoError(t, err)
		return s.Stats().SegmentsPrepared == 1
	}, 5*time.Second, 5*time.Millisecond)
	require.Eventually(t, func() bool {
		due, err := s.Tick(t.Context())
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), due, time.Second)
		return r.visible("events") == 1
	}, 5*time.Second, 5*time.Millisecond)
	require.Equal(t, "1", string(s.Committed()))
	require.NoError(t, s.Finish(t.Context()))
}

func TestFinishedJobAcceptsNothingMoreAndAnotherOpenGoesOn(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	s := r.open()
	write(t, s, 0)
	require.NoError(t, s.Finish(t.Context()))
	require.ErrorIs(t, s.Write(t.Context(), s.Batch(), nil), ErrClosed)
	require.ErrorIs(t, s.Finish(t.Context()), ErrClosed)
	require.NoError(t, s.Close())
	r.finish(4)
}

func TestAfterAnErrorOnlyCloseIsLeft(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	s, err := Open(t.Context(), r.config())
	require.NoError(t, err)
	write(t, s, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Write(ctx, s.Batch(), []byte("2")), context.Canceled)
	var failed *FailedError
	for _, call := range []func() error{
		func() error { return s.Write(t.Context(), s.Batch(), []byte("2")) },
		func() error { return s.Flush(t.Context()) },
		func() error { return s.Checkpoint(t.Context()) },
		func() error { return s.Finish(t.Context()) },
		func() error { _, err := s.Tick(t.Context()); return err },
	} {
		require.ErrorAs(t, call(), &failed)
		require.ErrorIs(t, failed, context.Canceled)
	}
	require.NoError(t, s.Close())
	r.finish(3)
}

func TestTwoGoroutinesAreDetected(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	entered, release := make(chan struct{}), make(chan struct{})
	r.change = func(c *Config) {
		c.Observer.Decided = func(_ state.Decision, why Reason) {
			if why == ReasonAsked {
				close(entered)
				<-release
			}
		}
	}
	s := r.open()
	write(t, s, 0)
	done := make(chan error, 1)
	go func() { done <- s.Checkpoint(t.Context()) }()
	<-entered
	require.ErrorIs(t, s.Flush(t.Context()), ErrConcurrentUse)
	require.ErrorIs(t, s.Close(), ErrConcurrentUse)
	_ = s.Stats()
	close(release)
	require.NoError(t, <-done)
	require.NoError(t, s.Finish(t.Context()))
	r.verify(1)
}

func TestRowErrorNamesTableKeyAndColumnAndLosesNothing(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		r := newRig(t, server)
		s, err := Open(t.Context(), r.config())
		require.NoError(t, err)
		write(t, s, 0)
		b := s.Batch()
		fill(b, 1)
		b.Insert("events").Int64(77).String("much too long for twenty characters")
		err = s.Write(t.Context(), b, []byte("2"))
		var row *RowError
		require.ErrorAs(t, err, &row)
		require.Equal(t, "body", row.Column)
		require.Equal(t, uint16(1406), row.Code)
		require.Contains(t, row.Key, "77")
		require.Contains(t, err.Error(), "events")
		require.NoError(t, s.Close())
		r.finish(4)
	})
}

func TestPositionTooLongIsRefused(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	s, err := Open(t.Context(), r.config())
	require.NoError(t, err)
	require.ErrorContains(t, s.Write(t.Context(), nil, make([]byte, state.MaxPosition+1)), "2048")
	require.NoError(t, s.Close())
	r.finish(2)
}

func TestConfigProblemsComeAllAtOnce(t *testing.T) {
	_, err := Open(t.Context(), Config{
		Job: "Orders'", MaxPending: -1, BatchRows: -5, DetachWait: time.Millisecond, TimeZone: "Mars/Olympus", FlushInterval: -1,
		Source: strings.Repeat("s", 5000), LedgerDatabase: "MySQL",
	})
	var problems *ConfigError
	require.ErrorAs(t, err, &problems)
	for _, want := range []string{"Job", "DSN", "Store", "Start", "Tables", "MaxPending", "BatchRows", "DetachWait", "TimeZone", "FlushInterval", "Source", "LedgerDatabase"} {
		require.ErrorContains(t, err, want)
	}
}

func TestAtLeastOnceRepeatsAndSharesTheStore(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		r := newRig(t, server)
		tables := func(c *Config) {
			c.Tables = []Table{{Name: "orders", Operations: Upsert}}
			c.BatchRows = 3
		}
		r.change = func(c *Config) { tables(c); c.Mode = AtLeastOnce }
		upsert := func(s *Sink, id int) {
			b := s.Batch()
			b.Upsert("orders").Int64(int64(id)).String("v")
			require.NoError(t, s.Write(t.Context(), b, []byte(strconv.Itoa(id+1))))
		}
		s := r.open()
		upsert(s, 0)
		require.Zero(t, r.visible("orders"), "gathered")
		require.NoError(t, s.Flush(t.Context()))
		require.Equal(t, int64(1), r.visible("orders"), "a flush signal makes rows visible")
		upsert(s, 1)
		upsert(s, 2)
		upsert(s, 3)
		require.Equal(t, int64(4), r.visible("orders"), "BatchRows of them are sent")
		upsert(s, 4)
		require.NoError(t, s.Close())

		s = r.open()
		require.Equal(t, "0", string(s.Position()), "no checkpoint was taken: everything is repeated")
		for i := range 5 {
			upsert(s, i)
		}
		require.NoError(t, s.Checkpoint(t.Context()))
		require.Equal(t, int64(5), r.visible("orders"))
		require.NoError(t, s.Close())

		// The mode can be changed: the job row and the store go on.
		r.change = tables
		s = r.open()
		require.Equal(t, "5", string(s.Position()))
		upsert(s, 5)
		require.NoError(t, s.Finish(t.Context()))
		require.Equal(t, int64(6), r.visible("orders"))

		r.change = func(c *Config) { tables(c); c.Mode = AtLeastOnce }
		s = r.open()
		upsert(s, 6)
		require.NoError(t, s.Finish(t.Context()))
		require.Equal(t, int64(7), r.visible("orders"))
	})
}

func TestModeChangedAfterACrashSettlesTheBranchesFirst(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	r.change = insertOnly
	s := r.open()
	insert(t, s, 0)
	require.NoError(t, s.Flush(t.Context()))
	require.NoError(t, s.Close())
	r.change = func(c *Config) { insertOnly(c); c.Mode = AtLeastOnce }
	s = r.open()
	require.Equal(t, 1, s.Recovered().RolledBack)
	insert(t, s, 0)
	require.NoError(t, s.Finish(t.Context()))
	require.Equal(t, int64(1), r.visible("events"))
}

func TestG067_DecisionsOfAFileStoreSurvive(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		r := newRig(t, server)
		path := filepath.Join(t.TempDir(), "job.state")
		for n := 3; n <= 9; n += 3 {
			store, err := state.OpenFile(path, r.job, state.FileOptions{})
			require.NoError(t, err)
			r.change = func(c *Config) { c.Store = store }
			s := r.open()
			require.NoError(t, run(t.Context(), s, n, 2, 2))
			require.NoError(t, s.Checkpoint(t.Context()))
			require.NoError(t, s.Close())
			require.NoError(t, store.Close())
			r.verify(n)
		}
	})
}

func TestStateFileGoneStopsTheJobBeforeAnythingIsTouched(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	r.change = insertOnly
	s := r.open()
	insert(t, s, 0)
	require.NoError(t, s.Flush(t.Context()))
	require.NoError(t, s.Close())
	before := r.server.Prepared(t, r.job)
	require.Len(t, before, 1)
	r.store = state.NewMemory()
	_, err := Open(t.Context(), r.config())
	var stop *recovery.Stop
	require.ErrorAs(t, err, &stop)
	require.Equal(t, recovery.StopOtherStore, stop.Kind)
	require.Equal(t, before, r.server.Prepared(t, r.job), "nothing was rolled back")
}

func TestProofRowsArePruned(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	s := r.open()
	require.NoError(t, run(t.Context(), s, 40, 2, 2))
	require.NoError(t, s.Finish(t.Context()))
	r.verify(40)
	rows := servertest.Int(t, r.db, fmt.Sprintf("SELECT COUNT(*) FROM `%s`.branches WHERE job = ?", r.database), r.job)
	require.Positive(t, rows, "each lane keeps its highest row")
	require.LessOrEqual(t, rows, int64(20), "rows of old decisions are gone")
	require.Positive(t, s.Stats().ProofsPruned)
	require.NoError(t, r.openAndClose(), "no false stop after pruning")
	for range 3 {
		require.NoError(t, r.openAndClose())
	}
	after := servertest.Int(t, r.db, fmt.Sprintf("SELECT COUNT(*) FROM `%s`.branches WHERE job = ?", r.database), r.job)
	require.LessOrEqual(t, after, rows, "what dead owners left is pruned too")
}

func (r *rig) openAndClose() error {
	s, err := Open(r.t.Context(), r.config())
	if err != nil {
		return err
	}
	return s.Close()
}

func TestLeavesForeignBranchesAlone(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		r := newRig(t, server)
		servertest.Exec(t, r.db, fmt.Sprintf("CREATE TABLE `%s`.other (id INT PRIMARY KEY)", r.database))
		foreign := xa.XID{Format: 1, GTRID: servertest.Unique("foreign"), BQUAL: "b"}
		conn, err := r.db.Conn(t.Context())
		require.NoError(t, err)
		for _, q := range []string{
			"XA START " + foreign.SQL(), fmt.Sprintf("INSERT INTO `%s`.other VALUES (1)", r.database),
			"XA END " + foreign.SQL(), "XA PREPARE " + foreign.SQL(),
		} {
			_, err := conn.ExecContext(t.Context(), q)
			require.NoError(t, err)
		}
		t.Cleanup(func() {
			_, err := conn.ExecContext(context.WithoutCancel(t.Context()), "XA ROLLBACK "+foreign.SQL())
			require.NoError(t, errors.Join(err, conn.Close()))
		})
		s := r.open()
		require.NoError(t, run(t.Context(), s, 4, 1, 2))
		require.NoError(t, s.Close())
		r.finish(8)
		require.Contains(t, r.server.Scan(t), foreign)
	})
}
