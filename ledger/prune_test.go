package ledger_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/xa"
)

func TestPruneDeletesByNameOnly(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		row := jobRow(3)
		require.NoError(t, b.ledger.Raise(t.Context(), b.db, nil, row))
		b.prove(t, branch(2, 1, 1), branch(2, 1, 2), branch(2, 1, 4), branch(2, 1, 5), branch(2, 2, 2), branch(3, 1, 2))
		other := branch(2, 1, 2)
		other.Job = "other"
		b.prove(t, other)

		n, err := b.ledger.Prune(t.Context(), b.conn(t), "orders", row.Store, 3,
			[]ledger.Span{{Epoch: 1, Lane: 2, From: 2, To: 4}, {Epoch: 9, Lane: 9, From: 1, To: 1 << 60}})
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		left, err := b.ledger.Proofs(t.Context(), b.db, "orders")
		require.NoError(t, err)
		var ids []xa.ID
		for _, p := range left {
			ids = append(ids, p.ID)
		}
		require.Equal(t, []xa.ID{branch(2, 1, 1), branch(2, 1, 5), branch(2, 2, 2), branch(3, 1, 2)}, ids)
		proven, err := b.ledger.Proven(t.Context(), b.db, other)
		require.NoError(t, err)
		require.True(t, proven)
	})
}

func TestPruneTakesManyRows(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		row := jobRow(3)
		require.NoError(t, b.ledger.Raise(t.Context(), b.db, nil, row))
		conn := b.conn(t)
		_, err := conn.ExecContext(t.Context(), "START TRANSACTION")
		require.NoError(t, err)
		for seq := uint64(1); seq <= 1203; seq++ {
			text, err := b.ledger.ProofSQL(ledger.Proof{ID: branch(2, 1, seq), Run: uuid.New()})
			require.NoError(t, err)
			_, err = conn.ExecContext(t.Context(), text)
			require.NoError(t, err)
		}
		_, err = conn.ExecContext(t.Context(), "COMMIT")
		require.NoError(t, err)
		n, err := b.ledger.Prune(t.Context(), conn, "orders", row.Store, 3, []ledger.Span{{Epoch: 1, Lane: 2, From: 1, To: 1202}})
		require.NoError(t, err)
		require.EqualValues(t, 1202, n)
	})
}

func TestPruneIsFenced(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		row := jobRow(3)
		require.NoError(t, b.ledger.Raise(t.Context(), b.db, nil, row))
		b.prove(t, branch(2, 1, 1))
		spans := []ledger.Span{{Epoch: 1, Lane: 2, From: 1, To: 1}}
		conn := b.conn(t)
		_, err := b.ledger.Prune(t.Context(), conn, "orders", row.Store, 2, spans)
		require.ErrorIs(t, err, ledger.ErrFenced)
		_, err = b.ledger.Prune(t.Context(), conn, "orders", uuid.New(), 3, spans)
		require.ErrorIs(t, err, ledger.ErrFenced)
		require.EqualValues(t, 1, servertest.Int(t, b.db, "SELECT COUNT(*) FROM "+quoted(b.name)+".`branches`"))

		n, err := b.ledger.Prune(t.Context(), conn, "orders", row.Store, 3, spans) // the session is as good as before
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
	})
}

// While a prune is under way no newer owner can raise the row, and the other way round: none of its deletes can come
// after the raise.
func TestPruneHoldsTheJobRow(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		row := jobRow(3)
		require.NoError(t, b.ledger.Raise(t.Context(), b.db, nil, row))
		b.prove(t, branch(2, 1, 1))
		next := row
		next.Epoch, next.Run = 4, uuid.New()
		held := false
		watch := probe{session: b.conn(t), onDelete: func() {
			err := b.ledger.Raise(t.Context(), b.db, &row, next)
			require.ErrorContains(t, err, "1205")
			held = true
		}}
		n, err := b.ledger.Prune(t.Context(), watch, "orders", row.Store, 3, []ledger.Span{{Epoch: 1, Lane: 2, From: 1, To: 1}})
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		require.True(t, held)
		require.NoError(t, b.ledger.Raise(t.Context(), b.db, &row, next))
	})
}

// Deletes wait for no neighbour: the rows beside them belong to prepared branches, which stay locked for long.
func TestPruneDoesNotWaitForPreparedNeighbours(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		row := jobRow(3)
		require.NoError(t, b.ledger.Raise(t.Context(), b.db, nil, row))
		b.prove(t, branch(2, 1, 2), branch(2, 1, 4))
		for _, seq := range []uint64{1, 3, 5} { // open transactions hold the same locks as prepared branches
			conn := b.conn(t)
			text, err := b.ledger.ProofSQL(ledger.Proof{ID: branch(2, 1, seq), Run: uuid.New()})
			require.NoError(t, err)
			for _, query := range []string{"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION", text} {
				_, err := conn.ExecContext(t.Context(), query)
				require.NoError(t, err)
			}
		}
		n, err := b.ledger.Prune(t.Context(), b.conn(t), "orders", row.Store, 3, []ledger.Span{{Epoch: 1, Lane: 2, From: 1, To: 9}})
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
	})
}

func TestPruneAfterAFaultMayBeRepeated(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		row := jobRow(3)
		require.NoError(t, b.ledger.Raise(t.Context(), b.db, nil, row))
		b.prove(t, branch(2, 1, 1), branch(2, 1, 2))
		spans := []ledger.Span{{Epoch: 1, Lane: 2, From: 1, To: 2}}
		conn := b.conn(t)
		for point, left := range map[fault.Point]int{fault.Before(fault.LedgerPrune): 2, fault.After(fault.LedgerPrune): 0} {
			servertest.Exec(t, b.db, "DELETE FROM "+quoted(b.name)+".`branches`")
			b.prove(t, branch(2, 1, 1), branch(2, 1, 2))
			_, err := b.ledger.WithFaults(fault.FailAt(point, 0, nil)).Prune(t.Context(), conn, "orders", row.Store, 3, spans)
			require.Error(t, err)
			require.EqualValues(t, left, servertest.Int(t, b.db, "SELECT COUNT(*) FROM "+quoted(b.name)+".`branches`"))
			n, err := b.ledger.Prune(t.Context(), conn, "orders", row.Store, 3, spans)
			require.NoError(t, err)
			require.EqualValues(t, left, n)
		}
	})
}

func TestPruneRefusesAPoolAndEmptySpans(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		_, err := b.ledger.Prune(t.Context(), b.db, "orders", uuid.New(), 1, []ledger.Span{{Epoch: 1, From: 1, To: 1}})
		require.ErrorContains(t, err, "one session")
		for _, s := range []ledger.Span{{Epoch: 1, From: 0, To: 1}, {Epoch: 1, From: 2, To: 1}, {From: 1, To: 1}} {
			_, err := b.ledger.Prune(t.Context(), b.conn(t), "orders", uuid.New(), 1, []ledger.Span{s})
			require.ErrorContains(t, err, "is none")
		}
	})
}
