package xa_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/xa"
)

// answer is one line of the table of server-facts.md, 3: verb, sent in state, is answered with number.
type answer struct {
	call    string
	in      xa.State
	number  uint16
	word    string // of 1399
	outcome xa.Outcome
	then    xa.State
	facts   []error
}

func facts(errs ...error) []error { return errs }

var answers = []answer{
	// A refused START leaves autocommit on.
	{"Start", xa.None, 1440, "", xa.Refused, xa.Broken, facts(xa.ErrDuplicateID)},
	{"Start", xa.None, 1400, "", xa.Refused, xa.Broken, facts(xa.ErrWrongState)},
	{"Start", xa.None, 1399, "IDLE", xa.Refused, xa.Broken, facts(xa.ErrWrongState)},
	{"Start", xa.None, 1205, "", xa.Refused, xa.Broken, facts(xa.ErrLockWait)},
	{"Start", xa.None, 1064, "", xa.Refused, xa.Broken, nil},
	{"Start", xa.None, 4031, "", xa.InDoubt, xa.Broken, facts(xa.ErrSessionLost)},

	{"Exec", xa.Active, 1205, "", xa.Refused, xa.Stalled, facts(xa.ErrLockWait)},
	{"Exec", xa.Stalled, 1205, "", xa.Refused, xa.Stalled, facts(xa.ErrLockWait)},
	{"LedgerExec", xa.Active, 1205, "", xa.Refused, xa.Stalled, facts(xa.ErrLockWait)},
	{"Exec", xa.Active, 1062, "", xa.Refused, xa.Poisoned, nil},
	{"Exec", xa.Active, 1406, "", xa.Refused, xa.Poisoned, nil},
	{"Exec", xa.Active, 1146, "", xa.Refused, xa.Poisoned, nil},
	{"Exec", xa.Active, 1317, "", xa.Refused, xa.Poisoned, nil},
	{"Exec", xa.Active, 1213, "", xa.Refused, xa.Poisoned, facts(xa.ErrRolledBack)},
	{"Exec", xa.Active, 1614, "", xa.Refused, xa.Poisoned, facts(xa.ErrRolledBack)},
	{"Exec", xa.Active, 1613, "", xa.Refused, xa.Poisoned, facts(xa.ErrRolledBack)},
	{"Exec", xa.Active, 1402, "", xa.Refused, xa.Poisoned, facts(xa.ErrRolledBack)},
	{"Exec", xa.Active, 1399, "ROLLBACK ONLY", xa.Refused, xa.Poisoned, facts(xa.ErrRolledBack, xa.ErrWrongState)},
	{"Exec", xa.Active, 1290, "", xa.Refused, xa.Poisoned, nil},
	{"Exec", xa.Stalled, 1062, "", xa.Refused, xa.Poisoned, nil},
	{"Exec", xa.Stalled, 1213, "", xa.Refused, xa.Poisoned, facts(xa.ErrRolledBack)},
	{"Exec", xa.Active, 1153, "", xa.InDoubt, xa.Broken, facts(xa.ErrSessionLost)},
	{"Exec", xa.Active, 1053, "", xa.InDoubt, xa.Broken, facts(xa.ErrSessionLost)},
	{"Exec", xa.Active, 1158, "", xa.InDoubt, xa.Broken, facts(xa.ErrSessionLost)},
	{"Exec", xa.Active, 1927, "", xa.InDoubt, xa.Broken, facts(xa.ErrSessionLost)},
	{"Exec", xa.Active, 3169, "", xa.InDoubt, xa.Broken, facts(xa.ErrSessionLost)},
	{"Exec", xa.Active, 4031, "", xa.InDoubt, xa.Broken, facts(xa.ErrSessionLost)},

	{"Savepoint", xa.Active, 1614, "", xa.Refused, xa.Poisoned, facts(xa.ErrRolledBack)},
	{"Savepoint", xa.Active, 1399, "ROLLBACK ONLY", xa.Refused, xa.Poisoned, facts(xa.ErrRolledBack)},
	{"RollbackTo", xa.Active, 1305, "", xa.Refused, xa.Poisoned, nil},
	{"RollbackTo", xa.Stalled, 1614, "", xa.Refused, xa.Poisoned, facts(xa.ErrRolledBack)},

	{"End", xa.Active, 1614, "", xa.Refused, xa.Poisoned, facts(xa.ErrRolledBack)},
	{"End", xa.Active, 1399, "ROLLBACK ONLY", xa.Refused, xa.Poisoned, facts(xa.ErrRolledBack)},
	// S10: 1399 with another word is not "ended already", and neither is another number with these words.
	{"End", xa.Active, 1399, "IDLE", xa.Refused, xa.Broken, facts(xa.ErrWrongState)},
	{"End", xa.Active, 1399, "NON-EXISTING", xa.Refused, xa.Broken, facts(xa.ErrWrongState)},
	{"End", xa.Active, 1397, "", xa.Refused, xa.Broken, facts(xa.ErrUnknownID)},
	{"End", xa.Active, 1317, "", xa.Refused, xa.Poisoned, nil},

	{"Prepare", xa.Ended, 1205, "", xa.Refused, xa.None, facts(xa.ErrLockWait)},
	{"Prepare", xa.Ended, 1399, "ROLLBACK ONLY", xa.Refused, xa.Poisoned, facts(xa.ErrRolledBack)},
	{"Prepare", xa.Ended, 1399, "ACTIVE", xa.Refused, xa.Broken, facts(xa.ErrWrongState)},
	{"Prepare", xa.Ended, 1399, "NON-EXISTING", xa.Refused, xa.Broken, facts(xa.ErrWrongState)},
	{"Prepare", xa.Ended, 1399, "PREPARED", xa.InDoubt, xa.Broken, facts(xa.ErrWrongState)},
	{"Prepare", xa.Ended, 1399, "vorbereitet", xa.InDoubt, xa.Broken, facts(xa.ErrWrongState)},
	{"Prepare", xa.Ended, 1397, "", xa.Refused, xa.Broken, facts(xa.ErrUnknownID)},
	{"Prepare", xa.Ended, 1402, "", xa.Refused, xa.Broken, facts(xa.ErrRolledBack)},
	{"Prepare", xa.Ended, 1613, "", xa.Refused, xa.Broken, facts(xa.ErrRolledBack)},
	{"Prepare", xa.Ended, 1614, "", xa.Refused, xa.Broken, facts(xa.ErrRolledBack)},
	{"Prepare", xa.Ended, 1401, "", xa.InDoubt, xa.Broken, nil},
	{"Prepare", xa.Ended, 1317, "", xa.InDoubt, xa.Broken, nil},
	{"Prepare", xa.Ended, 1053, "", xa.InDoubt, xa.Broken, facts(xa.ErrSessionLost)},

	{"Commit", xa.None, 1397, "", xa.InDoubt, xa.None, facts(xa.ErrUnknownID)},
	{"Commit", xa.Prepared, 1397, "", xa.InDoubt, xa.Broken, facts(xa.ErrUnknownID)},
	{"Commit", xa.None, 1205, "", xa.Refused, xa.None, facts(xa.ErrLockWait)},
	{"Commit", xa.Prepared, 1205, "", xa.Refused, xa.Prepared, facts(xa.ErrLockWait)},
	{"Commit", xa.None, 1317, "", xa.Refused, xa.None, nil},
	{"Commit", xa.Prepared, 1317, "", xa.Refused, xa.Prepared, nil},
	{"Commit", xa.None, 1290, "", xa.Refused, xa.None, nil},
	{"Commit", xa.Prepared, 1290, "", xa.Refused, xa.Prepared, nil},
	{"Commit", xa.None, 1402, "", xa.Refused, xa.None, facts(xa.ErrRolledBack)},
	{"Commit", xa.Prepared, 1402, "", xa.Refused, xa.Broken, facts(xa.ErrRolledBack)},
	{"Commit", xa.None, 1613, "", xa.Refused, xa.None, facts(xa.ErrRolledBack)},
	{"Commit", xa.None, 1614, "", xa.Refused, xa.None, facts(xa.ErrRolledBack)},
	{"Commit", xa.Prepared, 1614, "", xa.Refused, xa.Broken, facts(xa.ErrRolledBack)},
	{"Commit", xa.None, 1399, "ACTIVE", xa.Refused, xa.Broken, facts(xa.ErrWrongState)},
	{"Commit", xa.None, 1399, "PREPARED", xa.Refused, xa.Broken, facts(xa.ErrWrongState)},
	{"Commit", xa.None, 1400, "", xa.Refused, xa.Broken, facts(xa.ErrWrongState)},
	{"Commit", xa.Prepared, 1400, "", xa.Refused, xa.Broken, facts(xa.ErrWrongState)},
	// T05: this is no failure that may be passed over, and no success.
	{"Commit", xa.None, 1401, "", xa.InDoubt, xa.Broken, nil},
	{"Commit", xa.None, 1180, "", xa.InDoubt, xa.Broken, nil},
	{"Commit", xa.None, 1053, "", xa.InDoubt, xa.Broken, facts(xa.ErrSessionLost)},
	{"Commit", xa.Prepared, 3169, "", xa.InDoubt, xa.Broken, facts(xa.ErrSessionLost)},

	{"Rollback", xa.None, 1397, "", xa.InDoubt, xa.None, facts(xa.ErrUnknownID)},
	{"Rollback", xa.Prepared, 1397, "", xa.InDoubt, xa.Broken, facts(xa.ErrUnknownID)},
	{"Rollback", xa.None, 1205, "", xa.Refused, xa.None, facts(xa.ErrLockWait)},
	{"Rollback", xa.Prepared, 1205, "", xa.Refused, xa.Prepared, facts(xa.ErrLockWait)},
	{"Rollback", xa.None, 1317, "", xa.Refused, xa.None, nil},
	{"Rollback", xa.Prepared, 1290, "", xa.Refused, xa.Prepared, nil},
	{"Rollback", xa.None, 1402, "", xa.InDoubt, xa.Broken, facts(xa.ErrRolledBack)},
	{"Rollback", xa.None, 1399, "ACTIVE", xa.Refused, xa.Broken, facts(xa.ErrWrongState)},
	{"Rollback", xa.None, 1401, "", xa.InDoubt, xa.Broken, nil},
	{"Rollback", xa.Prepared, 1053, "", xa.InDoubt, xa.Broken, facts(xa.ErrSessionLost)},

	{"ExecContext", xa.None, 1062, "", xa.Refused, xa.None, nil},
	{"ExecContext", xa.None, 1205, "", xa.Refused, xa.None, facts(xa.ErrLockWait)},
	{"ExecContext", xa.None, 1146, "", xa.Refused, xa.None, nil},
	{"ExecContext", xa.None, 1180, "", xa.InDoubt, xa.Broken, nil},
	{"ExecContext", xa.None, 1053, "", xa.InDoubt, xa.Broken, facts(xa.ErrSessionLost)},
}

