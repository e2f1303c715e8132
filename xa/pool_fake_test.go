package xa_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/xa"
)

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }

func (f *fake) holds(m xa.Mark) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, held := f.locks[m.Name()]
	return held
}

func TestTakeHandsOutIdleSessionsOfTheLaneOnly(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t)
	a := take(t, p)
	require.Equal(t, xa.Mark{Job: fakeJob, Lane: 0, N: 0}, a.Mark())
	p.Return(a)
	b, err := p.Take(t.Context(), 1)
	require.NoError(t, err)
	require.NotSame(t, a, b)
	require.Equal(t, xa.Mark{Job: fakeJob, Lane: 1, N: 0}, b.Mark())
	require.Same(t, a, take(t, p))
	c := take(t, p)
	require.Equal(t, xa.Mark{Job: fakeJob, Lane: 0, N: 1}, c.Mark())
	require.Equal(t, 3, p.Sessions())
	require.NoError(t, p.Discard(t.Context(), a))
	require.Equal(t, 2, p.Sessions())
	require.Equal(t, a.Mark(), take(t, p).Mark(), "a mark that became free is taken again")
}

// TestG004_AnIdleSessionThatDiedIsReplaced before XA START is sent on it (G003, G076, T55).
func TestG004_AnIdleSessionThatDiedIsReplaced(t *testing.T) {
	f := newFake("1")
	admitted := 0
	_, p := f.open(t, func(_ *xa.Config, c *xa.PoolConfig) {
		c.Admit = func(context.Context, *xa.Session) error { admitted++; return nil }
	})
	a := take(t, p)
	p.Return(a)
	f.mu.Lock()
	f.end(a.ConnectionID())
	f.mu.Unlock()
	b := take(t, p)
	require.NotEqual(t, a.ConnectionID(), b.ConnectionID())
	require.Equal(t, 2, admitted, "the new session's server was not looked at")
	require.NoError(t, b.Start(t.Context(), fakeID))
	require.Equal(t, 1, p.Sessions())
}

func TestMaxSessionsCountsIdleOnesAndThoseBeingOpened(t *testing.T) {
	f := newFake("1")
	opening, goOn := make(chan struct{}), make(chan struct{})
	var wait bool
	_, p := f.open(t, func(_ *xa.Config, c *xa.PoolConfig) {
		c.MaxSessions = 2
		c.Admit = func(context.Context, *xa.Session) error {
			if wait {
				close(opening)
				<-goOn
			}
			return nil
		}
	})
	p.Return(take(t, p))
	wait = true
	var second *xa.Session
	var all sync.WaitGroup
	all.Go(func() {
		var err error
		second, err = p.Take(t.Context(), 1)
		require.NoError(t, err)
	})
	<-opening
	_, err := p.Take(t.Context(), 2)
	require.ErrorIs(t, err, xa.ErrPoolFull)
	require.ErrorContains(t, err, "MaxSessions")
	close(goOn)
	all.Wait()
	_, err = p.Take(t.Context(), 2)
	require.ErrorIs(t, err, xa.ErrPoolFull)
	require.NoError(t, p.Discard(t.Context(), second))
	wait = false
	_, err = p.Take(t.Context(), 2)
	require.NoError(t, err)
}

func TestAdmitRefusesLeavingNothing(t *testing.T) {
	f := newFake("1")
	fenced := errors.New("fenced")
	var seen xa.Mark
	_, p := f.open(t, func(_ *xa.Config, c *xa.PoolConfig) {
		c.Admit = func(_ context.Context, s *xa.Session) error {
			seen = s.Mark()
			require.True(t, f.holds(seen), "Admit was asked before the mark was held")
			require.Equal(t, xa.None, s.State())
			return fenced
		}
	})
	_, err := p.Take(t.Context(), 5)
	require.ErrorIs(t, err, fenced)
	require.ErrorContains(t, err, "not admitted")
	require.EqualValues(t, 5, seen.Lane)
	require.False(t, f.holds(seen))
	require.Zero(t, p.Sessions())
}

func TestAdmitThatBreaksTheSession(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t, func(_ *xa.Config, c *xa.PoolConfig) {
		c.Admit = func(ctx context.Context, s *xa.Session) error {
			f.on("DELETE", errors.New("connection reset"))
			_, err := s.ExecContext(ctx, "DELETE FROM job")
			require.Error(t, err)
			return nil
		}
	})
	_, err := p.Take(t.Context(), 0)
	require.ErrorContains(t, err, "broken")
	require.Zero(t, p.Sessions())
}

