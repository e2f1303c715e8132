package recovery_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// branch_attached_to_live_zombie_session: the older owner lives on with its sessions. Its listed branch is committed,
// after its session was ended and let go of it; its open branch is gone; its unlisted one is rolled back; and it is
// fenced in store and server.
func TestOpeningOverALiveOwner(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		old, listed := b.listed(t)
		old.prepare(t, 3, 1, 2)
		open, err := old.pool.Take(t.Context(), 2)
		require.NoError(t, err)
		require.NoError(t, open.Start(t.Context(), b.id(1, 2, 2)))
		_, err = open.Exec(t.Context(), b.insert(3))
		require.NoError(t, err)

		o, err := b.open(t)
		require.NoError(t, err)
		require.Equal(t, 1, o.report.Committed)
		require.Equal(t, 1, o.report.RolledBack)
		requireCommitted(t, b)
		_, err = open.Exec(t.Context(), b.insert(4))
		require.ErrorIs(t, err, xa.ErrSessionLost)

		require.ErrorIs(t, old.decide(t, position("late"), old.report.Part), state.ErrFenced)
		_, err = old.pool.Take(t.Context(), 5)
		require.ErrorIs(t, err, state.ErrFenced)
		require.ErrorIs(t, err, ledger.ErrFenced)
		require.ErrorIs(t, old.commit(t, listed, nil), state.ErrFenced)
		require.NoError(t, o.pool.Close(t.Context()))
	})
}

// B07: openings at the same time: each branch is settled once, and at most the newest owner goes on.
func TestB07_OpeningsAtTheSameTime(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		b.dead(t, b.id(1, 2, 1), 1)
		b.dead(t, b.id(1, 2, 2), 2)
		b.list(t, b.id(1, 2, 1))
		var wait sync.WaitGroup
		epochs := make([]uint64, 6)
		for i := range epochs {
			wait.Go(func() {
				if o, err := b.open(t); err == nil {
					epochs[i] = o.claim.Epoch()
				}
			})
		}
		wait.Wait()
		o, err := b.open(t)
		require.NoError(t, err)
		for _, epoch := range epochs {
			require.Less(t, epoch, o.claim.Epoch())
		}
		requireCommitted(t, b)
	})
}

// Somebody raised the job row between Look and Recover.
func TestLostRaceForTheJobRow(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		view, err := recovery.Look(t.Context(), b.server, b.ledger, b.job)
		require.NoError(t, err)
		_, err = b.open(t)
		require.NoError(t, err)
		owner := recovery.Owner{Job: b.job, Store: b.store.ID(), Run: b.store.ID(), Epoch: 2}
		pool := xa.NewPool(b.server, xa.PoolConfig{Job: b.job, Admit: recovery.Admit(b.server, b.ledger, owner, view.Identity)})
		_, err = recovery.Recover(t.Context(), recovery.Opening{
			Server: b.server, Ledger: b.ledger, Pool: pool, Owner: owner, View: view, Bounds: state.Bounds{Lanes: 4, Marks: 4},
		})
		require.ErrorIs(t, err, state.ErrFenced)
		require.ErrorIs(t, err, ledger.ErrFenced)
	})
}

// A mark that a session of another user holds is not ours to end: an error that says what to type, and what is under it
// stays as it is.
func TestSessionOfAnotherUserIsNotEnded(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		_, err := b.open(t)
		require.NoError(t, err)
		other := b.connect(t, b.user(t, b.grants()...))
		pool := xa.NewPool(other, xa.PoolConfig{Job: b.job, MarksPerLane: 4})
		s, err := pool.Take(t.Context(), 2)
		require.NoError(t, err)
		_, err = b.open(t)
		require.ErrorContains(t, err, "KILL CONNECTION")
		alive, err := b.server.SessionAlive(t.Context(), s.ConnectionID())
		require.NoError(t, err)
		require.True(t, alive)
		require.NoError(t, pool.Close(t.Context()))
		require.NoError(t, other.Close())
		_, err = b.open(t)
		require.NoError(t, err)
	})
}

// A user with no more than a sink's rights, on a ledger that a DBA made; and each way in which that falls short.
func TestOpeningWithFewRights(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		poor := b.connect(t, b.user(t, b.grants()...))
		defer func() { require.NoError(t, poor.Close()) }()
		_, err := b.openOn(t, poor, b.store)
		require.ErrorIs(t, err, ledger.ErrPrivilege)
		require.ErrorContains(t, err, "CREATE TABLE")
		require.ErrorContains(t, err, "GRANT SELECT, INSERT, UPDATE, DELETE")

		require.NoError(t, b.ledger.Create(t.Context(), b.admin))
		_, err = b.openOn(t, poor, b.store)
		require.ErrorIs(t, err, ledger.ErrPrivilege, "the tables are there, the rights on them are not")

		rights := append(b.grants(), "GRANT SELECT, INSERT, UPDATE, DELETE ON `"+b.name+"`.*")
		able := b.connect(t, b.user(t, rights...))
		defer func() { require.NoError(t, able.Close()) }()
		b.dead(t, b.id(1, 2, 1), 1)
		b.list(t, b.id(1, 2, 1))
		o, err := b.openOn(t, able, b.store)
		require.NoError(t, err)
		require.Equal(t, 1, o.report.Committed)
		requireCommitted(t, b)
		require.NoError(t, o.pool.Close(t.Context()))

		reader := append(b.grants(), "GRANT SELECT, UPDATE, DELETE ON `"+b.name+"`.*")
		without := b.connect(t, b.user(t, reader...))
		defer func() { require.NoError(t, without.Close()) }()
		_, err = b.openOn(t, without, b.store)
		require.ErrorIs(t, err, ledger.ErrPrivilege, "INSERT is missing")
	})
}

// What dead owners left in the ledger is named by recovery, pruned, and not missed.
func TestDeadProofRowsArePruned(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		for seq := uint64(1); seq <= 4; seq++ {
			b.committed(t, b.id(1, 2, seq), int(seq))
		}
		b.committed(t, b.id(1, 3, 1), 9)
		b.decide(t, state.Part{Lanes: []state.Lane{{Number: 2, Epoch: 1, Seq: 4}, {Number: 3, Epoch: 1, Seq: 1}}})
		o, err := b.open(t)
		require.NoError(t, err)
		require.Equal(t, []ledger.Span{{Epoch: 1, Lane: 2, From: 1, To: 3}}, o.report.Dead)
		s, err := o.pool.Take(t.Context(), recovery.LaneRecovery)
		require.NoError(t, err)
		n, err := b.ledger.Prune(t.Context(), s, b.job, o.owner.Store, o.owner.Epoch, o.report.Dead)
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		o.pool.Return(s)
		again, err := b.open(t)
		require.NoError(t, err)
		require.Empty(t, again.report.Dead)
	})
}