var sentinels = []error{xa.ErrUnknownID, xa.ErrDuplicateID, xa.ErrRolledBack, xa.ErrWrongState, xa.ErrLockWait,
	xa.ErrSessionLost, xa.ErrNoRecoverPrivilege, xa.ErrMarkHeld, xa.ErrPoolFull}

func callNamed(name string) verbCall {
	for _, c := range verbCalls {
		if c.name == name {
			return c
		}
	}
	return verbCall{name: name, verb: xa.VerbRollbackTo,
		do: func(ctx context.Context, s *xa.Session) error { return s.RollbackTo(ctx) }}
}

func message(number uint16, word string) (state, text string) {
	switch {
	case number == 1399:
		return "XAE07", "XAER_RMFAIL: The command cannot be executed when global transaction is in the  " + word + " state"
	case number == 1397:
		return "XAE04", "XAER_NOTA: Unknown XID"
	}
	return "HY000", fmt.Sprintf("what the server says with %d", number)
}

// TestG051_WhatTheServerAnswersToEachVerb covers G069, G096, S10, T05, T57 and T59 with the same table.
func TestG051_WhatTheServerAnswersToEachVerb(t *testing.T) {
	for _, a := range answers {
		name := fmt.Sprintf("%s in %s, %d %s", a.call, a.in, a.number, a.word)
		t.Run(name, func(t *testing.T) {
			f := newFake("0")
			_, p := f.open(t)
			s := f.reach(t, p, xa.Active)
			if a.call == "RollbackTo" {
				require.NoError(t, s.Savepoint(t.Context()))
				if a.in == xa.Stalled {
					f.on("INSERT", refusal(1205, "HY000", "Lock wait timeout exceeded"))
					_, err := s.Exec(t.Context(), fakeInsert)
					require.ErrorIs(t, err, xa.ErrLockWait)
				}
			} else {
				s = f.reachAgain(t, p, s, a.in)
			}
			c := callNamed(a.call)
			state, text := message(a.number, a.word)
			f.on("", refusal(a.number, state, text))
			err := c.do(t.Context(), s)

			var e *xa.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, a.outcome, e.Outcome, "%s", err)
			require.Equal(t, a.outcome, xa.OutcomeOf(fmt.Errorf("wrapped: %w", err)))
			require.Equal(t, a.then, s.State(), "%s", err)
			require.Equal(t, c.verb, e.Verb)
			require.Equal(t, a.number, e.Number)
			require.Equal(t, state, e.State)
			if a.word != "vorbereitet" {
				require.Equal(t, a.word, e.Word)
			} else {
				require.Empty(t, e.Word)
			}
			for _, fact := range a.facts {
				require.ErrorIs(t, err, fact)
			}
			requireNoOtherFact(t, err, a.facts)
			var answer *mysql.MySQLError
			require.ErrorAs(t, err, &answer, "the server's own error is lost")
			require.Equal(t, a.number, answer.Number)

			require.ErrorContains(t, err, c.verb.String())
			require.ErrorContains(t, err, "fake:3306")
			require.ErrorContains(t, err, a.outcome.String())
			require.ErrorContains(t, err, fmt.Sprintf("%d (%s)", a.number, state))
			require.ErrorContains(t, err, text)
			if c.verb != xa.VerbQuery {
				require.Equal(t, fakeID.XID(), e.ID)
				require.ErrorContains(t, err, fakeID.String())
			}
		})
	}
}

