package txnsinktest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/txnsink/txnsinktest"
	"github.com/xasink/xasink/xa"
)

func TestAFailureActsWhenItWasAskedFor(t *testing.T) {
	db := txnsinktest.New(layouts...)
	in := db.Faults()
	at := func(p fault.Point) bool { return in.At(t.Context(), p) != nil }
	db.FailAfter(fault.Prepare)
	db.FailBefore(fault.Commit, 1, 3)
	require.Equal(t, "fail@after:xa-prepare#1,fail@before:xa-commit#1,fail@before:xa-commit#3", in.String())
	require.False(t, at(fault.Before(fault.Prepare)))
	require.Equal(t, []bool{true, false}, []bool{at(fault.After(fault.Prepare)), at(fault.After(fault.Prepare))})
	require.Equal(t, []bool{true, false, true, false}, []bool{at(fault.Before(fault.Commit)), at(fault.Before(fault.Commit)),
		at(fault.Before(fault.Commit)), at(fault.Before(fault.Commit))})
	db.FailBefore(fault.Batch, txnsinktest.EachTime)
	for range 2 {
		require.True(t, at(fault.Before(fault.Batch)))
	}
	db.Mend()
	require.False(t, at(fault.Before(fault.Batch)))
}

func TestAFailureThatWouldNeverHappenIsRefused(t *testing.T) {
	db := txnsinktest.New(layouts...)
	for _, op := range fault.Ops() {
		switch op {
		case fault.Mark, fault.Savepoint, fault.RollbackTo, fault.Kill, fault.LedgerCreate, fault.SourceRead:
			require.PanicsWithValue(t, "txnsinktest: there is no effect "+op.String()+" in memory: a failure at it would never happen",
				func() { db.FailAfter(op) })
		default:
			db.FailAfter(op, 1)
			db.FailBefore(op, 1)
		}
	}
}

func TestAFailureTellsItsOutcome(t *testing.T) {
	db := txnsinktest.New(layouts...)
	s := open(t, db, config())
	db.FailAfter(fault.Batch)
	err := s.Write(t.Context(), event(s, 1), []byte("1"))
	require.Equal(t, xa.InDoubt, xa.OutcomeOf(err))
	require.ErrorIs(t, err, xa.ErrSessionLost)
	var injected *fault.Error
	require.ErrorAs(t, err, &injected)
	require.Equal(t, fault.After(fault.Batch), injected.Point)
	var failed *txnsink.FailedError
	require.ErrorAs(t, s.Flush(t.Context()), &failed)
	require.Empty(t, db.Prepared())
}

// A decision whose write stays in doubt is what the store says it is, once it is opened again.
func TestADecisionInDoubtIsSettledByTheNextOpen(t *testing.T) {
	for _, c := range []struct {
		name     string
		fail     func(*txnsinktest.DB)
		position string
		rows     int
	}{
		{"stored", func(db *txnsinktest.DB) { db.FailAfter(fault.DecisionWrite, txnsinktest.EachTime) }, "1", 1},
		{"not stored", func(db *txnsinktest.DB) { db.FailBefore(fault.DecisionWrite, txnsinktest.EachTime) }, "0", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := txnsinktest.New(layouts...)
			cfg := config()
			cfg.DecisionTimeout = 20 * time.Millisecond
			s := open(t, db, cfg)
			require.NoError(t, s.Write(t.Context(), event(s, 1), []byte("1")))
			c.fail(db)
			require.ErrorIs(t, s.Checkpoint(t.Context()), txnsink.ErrInDoubt)
			require.Empty(t, db.Rows("events"), "nothing that it lists may be committed")
			require.Len(t, db.Prepared(), 1)
			require.NoError(t, s.Close())
			db.Mend()
			s = open(t, db, config())
			require.Equal(t, c.position, string(s.Position()))
			require.Len(t, db.Rows("events"), c.rows)
			require.Empty(t, db.Prepared())
		})
	}
}

func TestAShortFailureOfTheStoreIsRepeatedInSilence(t *testing.T) {
	db := txnsinktest.New(layouts...)
	s := open(t, db, config())
	require.NoError(t, s.Write(t.Context(), event(s, 1), []byte("1")))
	db.FailAfter(fault.DecisionWrite)
	require.NoError(t, s.Checkpoint(t.Context()))
	require.Equal(t, uint64(1), s.Stats().DecisionsRepeated)
	require.Len(t, db.Rows("events"), 1)
}

// TestAnEndedContext: a context that ended stops everything but what a decision has begun.
func TestAnEndedContext(t *testing.T) {
	db := txnsinktest.New(layouts...)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := db.Open(ended, config())
	require.ErrorIs(t, err, context.Canceled)
	s := open(t, db, config())
	require.NoError(t, s.Flush(t.Context()))
	require.NoError(t, s.Write(t.Context(), event(s, 1), []byte("1")))
	require.ErrorIs(t, s.Checkpoint(ended), context.Canceled)
	require.Empty(t, db.Prepared())
}

var errTest = errors.New("test")

func TestTheInjectorOfTheConfigurationActsToo(t *testing.T) {
	db := txnsinktest.New(layouts...)
	cfg := config()
	cfg.Faults = fault.FailAt(fault.Before(fault.End), 1, errTest)
	s := open(t, db, cfg)
	require.NoError(t, s.Write(t.Context(), event(s, 1), []byte("1")))
	require.ErrorIs(t, s.Flush(t.Context()), errTest)
}
