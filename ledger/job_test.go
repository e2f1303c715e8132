package ledger_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/ledger"
)

func jobRow(epoch uint64) ledger.Job {
	return ledger.Job{
		Name: "orders", Store: uuid.New(), Run: uuid.New(), Epoch: epoch, Lanes: 5, Marks: 3,
		Server: "host'`\\é:3306", Started: time.Date(2026, 11, 29, 22, 10, 0, 316123000, time.UTC),
	}
}

func TestJobIsUnknownWithoutDatabaseTableOrRow(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		unknown := func() {
			job, err := b.ledger.Job(t.Context(), b.db, "orders")
			require.NoError(t, err)
			require.Nil(t, job)
		}
		unknown()
		servertest.Exec(t, b.db, b.ledger.DDL()[0])
		unknown()
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		unknown()
	})
}

func TestRaiseInsertsThenComparesAndSets(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		first := jobRow(1)
		require.NoError(t, b.ledger.Raise(t.Context(), b.db, nil, first))
		seen, err := b.ledger.Job(t.Context(), b.db, "orders")
		require.NoError(t, err)
		require.Equal(t, first, *seen)

		second := first
		second.Epoch, second.Run, second.Server = 7, uuid.New(), "elsewhere"
		second.Lanes, second.Marks = 9, 1
		require.NoError(t, b.ledger.Raise(t.Context(), b.db, seen, second))
		now, err := b.ledger.Job(t.Context(), b.db, "orders")
		require.NoError(t, err)
		second.Marks = first.Marks // a bound is never lowered
		require.Equal(t, second, *now)
	})
}

func TestRaiseIsFencedByAnotherOwner(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		first := jobRow(1)
		require.NoError(t, b.ledger.Raise(t.Context(), b.db, nil, first))

		t.Run("both saw no row", func(t *testing.T) {
			require.ErrorIs(t, b.ledger.Raise(t.Context(), b.db, nil, jobRow(1)), ledger.ErrFenced)
		})
		t.Run("both saw the same row", func(t *testing.T) {
			a, other := first, first
			a.Epoch, a.Run = 2, uuid.New()
			other.Epoch, other.Run = 2, uuid.New()
			require.NoError(t, b.ledger.Raise(t.Context(), b.db, &first, a))
			require.ErrorIs(t, b.ledger.Raise(t.Context(), b.db, &first, other), ledger.ErrFenced)
			now, err := b.ledger.Job(t.Context(), b.db, "orders")
			require.NoError(t, err)
			require.Equal(t, a.Run, now.Run)
		})
		t.Run("the row was deleted", func(t *testing.T) {
			seen, err := b.ledger.Job(t.Context(), b.db, "orders")
			require.NoError(t, err)
			servertest.Exec(t, b.db, "DELETE FROM "+quoted(b.name)+".`jobs`")
			next := *seen
			next.Epoch++
			err = b.ledger.Raise(t.Context(), b.db, seen, next)
			require.ErrorContains(t, err, "deleted")
			require.NotErrorIs(t, err, ledger.ErrFenced)
		})
	})
}

// The answer of a Raise is lost: the same Raise again finds its own row and succeeds, whatever it had looked at.
func TestRaiseMayBeRepeatedAfterALostAnswer(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		lost := b.ledger.WithFaults(fault.FailAt(fault.After(fault.LedgerRaise), 0, nil))
		first := jobRow(1)
		require.Error(t, lost.Raise(t.Context(), b.db, nil, first))
		require.NoError(t, b.ledger.Raise(t.Context(), b.db, nil, first))

		second := first
		second.Epoch, second.Run = 2, uuid.New()
		require.Error(t, lost.Raise(t.Context(), b.db, &first, second))
		require.NoError(t, b.ledger.Raise(t.Context(), b.db, &first, second))
		require.NoError(t, b.ledger.Raise(t.Context(), b.db, &second, second))
	})
}

func TestRaiseNeverLowersAnEpoch(t *testing.T) {
	l, err := ledger.New("xasink")
	require.NoError(t, err)
	looked := jobRow(7)
	for _, epoch := range []uint64{0, 6, 7} {
		next := looked
		next.Epoch, next.Run = epoch, uuid.New()
		require.ErrorContains(t, l.Raise(t.Context(), nil, &looked, next), "epoch")
	}
}

func TestAdmitComparesTheClaim(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		admit := func(store uuid.UUID, epoch uint64) error {
			return b.ledger.Admit(t.Context(), b.db, "orders", store, epoch)
		}
		row := jobRow(5)
		err := admit(row.Store, 5)
		require.ErrorIs(t, err, ledger.ErrAbsent)
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		err = admit(row.Store, 5)
		require.ErrorContains(t, err, "no row")
		require.NotErrorIs(t, err, ledger.ErrFenced)

		require.NoError(t, b.ledger.Raise(t.Context(), b.db, nil, row))
		require.NoError(t, admit(row.Store, 5))
		require.ErrorIs(t, admit(row.Store, 4), ledger.ErrFenced)
		require.ErrorIs(t, admit(uuid.New(), 5), ledger.ErrFenced)
		require.ErrorIs(t, admit(uuid.New(), 99), ledger.ErrFenced)
		err = admit(row.Store, 6)
		require.ErrorContains(t, err, "below the claim")
		require.NotErrorIs(t, err, ledger.ErrFenced)
	})
}

func TestRowOfANewerFormatIsRefused(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		require.NoError(t, b.ledger.Raise(t.Context(), b.db, nil, jobRow(1)))
		servertest.Exec(t, b.db, "UPDATE "+quoted(b.name)+".`jobs` SET `format` = 2")
		_, err := b.ledger.Job(t.Context(), b.db, "orders")
		require.ErrorIs(t, err, ledger.ErrNewer)
		require.ErrorContains(t, err, "format 2")
	})
}
