package recovery_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

func (b *bench) order(store state.Store, branches map[xa.ID]recovery.Fate) recovery.AdoptRequest {
	return recovery.AdoptRequest{
		Server: b.server, Ledger: b.ledger, Store: store, Job: b.job, Run: uuid.New(), Positions: position("stated"),
		Branches: branches, Logger: b.log, Faults: b.faults,
	}
}

// left is a world for an operator: an owner of epoch 3 whose store is gone, one branch committed, two prepared.
func (b *bench) left(t *testing.T) {
	t.Helper()
	for range 3 {
		_, err := b.open(t)
		require.NoError(t, err)
	}
	b.committed(t, b.id(3, 2, 1), 1)
	b.dead(t, b.id(3, 2, 2), 2)
	b.dead(t, b.id(3, 5, 1), 3)
}

// Another store takes the job over, as an operator says; and then it is an ordinary job.
func TestAdoptTakesOverWhateverStoreAndEpoch(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		b.left(t)
		foreign := b.foreign(t)
		old := b.store
		b.store = state.NewMemory(state.WithFaults(b.faults))
		_, err := b.open(t)
		requireStop(t, err, recovery.StopOtherStore)

		done, err := recovery.Adopt(t.Context(), b.order(b.store, map[xa.ID]recovery.Fate{
			b.id(3, 2, 2): recovery.FateCommit, b.id(3, 5, 1): recovery.FateRollBack,
		}))
		require.NoError(t, err)
		require.EqualValues(t, 4, done.Epoch)
		require.Equal(t, 1, done.Committed)
		require.Equal(t, 1, done.RolledBack)
		require.Equal(t, position("stated"), done.Decision.Positions)
		require.Empty(t, done.Decision.Pending)
		require.Equal(t, []state.Lane{{Number: 2, Epoch: 3, Seq: 2}}, done.Decision.Lanes)
		require.Equal(t, []int{1, 2}, b.rows(t))
		require.Empty(t, b.prepared(t))
		require.Contains(t, b.scan(t), foreign)
		proofs, err := b.ledger.Proofs(t.Context(), b.admin, b.job)
		require.NoError(t, err)
		require.Len(t, proofs, 2, "no proof row was forgotten")

		o, err := b.open(t)
		require.NoError(t, err)
		require.EqualValues(t, 5, o.claim.Epoch())
		require.Equal(t, position("stated"), o.claim.Last().Positions)

		b.store = old
		_, err = b.open(t)
		requireStop(t, err, recovery.StopOtherStore)
	})
}

// Nothing is changed while the order does not fit what the server shows.
func TestAdoptRefusesAnOrderThatDoesNotFit(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		b.left(t)
		row, err := b.ledger.Job(t.Context(), b.admin, b.job)
		require.NoError(t, err)
		store := state.NewMemory()
		for name, c := range map[string]struct {
			kind     recovery.StopKind
			branch   xa.ID
			branches map[xa.ID]recovery.Fate
		}{
			"no word at all": {recovery.StopUndecided, b.id(3, 2, 2), nil},
			"no word for one": {recovery.StopUndecided, b.id(3, 5, 1), map[xa.ID]recovery.Fate{
				b.id(3, 2, 2): recovery.FateCommit}},
			"commit of what is not there": {recovery.StopContradiction, b.id(3, 9, 1), map[xa.ID]recovery.Fate{
				b.id(3, 2, 2): recovery.FateCommit, b.id(3, 5, 1): recovery.FateRollBack, b.id(3, 9, 1): recovery.FateCommit}},
			"rollback of what is committed": {recovery.StopContradiction, b.id(3, 2, 1), map[xa.ID]recovery.Fate{
				b.id(3, 2, 2): recovery.FateCommit, b.id(3, 5, 1): recovery.FateRollBack, b.id(3, 2, 1): recovery.FateRollBack}},
		} {
			_, err := recovery.Adopt(t.Context(), b.order(store, c.branches))
			stop := requireStop(t, err, c.kind)
			require.Contains(t, stop.Branches, c.branch, name)
		}
		now, err := b.ledger.Job(t.Context(), b.admin, b.job)
		require.NoError(t, err)
		require.Equal(t, row, now)
		info, err := store.Peek(t.Context(), b.job)
		require.NoError(t, err)
		require.Zero(t, info.Epoch)
		require.Len(t, b.prepared(t), 2)

		request := b.order(store, nil)
		request.Positions = nil
		_, err = recovery.Adopt(t.Context(), request)
		require.ErrorContains(t, err, "positions")
		request = b.order(store, map[xa.ID]recovery.Fate{{Job: "other", Epoch: 1, Lane: 2, Seq: 1}: recovery.FateCommit})
		_, err = recovery.Adopt(t.Context(), request)
		require.ErrorContains(t, err, "not of this job")
	})
}

// The server took commits back. What the store believed gives way to what the server has.
func TestAdoptAcceptsWhatTheServerHas(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		b.committed(t, b.id(1, 2, 1), 1)
		b.decide(t, state.Part{Lanes: []state.Lane{{Number: 2, Epoch: 1, Seq: 7, Tables: []string{"target"}}}})
		_, err := b.open(t)
		requireStop(t, err, recovery.StopTakenBack)
		done, err := recovery.Adopt(t.Context(), b.order(b.store, nil))
		require.NoError(t, err)
		require.Equal(t, []state.Lane{{Number: 2, Epoch: 1, Seq: 1, Tables: []string{"target"}}}, done.Decision.Lanes)
		require.Zero(t, done.Decision.Predecessor, "nothing goes back behind what an operator stated")
		_, err = b.open(t)
		require.NoError(t, err)

		// Epochs that only a proof row shows are not used again either.
		b.committed(t, b.id(9, 2, 1), 2)
		done, err = recovery.Adopt(t.Context(), b.order(b.store, nil))
		require.NoError(t, err)
		require.EqualValues(t, 10, done.Epoch)
	})
}