func TestEveryFailureOfTakeLeavesNothing(t *testing.T) {
	for _, p := range []fault.Point{fault.Before(fault.Connect), fault.After(fault.Connect), fault.Before(fault.Mark), fault.After(fault.Mark)} {
		t.Run(p.String(), func(t *testing.T) {
			f := newFake("1")
			_, pool := f.open(t, func(c *xa.Config, _ *xa.PoolConfig) { c.Faults = fault.FailAt(p, 1, nil) })
			before := f.sessions()
			_, err := pool.Take(t.Context(), 0)
			var injected *fault.Error
			require.ErrorAs(t, err, &injected)
			require.Zero(t, pool.Sessions())
			require.LessOrEqual(t, f.sessions(), before+1, "only DB's connection may be new")
			require.False(t, f.holds(xa.Mark{Job: fakeJob}))
			require.Equal(t, xa.Mark{Job: fakeJob}, take(t, pool).Mark())
		})
	}
}

func TestTakeWithAutocommitOff(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t)
	f.mu.Lock()
	f.facts["autocommit"] = "0"
	f.mu.Unlock()
	_, err := p.Take(t.Context(), 0)
	require.ErrorContains(t, err, "autocommit")
	require.Zero(t, p.Sessions())
}

func TestTakeAfterDetachWasTurnedOff(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t)
	f.detached = "0"
	_, err := p.Take(t.Context(), 0)
	require.ErrorContains(t, err, "xa_detach_on_prepare")
	require.Zero(t, p.Sessions())
}

func TestTakeWithABadJobName(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t, func(_ *xa.Config, c *xa.PoolConfig) { c.Job = "Orders" })
	_, err := p.Take(t.Context(), 0)
	require.ErrorContains(t, err, `job name "Orders"`)
	require.Zero(t, p.Sessions())
}

func TestTakeWithAnEndedContext(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t)
	a := take(t, p)
	p.Return(a)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Take(ctx, 0)
	require.ErrorIs(t, err, context.Canceled)
	require.Same(t, a, take(t, p), "a healthy session was thrown away")
}

func TestReturnInAnyOtherStateEndsTheSession(t *testing.T) {
	for _, state := range allStates[1:] {
		f := newFake("0")
		_, p := f.open(t)
		s := f.reach(t, p, state)
		p.Return(s)
		require.Zero(t, p.Sessions(), "in %s", state)
		require.Equal(t, xa.Broken, s.State())
		require.False(t, f.holds(s.Mark()))
		p.Return(s)
		require.Zero(t, p.Sessions(), "a session that is not the pool's any more came back")
	}
}

// TestDiscardAfterARestartKillsNobodyElse: after a restart of the server the number of a lost session is soon
// another's.
func TestDiscardAfterARestartKillsNobodyElse(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t)
	s := f.reach(t, p, xa.Broken)
	f.mu.Lock()
	id := s.ConnectionID()
	f.end(id)
	f.alive[id] = &fakeConn{server: f, id: id}
	f.mu.Unlock()
	require.NoError(t, p.Discard(t.Context(), s))
	for _, statement := range f.statements() {
		require.False(t, strings.HasPrefix(statement, "KILL"), "%s", statement)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Contains(t, f.alive, id)
}

func TestG089_CloseCutsOffWhatDoesNotEnd(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t)
	s := f.reach(t, p, xa.Active)
	idle := take(t, p)
	p.Return(idle)
	entered := make(chan struct{}, 1)
	f.block(entered)
	result := make(chan error, 1)
	go func() {
		_, err := s.Exec(context.Background(), fakeInsert)
		result <- err
	}()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := p.Close(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded, "what became of the sessions could not be looked at any more")
	require.ErrorIs(t, <-result, xa.ErrSessionLost)
	require.Equal(t, xa.Broken, s.State())
	require.Zero(t, p.Sessions())
	_, err = p.Take(t.Context(), 0)
	require.ErrorContains(t, err, "closed")
	p.Return(idle)
	require.NoError(t, p.Close(t.Context()), "a second Close has nothing to do")
}

func TestG059_MapsDoNotGrow(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t, func(_ *xa.Config, c *xa.PoolConfig) { c.MarksPerLane = 1; c.MaxSessions = 1 })
	for range 1000 {
		s := take(t, p)
		require.NoError(t, p.Discard(t.Context(), s))
	}
	require.Zero(t, p.Sessions())
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Empty(t, f.locks)
}

func TestMarksAreHeldByOthers(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t, func(_ *xa.Config, c *xa.PoolConfig) { c.MarksPerLane = 2 })
	f.mu.Lock()
	f.locks[xa.Mark{Job: fakeJob, Lane: 0, N: 0}.Name()] = 999
	f.mu.Unlock()
	require.EqualValues(t, 1, take(t, p).Mark().N)
	_, err := p.Take(t.Context(), 0)
	require.ErrorIs(t, err, xa.ErrMarkHeld)
	require.Equal(t, xa.Refused, xa.OutcomeOf(err))
	require.ErrorContains(t, err, "another process")
	require.Equal(t, 1, p.Sessions())
}
