package xa_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/xa"
)

// block makes the server silent: a statement returns only when its context ends, as the driver does it.
func (f *fake) block(entered chan<- struct{}) {
	f.answer(func(ctx context.Context, _ string) error {
		entered <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
}

// TestL15_AContextThatEndsInAStatement: the session is lost, since the server goes on with the statement.
func TestL15_AContextThatEndsInAStatement(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t)
	s := f.reach(t, p, xa.Active)
	entered := make(chan struct{}, 1)
	f.block(entered)
	reason := errors.New("the task was stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-entered
		cancel(reason)
	}()
	_, err := s.Exec(ctx, fakeInsert)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, reason)
	require.ErrorContains(t, err, "the task was stopped (context canceled)")
	require.ErrorIs(t, err, xa.ErrSessionLost)
	require.Equal(t, xa.InDoubt, xa.OutcomeOf(err))
	require.Equal(t, xa.Broken, s.State())
	f.answer(nil)
	f.statements()
	require.NoError(t, p.Discard(t.Context(), s))
	require.Equal(t, []string{"KILL CONNECTION " + itoa(s.ConnectionID())}, f.statements(), "the server's session was not ended")
}

// TestVerbsAreNotCancelledOnceSent: to stop waiting for PREPARE or COMMIT would leave them in doubt.
func TestVerbsAreNotCancelledOnceSent(t *testing.T) {
	for _, c := range verbCalls {
		if c.verb == xa.VerbExec || c.verb == xa.VerbQuery {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			f := newFake("0")
			_, p := f.open(t)
			s := f.reach(t, p, c.legal[0])
			ctx, cancel := context.WithCancel(t.Context())
			f.answer(func(run context.Context, _ string) error {
				cancel()
				return run.Err()
			})
			require.NoError(t, c.do(ctx, s))
			require.ErrorIs(t, ctx.Err(), context.Canceled)
			require.NotEqual(t, xa.Broken, s.State())
		})
	}
}

func TestVerbsEndAtVerbTimeout(t *testing.T) {
	for _, c := range verbCalls {
		if c.verb == xa.VerbExec || c.verb == xa.VerbQuery {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			f := newFake("0")
			_, p := f.open(t, func(c *xa.Config, _ *xa.PoolConfig) { c.VerbTimeout = 200 * time.Millisecond })
			s := f.reach(t, p, c.legal[0])
			f.block(make(chan struct{}, 1))
			err := c.do(t.Context(), s)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "on fake:3306: in doubt: the session with the server is lost: no answer within 200ms; ")
			require.NotContains(t, err.Error(), "\n")
			require.Equal(t, xa.InDoubt, xa.OutcomeOf(err))
			require.Equal(t, xa.Broken, s.State())
		})
	}
}

func TestStatementsEndAtStatementTimeout(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t, func(c *xa.Config, _ *xa.PoolConfig) { c.StatementTimeout = 20 * time.Millisecond })
	s := f.reach(t, p, xa.Active)
	f.block(make(chan struct{}, 1))
	_, err := s.Exec(t.Context(), fakeInsert)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "no answer within 20ms (StatementTimeout); ")
	require.ErrorContains(t, err, "raise StatementTimeout")
	require.NotContains(t, err.Error(), "\n")
	require.Equal(t, xa.Broken, s.State())
}

// TestAnEndedContextSendsNothing: the session is unharmed, unless its branch now lacks a statement.
func TestAnEndedContextSendsNothing(t *testing.T) {
	calls := append([]verbCall{{
		name: "RollbackTo", legal: []xa.State{xa.Active}, do: func(ctx context.Context, s *xa.Session) error { return s.RollbackTo(ctx) },
	}, {
		name: "Abort", legal: []xa.State{xa.Active, xa.Stalled, xa.Ended, xa.Poisoned},
		do: func(ctx context.Context, s *xa.Session) error { return s.Abort(ctx) },
	}}, verbCalls...)
	for _, c := range calls {
		for _, state := range c.legal {
			t.Run(c.name+" in "+state.String(), func(t *testing.T) {
				f := newFake("0")
				_, p := f.open(t)
				s := f.reach(t, p, state)
				if c.name == "RollbackTo" {
					require.NoError(t, s.Savepoint(t.Context()))
					f.statements()
				}
				reason := errors.New("the task was stopped")
				ctx, cancel := context.WithCancelCause(t.Context())
				cancel(reason)
				err := c.do(ctx, s)
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorIs(t, err, reason)
				require.NotErrorIs(t, err, xa.ErrSessionLost)
				require.Equal(t, xa.Refused, xa.OutcomeOf(err))
				require.ErrorContains(t, err, "nothing was sent")
				require.Empty(t, f.statements())
				want := state
				switch c.name {
				case "Exec", "LedgerExec", "Savepoint", "RollbackTo":
					want = xa.Poisoned
				}
				require.Equal(t, want, s.State())
				_, open := s.Branch()
				require.Equal(t, state != xa.None, open)
			})
		}
	}
}

