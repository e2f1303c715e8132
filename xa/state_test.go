package xa_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/xa"
)

var allStates = []xa.State{xa.None, xa.Active, xa.Stalled, xa.Ended, xa.Prepared, xa.Poisoned, xa.Broken}

// verbCall is one call of a session, with the states that take it and what is sent first.
type verbCall struct {
	name  string
	verb  xa.Verb
	legal []xa.State
	sends string
	do    func(context.Context, *xa.Session) error
}

var verbCalls = []verbCall{
	{"Start", xa.VerbStart, []xa.State{xa.None}, "XA START ",
		func(ctx context.Context, s *xa.Session) error { return s.Start(ctx, fakeID) }},
	{"Exec", xa.VerbExec, []xa.State{xa.Active, xa.Stalled}, fakeInsert,
		func(ctx context.Context, s *xa.Session) error { _, err := s.Exec(ctx, fakeInsert); return err }},
	{"LedgerExec", xa.VerbExec, []xa.State{xa.Active, xa.Stalled}, fakeInsert,
		func(ctx context.Context, s *xa.Session) error { _, err := s.LedgerExec(ctx, fakeInsert); return err }},
	{"Savepoint", xa.VerbSavepoint, []xa.State{xa.Active}, "SAVEPOINT ",
		func(ctx context.Context, s *xa.Session) error { return s.Savepoint(ctx) }},
	{"End", xa.VerbEnd, []xa.State{xa.Active}, "XA END ",
		func(ctx context.Context, s *xa.Session) error { return s.End(ctx) }},
	{"Prepare", xa.VerbPrepare, []xa.State{xa.Ended}, "XA PREPARE ",
		func(ctx context.Context, s *xa.Session) error { return s.Prepare(ctx) }},
	{"Commit", xa.VerbCommit, []xa.State{xa.None, xa.Prepared}, "XA COMMIT ",
		func(ctx context.Context, s *xa.Session) error { return s.Commit(ctx, fakeID.XID()) }},
	{"Rollback", xa.VerbRollback, []xa.State{xa.None, xa.Prepared}, "XA ROLLBACK ",
		func(ctx context.Context, s *xa.Session) error { return s.Rollback(ctx, fakeID.XID()) }},
	{"ExecContext", xa.VerbQuery, []xa.State{xa.None}, "DELETE",
		func(ctx context.Context, s *xa.Session) error {
			_, err := s.ExecContext(ctx, "DELETE FROM l")
			return err
		}},
}

// TestG069_EveryVerbInEveryState: what a state does not take is refused before a packet is sent, and the state stays.
func TestG069_EveryVerbInEveryState(t *testing.T) {
	for _, c := range verbCalls {
		for _, state := range allStates {
			t.Run(c.name+" in "+state.String(), func(t *testing.T) {
				f := newFake("0")
				_, p := f.open(t)
				s := f.reach(t, p, state)
				err := c.do(t.Context(), s)
				sent := f.statements()
				if slices.Contains(c.legal, state) {
					require.NoError(t, err)
					require.Len(t, sent, 1)
					require.Contains(t, sent[0], c.sends)
					return
				}
				var refused *xa.StateError
				require.ErrorAs(t, err, &refused)
				require.Equal(t, c.verb, refused.Verb)
				require.Equal(t, state, refused.Have)
				require.Equal(t, xa.Refused, xa.OutcomeOf(err))
				require.ErrorContains(t, err, "nothing was sent")
				require.Empty(t, sent, "a packet was sent in state %s", state)
				require.Equal(t, state, s.State())
			})
		}
	}
}

func TestG069_RollbackToNeedsASavepointOfThisBranch(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t)
	for _, state := range allStates {
		if state == xa.Prepared {
			continue // a detached server's session is never there
		}
		s := f.reach(t, p, state)
		var refused *xa.StateError
		require.ErrorAs(t, s.RollbackTo(t.Context()), &refused, "in %s", state)
		require.Empty(t, f.statements())
		require.Equal(t, state, s.State())
	}
}

func TestSavepointIsForgottenWithItsBranch(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t)
	s := f.reach(t, p, xa.Active)
	ctx := t.Context()
	require.NoError(t, s.Savepoint(ctx))
	require.NoError(t, s.RollbackTo(ctx))
	require.NoError(t, s.RollbackTo(ctx), "the savepoint stays where it is")
	require.NoError(t, s.Abort(ctx))
	require.NoError(t, s.Start(ctx, xa.ID{Job: fakeJob, Epoch: 3, Seq: 10}))
	f.statements()
	var refused *xa.StateError
	require.ErrorAs(t, s.RollbackTo(ctx), &refused)
	require.Contains(t, refused.Reason, "no savepoint")
	require.Empty(t, f.statements())
}

func TestAbortInEveryState(t *testing.T) {
	end, rollback := "XA END "+fakeID.XID().SQL(), "XA ROLLBACK "+fakeID.XID().SQL()
	want := map[xa.State][]string{
		xa.None:     nil,
		xa.Active:   {end, rollback},
		xa.Stalled:  {end, rollback},
		xa.Ended:    {rollback},
		xa.Poisoned: {end, rollback},
	}
	for _, state := range allStates {
		t.Run(state.String(), func(t *testing.T) {
			f := newFake("0")
			_, p := f.open(t)
			s := f.reach(t, p, state)
			err := s.Abort(t.Context())
			statements, legal := want[state]
			require.Equal(t, statements, f.statements())
			if !legal {
				var refused *xa.StateError
				require.ErrorAs(t, err, &refused)
				require.Equal(t, state, s.State())
				return
			}
			require.NoError(t, err)
			require.Equal(t, xa.None, s.State())
			_, open := s.Branch()
			require.False(t, open)
		})
	}
}

