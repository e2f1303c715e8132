package recovery_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

func (o *owner) sweep(t *testing.T, proven ...state.Lane) (int, error) {
	t.Helper()
	return recovery.Sweep(t.Context(), recovery.SweepRequest{
		Server: o.server, Pool: o.pool, Ledger: o.b.ledger, Owner: o.owner, Current: *o.claim.Last(), Proven: proven, Logger: o.b.log,
	})
}

// zombie_prepares_after_takeover, G060, N05, N07: a dead owner prepares after its successor has recovered. The sweep
// rolls that back, and nothing else; on an attached server only once the zombie's session has ended.
func TestSweepOfALateOrphan(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		foreign := b.foreign(t)
		for range 2 {
			_, err := b.open(t)
			require.NoError(t, err)
		}
		o, err := b.open(t)
		require.NoError(t, err)
		listed, _ := o.prepare(t, 2, 1, 1)
		o.list(t, listed)
		own, _ := o.prepare(t, 3, 1, 2)
		end := b.zombie(t, b.id(2, 2, 1), 3)

		n, err := o.sweep(t)
		require.NoError(t, err)
		if b.attached() {
			require.Zero(t, n)
			require.Contains(t, b.prepared(t), b.id(2, 2, 1), "left for the next sweep")
		}
		end()
		start := time.Now()
		again, err := o.sweep(t)
		require.NoError(t, err)
		if b.attached() {
			require.GreaterOrEqual(t, time.Since(start), recovery.MinDetachWait, "it may still be held")
		}
		require.Equal(t, 1, n+again)
		require.ElementsMatch(t, []xa.ID{listed, own}, b.prepared(t))
		require.Contains(t, b.scan(t), foreign)
		require.NoError(t, o.commit(t, listed, nil))
		require.Equal(t, []int{1}, b.rows(t))
	})
}

func TestSweepStops(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		o, err := b.open(t)
		require.NoError(t, err)
		own, _ := o.prepare(t, 2, 1, 1)
		b.zombie(t, b.id(1, 9, 1), 3)()

		_, err = o.sweep(t, state.Lane{Number: 2, Epoch: 1, Seq: 1})
		stop := requireStop(t, err, recovery.StopTakenBack)
		require.Equal(t, []xa.ID{own}, stop.Branches)

		b.zombie(t, b.id(2, 2, 1), 4)()
		_, err = o.sweep(t)
		stop = requireStop(t, err, recovery.StopFenced)
		require.Equal(t, []xa.ID{b.id(2, 2, 1)}, stop.Branches)
		require.ErrorIs(t, err, state.ErrFenced)
		require.ErrorIs(t, err, ledger.ErrFenced)
		require.Len(t, b.prepared(t), 3, "a stop rolls nothing back")
	})
}

// An orphan whose proof row can be read is being committed by somebody: a sweep leaves it to recovery.
func TestSweepLeavesWhatIsProven(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		for range 2 {
			_, err := b.open(t)
			require.NoError(t, err)
		}
		o, err := b.open(t)
		require.NoError(t, err)
		id := b.id(1, 2, 1)
		proof, err := b.ledger.ProofSQL(ledger.Proof{ID: id})
		require.NoError(t, err)
		b.exec(t, proof)
		// The row is there already, so the branch is made without one.
		x := id.XID().SQL()
		conn, err := b.admin.Conn(t.Context())
		require.NoError(t, err)
		for _, query := range []string{"XA START " + x, b.insert(1), "XA END " + x, "XA PREPARE " + x} {
			_, err := conn.ExecContext(t.Context(), query)
			require.NoError(t, err)
		}
		b.hangUp(t, conn)
		n, err := o.sweep(t)
		require.NoError(t, err)
		require.Zero(t, n)
		require.Equal(t, []xa.ID{id}, b.prepared(t))
	})
}