// requireNoOtherFact: an error must not match what it does not mean. 1399 ROLLBACK ONLY means two things.
func requireNoOtherFact(t *testing.T, err error, want []error) {
	t.Helper()
	for _, fact := range sentinels {
		expected := false
		for _, w := range want {
			expected = expected || errors.Is(w, fact)
		}
		if !expected && !(errors.Is(fact, xa.ErrWrongState) && errors.Is(err, xa.ErrRolledBack)) {
			require.NotErrorIs(t, err, fact)
		}
	}
}

// reachAgain discards s and brings a new session into state.
func (f *fake) reachAgain(t *testing.T, p *xa.Pool, s *xa.Session, state xa.State) *xa.Session {
	t.Helper()
	f.answer(nil)
	require.NoError(t, p.Discard(t.Context(), s))
	return f.reach(t, p, state)
}

// TestG003_ALostConnectionLeavesEveryEffectInDoubt covers G004, G010 and G011: whatever is no answer of the server.
func TestG003_ALostConnectionLeavesEveryEffectInDoubt(t *testing.T) {
	for _, broken := range []error{driver.ErrBadConn, mysql.ErrInvalidConn, mysql.ErrBusyBuffer, mysql.ErrPktSync,
		mysql.ErrMalformPkt, errors.New("read tcp: connection reset by peer")} {
		for _, c := range verbCalls {
			for _, state := range c.legal {
				t.Run(fmt.Sprintf("%s in %s, %s", c.name, state, broken), func(t *testing.T) {
					f := newFake("0")
					_, p := f.open(t)
					s := f.reach(t, p, state)
					f.on("", broken)
					err := c.do(t.Context(), s)
					require.ErrorIs(t, err, xa.ErrSessionLost)
					require.ErrorIs(t, err, broken)
					require.Equal(t, xa.InDoubt, xa.OutcomeOf(err))
					require.Equal(t, xa.Broken, s.State())
					require.Len(t, f.statements(), 1, "a statement whose answer was lost was sent again")
				})
			}
		}
	}
}

