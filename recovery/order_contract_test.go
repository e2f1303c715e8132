package recovery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
	"github.com/xasink/xasink/xa/xasim"
)

// A listed branch is committed by somebody just before recovery looks: scan, then ledger, so its row is seen.
func TestListedBranchThatIsCommittedWhileRecoveryLooksIsNotLost(t *testing.T) {
	onKinds(t, anyKind, func(t *testing.T, w *world) {
		id := w.id(1, 2, 1)
		s := w.stranger()
		s.prepare(id, 1)
		w.decide(id)
		w.once(fault.After(fault.LedgerRaise), is(fault.Before(fault.Recover)), func() { s.commit(id) })
		o, err := w.open()
		require.NoError(t, err)
		require.Equal(t, 1, o.report.Already)
		require.Equal(t, []int{1}, w.rows())
	})
}

// An orphan is committed by somebody just before recovery looks: its rows would be written again, so the job stops.
func TestOrphanThatIsCommittedWhileRecoveryLooksStops(t *testing.T) {
	onKinds(t, anyKind, func(t *testing.T, w *world) {
		id := w.id(1, 2, 1)
		s := w.stranger()
		s.prepare(id, 1)
		w.decide()
		w.once(fault.After(fault.LedgerRaise), is(fault.Before(fault.Recover)), func() { s.commit(id) })
		_, err := w.open()
		var stop *recovery.Stop
		require.ErrorAs(t, err, &stop)
		require.Equal(t, recovery.StopStoreBehind, stop.Kind)
	})
}

// The same in the middle of its ROLLBACK, which an attached server refuses because the branch is held.
func TestOrphanThatIsCommittedDuringItsRollbackStops(t *testing.T) {
	onKinds(t, attached, func(t *testing.T, w *world) {
		id := w.id(1, 2, 1)
		s := w.stranger()
		s.prepare(id, 1)
		w.decide()
		w.once(fault.Before(fault.Rollback), is(fault.Before(fault.Recover)), func() { s.commit(id) })
		_, err := w.open()
		var stop *recovery.Stop
		require.ErrorAs(t, err, &stop)
		require.Equal(t, recovery.StopStoreBehind, stop.Kind)
		require.Equal(t, []xa.ID{id}, stop.Branches)
	})
}

// A branch that no look has shown once may show its proof row in the next one: it is lost after two.
func TestBranchIsLostOnlyAfterTwoLooks(t *testing.T) {
	onKinds(t, anyKind, func(t *testing.T, w *world) {
		o, err := w.open()
		require.NoError(t, err)
		id := w.id(1, 2, 1)
		w.once(fault.Before(fault.Commit), is(fault.After(fault.LedgerRead)), func() { w.exec(w.proof(id)) })
		// The committer's session reads the job row before its COMMIT; the next read is the first look's.
		require.NoError(t, o.commit(id))
		var lost *recovery.LostError
		require.ErrorAs(t, o.commit(w.id(1, 2, 2)), &lost, "two looks that agree")
	})
}

// A COMMIT that is answered with an unknown XID, and the branch is listed: its holder is ended and the COMMIT repeated.
func TestHolderOfAListedBranchIsEnded(t *testing.T) {
	onKinds(t, attached, func(t *testing.T, w *world) {
		o, err := w.open()
		require.NoError(t, err)
		id := w.id(1, 2, 1)
		held := o.prepare(id, 1)
		require.NoError(t, o.commit(id))
		require.Equal(t, []int{1}, w.rows())
		require.Empty(t, w.prepared())
		alive, err := w.handle.SessionAlive(t.Context(), held.ConnectionID())
		require.NoError(t, err)
		require.False(t, alive)
	})
}

// A sweep leaves alone what the decision lists, of whatever epoch, and what has its proof row.
func TestSweepLeavesListedAndProvenBranches(t *testing.T) {
	onKinds(t, anyKind, func(t *testing.T, w *world) {
		listed, proven, orphan := w.id(1, 2, 1), w.id(1, 3, 1), w.id(1, 4, 1)
		for range 2 {
			_, err := w.open()
			require.NoError(t, err)
		}
		o, err := w.open()
		require.NoError(t, err)
		for row, id := range []xa.ID{listed, proven, orphan} {
			s := w.stranger()
			x := id.XID().SQL()
			s.exec("XA START "+x, fmt.Sprintf("INSERT INTO shop.target VALUES (%d)", row), "XA END "+x, "XA PREPARE "+x)
			s.leave()
		}
		w.exec(w.proof(proven))
		current := *o.claim.Last()
		current.Pending = state.Merge([]state.Branch{{Server: "s", ID: listed, Belongs: 1, Rows: 1}})
		n, err := o.sweep(current)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, []xa.ID{listed, proven}, w.prepared())
	})
}

// Right after its start a server cannot be told from one that starts again at once: recovery waits.
func TestOpeningWaitsUntilALaterStartCanBeTold(t *testing.T) {
	onKinds(t, anyKind, func(t *testing.T, w *world) {
		w.server.Restart(xasim.Crash{})
		start := time.Now()
		o, err := w.open()
		require.NoError(t, err)
		w.server.Restart(xasim.Crash{})
		now, err := w.handle.Identify(t.Context(), w.handle.DB())
		require.NoError(t, err)
		require.False(t, now.SameStart(o.report.Identity), "%s after the start it is restarted, and looks the same", time.Since(start))
	})
}

// An owner whose epoch or store the job row no longer names gets no session.
func TestSessionsOfAnOlderOwnerAreNotAdmitted(t *testing.T) {
	onKinds(t, anyKind, func(t *testing.T, w *world) {
		old, err := w.open()
		require.NoError(t, err)
		_, err = w.open()
		require.NoError(t, err)
		_, err = old.pool.Take(t.Context(), recovery.LaneCommitter)
		require.ErrorIs(t, err, state.ErrFenced)
	})
	onKinds(t, anyKind, func(t *testing.T, w *world) {
		o, err := w.open()
		require.NoError(t, err)
		other := o.owner
		other.Store = uuid.New()
		pool := xa.NewPool(w.handle, xa.PoolConfig{
			Job: w.job, Admit: recovery.Admit(w.handle, w.ledger, other, o.report.Identity),
		})
		_, err = pool.Take(t.Context(), recovery.LaneCommitter)
		require.ErrorIs(t, err, state.ErrFenced)
	})
}