// The sessions of whoever owned the job are ended, also where the ledger never knew it.
func TestAdoptEndsOldSessions(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		pool := xa.NewPool(b.server, xa.PoolConfig{Job: b.job, MarksPerLane: 4})
		s, err := pool.Take(t.Context(), 7)
		require.NoError(t, err)
		_, err = recovery.Adopt(t.Context(), b.order(b.store, nil))
		require.NoError(t, err)
		alive, err := b.server.SessionAlive(t.Context(), s.ConnectionID())
		require.NoError(t, err)
		require.False(t, alive)
		require.NoError(t, pool.Close(t.Context()))
		_, err = b.open(t)
		require.NoError(t, err)
	})
}

// A crash at each effect of an adoption: the same order again finishes it; or an ordinary opening does, unless it
// stops, and then the order does. Either way each fate is carried out, once.
func TestAdoptMayBeRepeatedAfterACrash(t *testing.T) {
	t.Parallel()
	for _, ordinary := range []bool{false, true} {
		name := "the same order again"
		if ordinary {
			name = "an ordinary opening"
		}
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, b *bench) {
				recorder := &fault.Recorder{}
				b.adoptOnce(t, recorder, false)
				for _, p := range recorder.Reached() {
					differs := p.Op == fault.DecisionWrite || p.Op == fault.Commit || p.Op == fault.Rollback
					if b.attached() && !differs {
						continue
					}
					for nth := 1; nth <= recorder.Count(p) && (nth == 1 || p.Op == fault.DecisionWrite); nth++ {
						b.adoptOnce(t, newCrash(p, nth), ordinary)
					}
				}
			})
		})
	}
}

// adoptOnce makes a job that another store left, and adopts it while in acts; a crash is followed up.
func (b *bench) adoptOnce(t *testing.T, in fault.Injector, ordinary bool) {
	t.Helper()
	b.exec(t, "DELETE FROM `"+b.name+"`.`target`")
	b.renew(t)
	b.committed(t, b.id(1, 2, 1), 1)
	b.dead(t, b.id(1, 2, 2), 2)
	b.dead(t, b.id(1, 3, 1), 3)
	order := b.order(b.store, map[xa.ID]recovery.Fate{b.id(1, 2, 2): recovery.FateCommit, b.id(1, 3, 1): recovery.FateRollBack})
	adopt := func() error {
		_, err := recovery.Adopt(t.Context(), order)
		return err
	}
	b.faults.arm(in)
	c, crashes := in.(*crash)
	if !crashes {
		require.NoError(t, adopt())
		b.faults.disarm()
		return
	}
	frozen, thaw := c.freezes(adopt)
	b.faults.disarm()
	require.True(t, frozen, c)
	if ordinary {
		_, err := b.open(t)
		var stop *recovery.Stop
		if err != nil {
			require.ErrorAs(t, err, &stop, c)
			ordinary = false
		}
	}
	if !ordinary {
		require.NoError(t, adopt(), c)
	}
	settled := func() {
		require.Equal(t, []int{1, 2}, b.rows(t), c)
		require.Empty(t, b.prepared(t), c)
	}
	settled()
	info, err := b.store.Peek(t.Context(), b.job)
	require.NoError(t, err)
	require.Equal(t, position("stated"), info.Last.Positions, c)
	_ = thaw() // it may have been before its claim, and succeed
	settled()
	_, err = b.open(t)
	require.NoError(t, err, c)
	settled()
}

// A decision that is in doubt is written again, the identical one, until it is accepted.
func TestAdoptResolvesADecisionInDoubt(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		in, err := fault.Parse("fail@after:decision-write#1,fail@before:decision-write#2")
		require.NoError(t, err)
		b.faults.arm(in)
		done, err := recovery.Adopt(t.Context(), b.order(b.store, nil))
		require.NoError(t, err)
		require.EqualValues(t, 1, done.Decision.Number)
	})
}

func TestResetAsksForThePosition(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		b.left(t)
		order := b.order(state.NewMemory(), map[xa.ID]recovery.Fate{
			b.id(3, 2, 2): recovery.FateRollBack, b.id(3, 5, 1): recovery.FateRollBack,
		})
		start := func(context.Context) ([]state.Position, error) { return position("anew"), nil }
		_, err := recovery.Reset(t.Context(), order, start)
		require.ErrorContains(t, err, "Adopt")
		order.Positions = nil
		failed := errors.New("the source is away")
		_, err = recovery.Reset(t.Context(), order, func(context.Context) ([]state.Position, error) { return nil, failed })
		require.ErrorIs(t, err, failed)
		require.Len(t, b.prepared(t), 2)

		done, err := recovery.Reset(t.Context(), order, start)
		require.NoError(t, err)
		require.Equal(t, position("anew"), done.Decision.Positions)
		require.EqualValues(t, 4, done.Epoch, "no epoch is forgotten")
		require.Equal(t, 2, done.RolledBack)
		require.Equal(t, []int{1}, b.rows(t))
	})
}