func TestBranchIsNamedForAsLongAsItIsTheSessions(t *testing.T) {
	for _, detached := range []string{"0", "1"} {
		f := newFake(detached)
		_, p := f.open(t)
		for _, state := range allStates {
			if detached == "1" && state == xa.Prepared {
				continue
			}
			s := f.reach(t, p, state)
			id, open := s.Branch()
			require.Equal(t, state != xa.None, open, "in %s", state)
			if open {
				require.Equal(t, fakeID, id)
			}
		}
	}
}

func TestPrepareFreesADetachedSessionOnly(t *testing.T) {
	for detached, want := range map[string]xa.State{"1": xa.None, "0": xa.Prepared, "": xa.Prepared} {
		f := newFake(detached)
		server, p := f.open(t)
		require.Equal(t, detached == "1", server.Abilities().Detached)
		s := f.reach(t, p, xa.Ended)
		require.NoError(t, s.Prepare(t.Context()))
		require.Equal(t, want, s.State())
		_, open := s.Branch()
		require.Equal(t, want == xa.Prepared, open)
		require.NoError(t, s.Commit(t.Context(), fakeID.XID()))
		require.Equal(t, xa.None, s.State())
	}
}

func TestG074_AParkedSessionSettlesItsOwnBranchOnly(t *testing.T) {
	f := newFake("0")
	_, p := f.open(t)
	s := f.reach(t, p, xa.Prepared)
	other := xa.ID{Job: fakeJob, Epoch: 3, Seq: 10}.XID()
	for _, do := range []func(context.Context, xa.XID) error{s.Commit, s.Rollback} {
		var refused *xa.StateError
		require.ErrorAs(t, do(t.Context(), other), &refused)
		require.Contains(t, refused.Reason, fakeID.String())
		require.Empty(t, f.statements())
		require.Equal(t, xa.Prepared, s.State())
	}
}

func TestS18_WhatIsNoNameIsNotSent(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t)
	s := f.reach(t, p, xa.None)
	long := string(make([]byte, 65))
	for _, x := range []xa.XID{{}, {Format: 1, BQUAL: "b"}, {Format: -1, GTRID: "g"}, {GTRID: long}, {GTRID: "g", BQUAL: long}} {
		require.Equal(t, xa.Refused, xa.OutcomeOf(s.Commit(t.Context(), x)))
		require.Equal(t, xa.Refused, xa.OutcomeOf(s.Rollback(t.Context(), x)))
	}
	for _, id := range []xa.ID{
		{},
		{Job: "Fake", Epoch: 1, Seq: 1},
		{Job: "another", Epoch: 1, Seq: 1},
		{Job: fakeJob, Epoch: 0, Seq: 1},
		{Job: fakeJob, Epoch: 1, Seq: 0},
		{Job: fakeJob, Epoch: 1, Lane: 1, Seq: 1},
	} {
		err := s.Start(t.Context(), id)
		var e *xa.Error
		require.ErrorAs(t, err, &e, "%+v", id)
		require.Equal(t, xa.Refused, e.Outcome)
	}
	require.Empty(t, f.statements())
	require.Equal(t, xa.None, s.State())
}

func TestStalledTakesTheVeryStatementThatStalled(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t)
	s := f.reach(t, p, xa.Stalled)
	ctx := t.Context()
	_, err := s.Exec(ctx, "INSERT INTO t VALUES (2)")
	var refused *xa.StateError
	require.ErrorAs(t, err, &refused, "the statement that was undone would be forgotten")
	require.Empty(t, f.statements())
	require.Equal(t, xa.Stalled, s.State())

	f.on("INSERT", refusal(1205, "HY000", "Lock wait timeout exceeded; try restarting transaction"))
	_, err = s.Exec(ctx, fakeInsert)
	require.ErrorIs(t, err, xa.ErrLockWait)
	require.Equal(t, xa.Stalled, s.State())

	n, err := s.Exec(ctx, fakeInsert)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.Equal(t, xa.Active, s.State())
	_, err = s.Exec(ctx, "INSERT INTO t VALUES (2)")
	require.NoError(t, err)
	require.NoError(t, s.End(ctx))
}

func TestStalledGoesBackToItsSavepoint(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t)
	s := f.reach(t, p, xa.Active)
	ctx := t.Context()
	require.NoError(t, s.Savepoint(ctx))
	f.on("INSERT", refusal(1205, "HY000", "Lock wait timeout exceeded; try restarting transaction"))
	_, err := s.Exec(ctx, fakeInsert)
	require.ErrorIs(t, err, xa.ErrLockWait)
	require.NoError(t, s.RollbackTo(ctx))
	require.Equal(t, xa.Active, s.State())
	require.NoError(t, s.End(ctx))
}

func TestOutcomeOfWhatIsNotOurs(t *testing.T) {
	require.Equal(t, xa.Done, xa.OutcomeOf(nil))
	require.Equal(t, xa.InDoubt, xa.OutcomeOf(errors.New("something else")))
	require.Equal(t, xa.Refused, xa.OutcomeOf(errors.Join(errors.New("first"), &xa.Error{Outcome: xa.Refused})))
	for outcome, text := range map[xa.Outcome]string{xa.Done: "done", xa.Refused: "refused", xa.InDoubt: "in doubt", 9: "outcome(9)"} {
		require.Equal(t, text, outcome.String())
	}
	require.Equal(t, "state(99)", xa.State(99).String())
	require.Equal(t, "verb(99)", xa.Verb(99).String())
}
