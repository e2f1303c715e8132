package ledger_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/xa"
)

func branch(lane uint32, epoch, seq uint64) xa.ID {
	return xa.ID{Job: "orders", Lane: lane, Epoch: epoch, Seq: seq}
}

// prove writes the proof rows of ids in autocommit, as if their branches were committed.
func (b *bench) prove(t *testing.T, ids ...xa.ID) {
	t.Helper()
	for _, id := range ids {
		text, err := b.ledger.ProofSQL(ledger.Proof{ID: id, Run: uuid.New()})
		require.NoError(t, err)
		servertest.Exec(t, b.db, text)
	}
}

func TestProofsComeBackWhole(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		want := []ledger.Proof{
			{ID: branch(2, 1, 9), Run: uuid.New(), Tables: []ledger.TableUse{}},
			{ID: branch(2, 2, 1), Run: uuid.New(), Decision: 1<<63 + 5, Replayable: true, Tables: []ledger.TableUse{
				{Table: "we'ird`\\\"\n\x00 ☃😀%s?", Kind: "insert", Rows: 1<<64 - 1},
				{Table: "b", Kind: "upsert", Rows: 2},
			}},
			{ID: branch(3, 1, 1<<64-1), Run: uuid.New(), Decision: 4, Tables: []ledger.TableUse{}},
		}
		for _, p := range slices.Backward(want) {
			text, err := b.ledger.ProofSQL(p)
			require.NoError(t, err)
			servertest.Exec(t, b.db, text)
		}
		other := want[0]
		other.ID.Job = "other"
		text, err := b.ledger.ProofSQL(other)
		require.NoError(t, err)
		servertest.Exec(t, b.db, text)

		have, err := b.ledger.Proofs(t.Context(), b.db, "orders")
		require.NoError(t, err)
		require.Equal(t, want, have)
		for _, p := range want {
			proven, err := b.ledger.Proven(t.Context(), b.db, p.ID)
			require.NoError(t, err)
			require.True(t, proven)
		}
		proven, err := b.ledger.Proven(t.Context(), b.db, branch(2, 2, 2))
		require.NoError(t, err)
		require.False(t, proven)
	})
}

// A name is never used twice: the second row of one branch fails, it neither replaces the first nor is ignored.
func TestProofIsNeverAnUpsert(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		b.prove(t, branch(2, 1, 1))
		text, err := b.ledger.ProofSQL(ledger.Proof{ID: branch(2, 1, 1)})
		require.NoError(t, err)
		_, err = b.db.ExecContext(t.Context(), text)
		require.ErrorContains(t, err, "1062")
	})
}

// The proof row is written inside the branch: prepared it proves nothing, committed it does, rolled back it never will.
func TestProofRowLivesAndDiesWithItsBranch(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		for _, end := range []string{"COMMIT", "ROLLBACK"} {
			id := xa.ID{Job: servertest.Unique("proof"), Epoch: 1, Lane: 2, Seq: 1}
			text, err := b.ledger.ProofSQL(ledger.Proof{ID: id, Run: uuid.New()})
			require.NoError(t, err)
			conn := b.conn(t)
			for _, query := range []string{"XA START ", text, "XA END ", "XA PREPARE "} {
				if query != text {
					query += id.XID().SQL()
				}
				_, err := conn.ExecContext(t.Context(), query)
				require.NoError(t, err)
			}
			proven, err := b.ledger.Proven(t.Context(), b.db, id)
			require.NoError(t, err)
			require.False(t, proven)
			_, err = conn.ExecContext(t.Context(), "XA "+end+" "+id.XID().SQL())
			require.NoError(t, err)
			proven, err = b.ledger.Proven(t.Context(), b.db, id)
			require.NoError(t, err)
			require.Equal(t, end == "COMMIT", proven)
		}
	})
}

func TestAbsentLedgerProvesNothing(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		_, err := b.ledger.Proofs(t.Context(), b.db, "orders")
		require.ErrorIs(t, err, ledger.ErrAbsent)
		_, err = b.ledger.Proven(t.Context(), b.db, branch(2, 1, 1))
		require.ErrorIs(t, err, ledger.ErrAbsent)
		require.ErrorContains(t, err, "CREATE TABLE")
	})
}