// TestG016_ATooLargeStatementIsRefusedByTheDriver: nothing was sent, and the message says which limit it was.
func TestG016_ATooLargeStatementIsRefusedByTheDriver(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t)
	s := f.reach(t, p, xa.Active)
	f.on("INSERT", mysql.ErrPktTooLarge)
	_, err := s.Exec(t.Context(), fakeInsert)
	require.Equal(t, xa.Refused, xa.OutcomeOf(err))
	require.NotErrorIs(t, err, xa.ErrSessionLost)
	require.ErrorContains(t, err, "max_allowed_packet of the server")
	require.Equal(t, xa.Poisoned, s.State())
	require.NoError(t, s.Abort(t.Context()))
	require.Equal(t, xa.None, s.State())
}

// TestG072_AbortAlwaysSendsRollback: whatever XA END answers to a branch that the server rolled back.
func TestG072_AbortAlwaysSendsRollback(t *testing.T) {
	for _, a := range []answer{{number: 1614}, {number: 1399, word: "ROLLBACK ONLY"}, {number: 1399, word: "IDLE"},
		{number: 1402}, {number: 1613}, {number: 1317}} {
		f := newFake("1")
		_, p := f.open(t)
		s := f.reach(t, p, xa.Poisoned)
		state, text := message(a.number, a.word)
		f.on("XA END", refusal(a.number, state, text))
		require.NoError(t, s.Abort(t.Context()), "%d", a.number)
		require.Equal(t, []string{"XA END " + fakeID.XID().SQL(), "XA ROLLBACK " + fakeID.XID().SQL()}, f.statements())
		require.Equal(t, xa.None, s.State())
	}
}

