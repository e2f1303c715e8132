package writertest

import (
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/xa"
)

var recoveryStories = []entry{
	{"close prepares and commits nothing", exactlyOnce, closeCommitsNothing},
	{"close leaves prepared branches", exactlyOnce, closeLeavesPrepared},
	{"what no decision lists is rolled back, and its rows count once", exactlyOnce, unlistedIsRolledBack},
	{"what a decision lists is committed by the next recovery", exactlyOnce, listedIsCommitted},
	{"what was committed before a crash is not committed again", exactlyOnce, committedIsNoOp},
	{"recovery is told to the observer", 0, recoveryIsTold},
	{"rows in no decision are written again", atLeastOnce, rowsAgain},
	{"an orphan of an older owner is rolled back, another job's branch is not", orphans, orphanOfOlderOwner},
	{"a branch of a later epoch stops the opening", orphans, laterBranchStops},
	{"a sweep rolls back late orphans and nothing else", exactlyOnce | orphans, sweepRollsBack},
	{"a sweep stops at a branch of a later epoch", orphans, sweepStops},
}

func closeCommitsNothing(s *story) {
	l := s.begin()
	l.write(event(1), order(1, "a"))
	l.crash()
	s.seesNothing("rows in open branches are gone")
	require.Empty(s, s.prepared())
}

func closeLeavesPrepared(s *story) {
	l := s.begin()
	l.write(event(1), order(1, "a"))
	p := l.part()
	l.crash()
	require.Equal(s, l.listed(p), s.prepared())
	s.seesNothing("they are not committed")
}

func unlistedIsRolledBack(s *story) {
	l := s.begin()
	l.write(event(1), order(1, "a"))
	l.part()
	l.crash()
	l = s.begin()
	require.Equal(s, 2, l.report.RolledBack)
	require.Empty(s, s.prepared())
	s.seesNothing("the source sends them again")
	l.write(event(1), order(1, "a"))
	l.checkpoint()
	s.sees([]int64{1}, map[int64]string{1: "a"}, "once")
}

func listedIsCommitted(s *story) {
	l := s.begin()
	l.write(event(1), order(1, "a"))
	l.accept(l.part())
	l.crash()
	s.seesNothing("Commit was not called")
	l = s.begin()
	require.Equal(s, 2, l.report.Committed)
	require.Empty(s, l.report.Part.Pending, "nothing is left for the claim's own decision")
	require.Empty(s, s.prepared())
	s.sees([]int64{1}, map[int64]string{1: "a"}, "after recovery")
	l.write(order(1, "b"))
	l.checkpoint()
	s.sees([]int64{1}, map[int64]string{1: "b"}, "the locks are free")
}

func committedIsNoOp(s *story) {
	l := s.begin()
	l.write(event(1), order(1, "a"))
	l.checkpoint()
	l.crash()
	l = s.begin()
	require.Zero(s, l.report.Committed)
	require.Equal(s, 2, l.report.Already)
	s.sees([]int64{1}, map[int64]string{1: "a"}, "once")
	l.crash()
	l = s.begin()
	require.Zero(s, l.report.Already, "the claim's own decision lists nothing")
}

func recoveryIsTold(s *story) {
	var told []recovery.Report
	l := s.begin(func(c *txnsink.WriterConfig) {
		c.Observer.Recovered = func(r recovery.Report) { told = append(told, r) }
	})
	require.Equal(s, []recovery.Report{l.report}, told)
}

func rowsAgain(s *story) {
	l := s.begin()
	l.write(order(1, "a"))
	require.NoError(s, l.Flush(s.Context()))
	l.write(order(1, "b"))
	l.crash()
	l = s.begin()
	l.write(order(1, "a"))
	l.write(order(1, "b"))
	l.checkpoint()
	s.sees(nil, map[int64]string{1: "b"}, "an upsert that overwrites does not mind")
}

func orphanOfOlderOwner(s *story) {
	s.begin().crash()
	orphan := xa.ID{Job: s.h.Job, Epoch: 1, Lane: recovery.FirstLane, Seq: 1000}
	foreign := orphan
	foreign.Job += "x"
	s.h.Orphan(orphan, 1)
	s.h.Orphan(foreign, 2)
	l := s.begin()
	require.Equal(s, 1, l.report.RolledBack)
	require.GreaterOrEqual(s, l.report.Foreign, 1)
	require.Empty(s, s.prepared())
	l.write(event(1))
	l.checkpoint()
	s.sees([]int64{1}, nil, "its locks are free")
}

func laterBranchStops(s *story) {
	s.begin().crash()
	s.h.Orphan(xa.ID{Job: s.h.Job, Epoch: 9, Lane: recovery.FirstLane, Seq: 1}, 1)
	_, err := s.look(s.writer())
	var stop *recovery.Stop
	require.ErrorAs(s, err, &stop)
	require.Equal(s, recovery.StopLaterBranch, stop.Kind)
}

func sweepRollsBack(s *story) {
	s.begin().crash()
	l := s.begin()
	l.write(event(1))
	own := l.listed(l.part())
	s.h.Orphan(xa.ID{Job: s.h.Job, Epoch: 1, Lane: recovery.FirstLane, Seq: 1000}, 2)
	require.Len(s, s.prepared(), 2)
	require.NoError(s, l.Sweep(s.Context()))
	require.Equal(s, own, s.prepared(), "branches of the own epoch are left alone")
	require.Equal(s, uint64(1), l.Stats().OrphansRolledBack)
	l.checkpoint()
	s.sees([]int64{1}, nil, "the orphan's row is gone")
}

func sweepStops(s *story) {
	l := s.begin()
	s.h.Orphan(xa.ID{Job: s.h.Job, Epoch: l.owner.Epoch + 5, Lane: recovery.FirstLane, Seq: 1}, 1)
	require.ErrorIs(s, l.Sweep(s.Context()), txnsink.ErrFenced)
}
