package writertest

import (
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
)

var openingStories = []entry{
	{"look creates nothing and ends nobody", 0, lookChangesNothing},
	{"a job of another store is not to be claimed", 0, otherStoreStops},
	{"an old copy of the store is not to be claimed", 0, oldStoreStops},
	{"recover comes after look", 0, recoverAfterLook},
	{"recover is for the writer's own job", 0, recoverForOwnJob},
	{"recover is done once", 0, recoverOnce},
	{"a new job has nothing to recover", 0, newJobRecoversNothing},
	{"nothing is written before the claim's own decision", 0, nothingBeforeOwnDecision},
	{"prepare and commit come after recover", 0, checkpointAfterRecover},
}

func lookChangesNothing(s *story) {
	floor, err := s.look(s.writer())
	require.NoError(s, err)
	require.Zero(s, floor, "nobody knows the job")
	floor, err = s.look(s.writer())
	require.NoError(s, err)
	require.Zero(s, floor, "a look leaves nothing behind")

	l := s.begin()
	l.write(event(1))
	floor, err = s.look(s.writer())
	require.NoError(s, err)
	require.GreaterOrEqual(s, floor, l.owner.Epoch, "a claim has to be above every epoch that is known")
	l.write(event(2))
	l.checkpoint()
	s.sees([]int64{1, 2}, nil, "the owner that was looked at goes on")
}

func otherStoreStops(s *story) {
	l := s.begin()
	l.write(event(1))
	_, err := s.writer().Look(s.Context(), uuid.New(), state.Info{})
	var stop *recovery.Stop
	require.ErrorAs(s, err, &stop)
	require.Equal(s, recovery.StopOtherStore, stop.Kind)
	l.checkpoint()
	s.sees([]int64{1}, nil, "the owner goes on")
}

func oldStoreStops(s *story) {
	s.begin().crash()
	_, err := s.writer().Look(s.Context(), s.store.ID(), state.Info{})
	var stop *recovery.Stop
	require.ErrorAs(s, err, &stop)
	require.Equal(s, recovery.StopOldStore, stop.Kind)
}

func recoverAfterLook(s *story) {
	w := s.writer()
	_, owner := s.claim(0)
	_, err := w.Recover(s.Context(), owner, nil)
	require.Error(s, err)
	_, err = s.look(w)
	require.NotNil(s, failedOf(err), "only Close is left: %v", err)
}

func recoverForOwnJob(s *story) {
	w := s.writer()
	_, err := s.look(w)
	require.NoError(s, err)
	_, owner := s.claim(0)
	owner.Job += "x"
	_, err = w.Recover(s.Context(), owner, nil)
	require.Error(s, err)
}

func recoverOnce(s *story) {
	l := s.recovered()
	_, err := l.Recover(s.Context(), l.owner, nil)
	require.Error(s, err, "a new claim needs a new Writer")
}

func newJobRecoversNothing(s *story) {
	l := s.recovered()
	for _, a := range l.report.Actions {
		require.Equal(s, recovery.ActionUntouched, a.Kind, "branches of others are left alone")
	}
	require.Empty(s, l.report.Part.Pending)
	require.NotEmpty(s, l.report.Part.Server.Name, "the server is named")
	p := l.part()
	require.Empty(s, p.Pending)
	require.Equal(s, l.report.Part.Server, p.Server)
	l.holds(0, 0, "nothing was written")
}

func nothingBeforeOwnDecision(s *story) {
	l := s.recovered()
	require.Error(s, l.Write(s.Context(), batch(l, event(1))), "no branch may carry the claim's epoch yet")
	require.Empty(s, s.prepared())
	l.crash()

	l = s.recovered()
	l.accept(l.part())
	require.Error(s, l.Write(s.Context(), batch(l, event(1))), "the decision is stored, and Commit was not told of it")
	require.Empty(s, s.prepared())
	s.seesNothing("nothing was written")
}

func checkpointAfterRecover(s *story) {
	w := s.writer()
	_, err := w.Prepare(s.Context())
	require.Error(s, err)
	require.Error(s, s.writer().Commit(s.Context(), state.Decision{}))
}
