package ledger_test

import (
	"database/sql"
	"testing"
	"testing/synctest"

	"github.com/go-sql-driver/mysql"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/xa"
	"github.com/xasink/xasink/xa/xasim"
)

// onSimulated runs story in a bubble, with a ledger on each kind of server in memory.
func onSimulated(t *testing.T, story func(t *testing.T, db *sql.DB, l ledger.Ledger)) {
	t.Helper()
	for _, kind := range xasim.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := xasim.New(kind)
				db := sql.OpenDB(server.Connector())
				t.Cleanup(func() {
					require.NoError(t, db.Close())
					server.Kill()
					synctest.Wait()
				})
				l, err := ledger.New("book")
				require.NoError(t, err)
				require.NoError(t, l.Create(t.Context(), db))
				story(t, db, l)
			})
		})
	}
}

func contractID(lane uint32, seq uint64) xa.ID {
	return xa.ID{Job: "job", Epoch: 1, Lane: lane, Seq: seq}
}

func writeProof(t *testing.T, db *sql.DB, l ledger.Ledger, id xa.ID) error {
	t.Helper()
	text, err := l.ProofSQL(ledger.Proof{ID: id, Run: uuid.New()})
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), text)
	return err
}

// A second row of one name is an error, never hidden; and a row proves its own branch alone.
func TestAProofRowIsOfOneBranchOnce(t *testing.T) {
	onSimulated(t, func(t *testing.T, db *sql.DB, l ledger.Ledger) {
		require.NoError(t, writeProof(t, db, l, contractID(2, 1)))
		var answer *mysql.MySQLError
		require.ErrorAs(t, writeProof(t, db, l, contractID(2, 1)), &answer)
		require.Equal(t, uint16(1062), answer.Number)
		for id, want := range map[xa.ID]bool{
			contractID(2, 1): true, contractID(2, 2): false, contractID(3, 1): false,
			{Job: "job", Epoch: 2, Lane: 2, Seq: 1}: false, {Job: "job2", Epoch: 1, Lane: 2, Seq: 1}: false,
		} {
			proven, err := l.Proven(t.Context(), db, id)
			require.NoError(t, err)
			require.Equal(t, want, proven, "%s", id)
		}
	})
}

// The job row is raised on condition that it is still what was looked at, and its bounds never go down.
func TestTheJobRowIsComparedAndRaised(t *testing.T) {
	onSimulated(t, func(t *testing.T, db *sql.DB, l ledger.Ledger) {
		store := uuid.New()
		row := func(epoch uint64, lanes, marks uint32) ledger.Job {
			return ledger.Job{Name: "job", Store: store, Run: uuid.New(), Epoch: epoch, Lanes: lanes, Marks: marks, Server: "s"}
		}
		first := row(1, 9, 7)
		require.NoError(t, l.Raise(t.Context(), db, nil, first))
		require.ErrorIs(t, l.Raise(t.Context(), db, nil, row(2, 1, 1)), ledger.ErrFenced, "somebody was faster")
		second := row(2, 3, 3)
		require.NoError(t, l.Raise(t.Context(), db, &first, second))
		require.ErrorIs(t, l.Raise(t.Context(), db, &first, row(3, 1, 1)), ledger.ErrFenced, "the row changed since it was looked at")
		other := second
		other.Store = uuid.New()
		require.ErrorIs(t, l.Raise(t.Context(), db, &other, row(3, 1, 1)), ledger.ErrFenced, "it is another store's")
		have, err := l.Job(t.Context(), db, "job")
		require.NoError(t, err)
		require.Equal(t, []any{second.Run, uint64(2), uint32(9), uint32(7)}, []any{have.Run, have.Epoch, have.Lanes, have.Marks})

		require.NoError(t, l.Admit(t.Context(), db, "job", store, 2))
		require.ErrorIs(t, l.Admit(t.Context(), db, "job", store, 1), ledger.ErrFenced, "a higher epoch")
		require.ErrorIs(t, l.Admit(t.Context(), db, "job", uuid.New(), 2), ledger.ErrFenced, "another store")
		err = l.Admit(t.Context(), db, "job", store, 3)
		require.Error(t, err)
		require.NotErrorIs(t, err, ledger.ErrFenced, "a claim that was never raised here is no newer owner")
	})
}

// Rows are pruned by name, under the claim.
func TestPruningIsByNameAndUnderTheClaim(t *testing.T) {
	onSimulated(t, func(t *testing.T, db *sql.DB, l ledger.Ledger) {
		store := uuid.New()
		first := ledger.Job{Name: "job", Store: store, Run: uuid.New(), Epoch: 1, Lanes: 4, Marks: 1, Server: "s"}
		require.NoError(t, l.Raise(t.Context(), db, nil, first))
		for seq := range uint64(5) {
			require.NoError(t, writeProof(t, db, l, contractID(2, seq+1)))
		}
		require.NoError(t, writeProof(t, db, l, contractID(3, 2)))
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		left := func() (ids []xa.ID) {
			proofs, err := l.Proofs(t.Context(), db, "job")
			require.NoError(t, err)
			for _, p := range proofs {
				ids = append(ids, p.ID)
			}
			return ids
		}
		n, err := l.Prune(t.Context(), conn, "job", store, 1, []ledger.Span{{Epoch: 1, Lane: 2, From: 2, To: 3}})
		require.NoError(t, err)
		require.Equal(t, int64(2), n)
		want := []xa.ID{contractID(2, 1), contractID(2, 4), contractID(2, 5), contractID(3, 2)}
		require.Equal(t, want, left())

		second := first
		second.Epoch, second.Run = 2, uuid.New()
		require.NoError(t, l.Raise(t.Context(), db, &first, second))
		_, err = l.Prune(t.Context(), conn, "job", store, 1, []ledger.Span{{Epoch: 1, Lane: 2, From: 4, To: 4}})
		require.ErrorIs(t, err, ledger.ErrFenced)
		require.Equal(t, want, left())
	})
}