// verbPoints are the fault points of each call.
var verbPoints = map[string]fault.Op{
	"Start": fault.Start, "Exec": fault.Batch, "LedgerExec": fault.LedgerRow, "Savepoint": fault.Savepoint, "End": fault.End,
	"Prepare": fault.Prepare, "Commit": fault.Commit, "Rollback": fault.Rollback,
}

// TestFaultBeforeAnEffect: nothing is sent; the caller cannot know that.
func TestFaultBeforeAnEffect(t *testing.T) {
	testFaults(t, false, 0)
}

// TestFaultAfterAnEffect: it is done, and its answer is lost.
func TestFaultAfterAnEffect(t *testing.T) {
	testFaults(t, true, 1)
}

func testFaults(t *testing.T, after bool, sent int) {
	for _, c := range verbCalls {
		op, ok := verbPoints[c.name]
		if !ok {
			continue
		}
		for _, state := range c.legal {
			t.Run(c.name+" in "+state.String(), func(t *testing.T) {
				f := newFake("0")
				in := &armed{}
				_, p := f.open(t, func(c *xa.Config, _ *xa.PoolConfig) { c.Faults = in })
				s := f.reach(t, p, state)
				in.Injector = fault.FailAt(fault.Point{Op: op, After: after}, 1, nil)
				err := c.do(t.Context(), s)
				var injected *fault.Error
				require.ErrorAs(t, err, &injected)
				require.ErrorIs(t, err, xa.ErrSessionLost)
				require.Equal(t, xa.InDoubt, xa.OutcomeOf(err))
				require.Equal(t, xa.Broken, s.State())
				require.Len(t, f.statements(), sent)
				in.Injector = nil
			})
		}
	}
}

// armed is an injector that a test sets while nothing is running.
type armed struct{ fault.Injector }

func (a *armed) At(ctx context.Context, p fault.Point) error { return fault.At(ctx, a.Injector, p) }
func (a *armed) String() string                              { return "armed" }

func TestEveryEffectHasItsPoints(t *testing.T) {
	f := newFake("1")
	var seen fault.Recorder
	server, p := f.open(t, func(c *xa.Config, _ *xa.PoolConfig) { c.Faults = &seen })
	ctx := t.Context()
	s := f.reach(t, p, xa.Active)
	require.NoError(t, s.Savepoint(ctx))
	_, err := s.Exec(ctx, fakeInsert)
	require.NoError(t, err)
	require.NoError(t, s.RollbackTo(ctx))
	_, err = s.LedgerExec(ctx, fakeInsert)
	require.NoError(t, err)
	require.NoError(t, s.End(ctx))
	require.NoError(t, s.Prepare(ctx))
	require.NoError(t, s.Commit(ctx, fakeID.XID()))
	require.NoError(t, s.Rollback(ctx, fakeID.XID()))
	_, err = server.Scan(ctx, server.DB())
	require.NoError(t, err)
	other := f.reach(t, p, xa.None)
	require.NoError(t, server.KillSession(ctx, other.ConnectionID()))
	var want []fault.Point
	for _, op := range []fault.Op{fault.Connect, fault.Mark, fault.Start, fault.Savepoint, fault.RollbackTo, fault.Batch,
		fault.LedgerRow, fault.End, fault.Prepare, fault.Commit, fault.Rollback, fault.Recover, fault.Kill} {
		want = append(want, fault.Before(op), fault.After(op))
	}
	require.Equal(t, want, seen.Reached())
	require.Equal(t, 1, seen.Count(fault.After(fault.LedgerRow)))
	require.Equal(t, 1, seen.Count(fault.After(fault.Batch)))
}

// TestAnEffectThatWasRefusedHasNoAfter: After means that the effect is there.
func TestAnEffectThatWasRefusedHasNoAfter(t *testing.T) {
	f := newFake("1")
	var seen fault.Recorder
	_, p := f.open(t, func(c *xa.Config, _ *xa.PoolConfig) { c.Faults = &seen })
	s := f.reach(t, p, xa.Ended)
	f.on("XA PREPARE", refusal(1205, "HY000", "Lock wait timeout exceeded; try restarting transaction"))
	require.Error(t, s.Prepare(t.Context()))
	require.Equal(t, 1, seen.Count(fault.Before(fault.Prepare)))
	require.Zero(t, seen.Count(fault.After(fault.Prepare)))
}