func TestAbortThatFailsLeavesTheSessionBroken(t *testing.T) {
	for _, prefix := range []string{"XA END", "XA ROLLBACK"} {
		f := newFake("1")
		_, p := f.open(t)
		s := f.reach(t, p, xa.Poisoned)
		f.on(prefix, mysql.ErrInvalidConn)
		err := s.Abort(t.Context())
		require.ErrorIs(t, err, xa.ErrSessionLost)
		require.Equal(t, xa.Broken, s.State())
	}
	f := newFake("1")
	_, p := f.open(t)
	s := f.reach(t, p, xa.Poisoned)
	f.on("XA ROLLBACK", refusal(1399, "XAE07", "XAER_RMFAIL: … in the  ACTIVE state"))
	require.ErrorIs(t, s.Abort(t.Context()), xa.ErrWrongState)
	require.Equal(t, xa.Broken, s.State(), "a branch that is still open was forgotten")
}

// TestG084_AFailedCommitIsNeverASuccessLater: each Commit tells what the server said to it.
func TestG084_AFailedCommitIsNeverASuccessLater(t *testing.T) {
	f := newFake("1")
	_, p := f.open(t)
	s := f.reach(t, p, xa.None)
	f.answer(func(context.Context, string) error { return refusal(1397, "XAE04", "XAER_NOTA: Unknown XID") })
	for range 3 {
		err := s.Commit(t.Context(), fakeID.XID())
		require.Equal(t, xa.InDoubt, xa.OutcomeOf(err))
		require.ErrorContains(t, err, "this proves nothing")
		require.Equal(t, xa.None, s.State())
	}
	require.Len(t, f.statements(), 3)
}
