package writertest

import (
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/xa"
)

var faultStories = []entry{
	{"a prepare in doubt fails the writer, and recovery decides", exactlyOnce | faults, prepareInDoubt},
	{"a prepare that was never sent fails the writer, and nothing is left", exactlyOnce | faults, prepareNotSent},
	{"a commit in doubt leaves its branch to the next recovery at the latest", exactlyOnce | faults, commitInDoubt},
	{"a recovery that dies is followed by another", exactlyOnce | faults, recoveryDies},
}

func failing(p fault.Point, nth int) func(*txnsink.WriterConfig) {
	return func(c *txnsink.WriterConfig) { c.Faults = fault.FailAt(p, nth, nil) }
}

func prepareInDoubt(s *story) {
	l := s.begin(failing(fault.After(fault.Prepare), 1))
	l.write(event(1))
	_, err := l.Prepare(s.Context())
	require.Equal(s, xa.InDoubt, xa.OutcomeOf(err), "%v", err)
	require.NotNil(s, failedOf(l.Flush(s.Context())), "only Close is left")
	l.crash()
	l = s.begin()
	require.Equal(s, 1, l.report.RolledBack, "it was prepared, and no decision lists it")
	l.write(event(1))
	l.checkpoint()
	s.sees([]int64{1}, nil, "once")
}

func prepareNotSent(s *story) {
	l := s.begin(failing(fault.Before(fault.Prepare), 1))
	l.write(event(1))
	_, err := l.Prepare(s.Context())
	require.Error(s, err)
	l.crash()
	l = s.begin()
	require.Zero(s, l.report.RolledBack)
	l.write(event(1))
	l.checkpoint()
	s.sees([]int64{1}, nil, "once")
}

// A writer may find out for itself, or fail; but it may not believe what it does not know.
func commitInDoubt(s *story) {
	for i, p := range []fault.Point{fault.Before(fault.Commit), fault.After(fault.Commit)} {
		n := int64(i)
		l := s.begin(failing(p, 1))
		l.write(event(n), order(n, "a"))
		err := l.Commit(s.Context(), l.accept(l.part()))
		if err == nil {
			l.holds(0, 0, "Commit returned")
		}
		l.crash()
		if err == nil {
			require.Empty(s, s.prepared(), "Commit proved it")
		}
		s.begin().crash()
		require.Len(s, s.h.Content().Events, i+1, "each once")
		require.Empty(s, s.prepared())
	}
}

// Its first XA RECOVER is Look's.
func recoveryDies(s *story) {
	l := s.begin()
	l.write(event(1), order(1, "a"))
	l.accept(l.part())
	l.crash()
	w := s.writer(failing(fault.Before(fault.Recover), 2))
	floor, err := s.look(w)
	require.NoError(s, err)
	claim, owner := s.claim(floor)
	_, err = w.Recover(s.Context(), owner, claim.History())
	require.Error(s, err)
	_, err = w.Prepare(s.Context())
	require.NotNil(s, failedOf(err), "only Close is left: %v", err)
	require.NoError(s, w.Close())
	l = s.begin()
	require.Equal(s, 2, l.report.Committed+l.report.Already)
	s.sees([]int64{1}, map[int64]string{1: "a"}, "the next one finishes it")
}
