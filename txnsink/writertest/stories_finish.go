package writertest

import (
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/xa"
)

var finishStories = []entry{
	{"a job is finished when nothing is left", 0, finishedWhenNothingIsLeft},
	{"with rows open a job is not finished", 0, notFinishedWithRows},
	{"with a branch pending a job is not finished", exactlyOnce, notFinishedWithBranches},
	{"what a dead owner left is rolled back before a job is finished", orphans, finishedRollsBackOrphans},
	{"on a server that restarted a job is not finished", restarts, notFinishedAfterRestart},
}

func finishedWhenNothingIsLeft(s *story) {
	l := s.begin()
	require.NoError(s, l.Finished(s.Context()), "nothing was written")
	l.write(event(1))
	l.checkpoint()
	require.NoError(s, l.Finished(s.Context()))
	require.Empty(s, s.prepared())
}

func notFinishedWithRows(s *story) {
	l := s.begin()
	l.write(event(1))
	l.holds(1, 0, "one row is open")
	require.Error(s, l.Finished(s.Context()))
}

func notFinishedWithBranches(s *story) {
	l := s.begin()
	l.write(event(1))
	l.part()
	l.holds(0, 1, "one branch is pending")
	require.Error(s, l.Finished(s.Context()))
	require.Len(s, s.prepared(), 1)
}

func finishedRollsBackOrphans(s *story) {
	s.begin().crash()
	l := s.begin()
	s.h.Orphan(xa.ID{Job: s.h.Job, Epoch: 1, Lane: recovery.FirstLane, Seq: 1000}, 1)
	require.NoError(s, l.Finished(s.Context()))
	require.Empty(s, s.prepared())
}

func notFinishedAfterRestart(s *story) {
	l := s.begin()
	l.write(event(1))
	l.checkpoint()
	s.h.Restart()
	require.Error(s, l.Finished(s.Context()), "only recovery may trust a server that restarted")
}
