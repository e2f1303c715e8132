package recovery_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

func TestLookCreatesNothing(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		nowhere, err := ledger.New("xasink_nowhere_" + unique(t))
		require.NoError(t, err)
		view, err := recovery.Look(t.Context(), b.server, nowhere, b.job)
		require.NoError(t, err)
		require.Nil(t, view.Job)
		require.Nil(t, view.Check(b.store.ID(), state.Info{}))
		require.Zero(t, view.Floor())
		_, err = nowhere.Proofs(t.Context(), b.admin, b.job)
		require.ErrorIs(t, err, ledger.ErrAbsent)
	})
}

// The very first opening, and the second one.
func TestOpeningOfANewJob(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		first, err := b.open(t)
		require.NoError(t, err)
		require.EqualValues(t, 1, first.claim.Epoch())
		require.Zero(t, first.report.Part.Whole)
		require.Empty(t, first.report.Part.Pending)
		row, err := b.ledger.Job(t.Context(), b.admin, b.job)
		require.NoError(t, err)
		require.Equal(t, b.store.ID(), row.Store)
		require.EqualValues(t, 1, row.Epoch)
		require.EqualValues(t, 4, row.Lanes)
		require.Equal(t, first.report.Identity.Name, row.Server)

		second, err := b.open(t)
		require.NoError(t, err)
		require.EqualValues(t, 2, second.claim.Epoch())
		require.EqualValues(t, 1, second.report.Part.Whole)
	})
}

// B01, B02, T08, D02, N01, N02, F08, K06, K07: everything that an opening can find, at once.
func TestB01_EachBranchGetsItsFate(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		foreign := b.foreign(t)
		b.committed(t, b.id(1, 2, 1), 1)
		b.dead(t, b.id(1, 2, 2), 2)
		b.dead(t, b.id(1, 3, 1), 3)
		b.dead(t, b.id(1, 2, 3), 4)
		b.list(t, b.id(1, 2, 1), b.id(1, 2, 2), b.id(1, 3, 1))

		o, err := b.open(t)
		require.NoError(t, err)
		require.Equal(t, []int{1, 2, 3}, b.rows(t))
		require.Equal(t, 2, o.report.Committed)
		require.Equal(t, 1, o.report.Already)
		require.Equal(t, 1, o.report.RolledBack)
		require.Empty(t, b.prepared(t))
		require.Contains(t, b.scan(t), foreign)
		left, err := recovery.Remaining(t.Context(), b.server, b.job)
		require.NoError(t, err)
		require.Empty(t, left)

		require.Equal(t, []state.Lane{{Number: 2, Epoch: 1, Seq: 2}, {Number: 3, Epoch: 1, Seq: 1}}, o.report.Part.Lanes)
		require.EqualValues(t, 1, o.report.Part.Whole)
		require.Empty(t, o.report.Part.Pending)

		again, err := b.open(t)
		require.NoError(t, err)
		require.Zero(t, again.report.Committed+again.report.Already+again.report.RolledBack)
		require.Equal(t, []int{1, 2, 3}, b.rows(t))
	})
}

// T10: somebody rolled one of three listed branches back. The report is whole, and nothing is committed.
func TestT10_LostBranchStopsWithTheWholeReport(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		before := b.decide(t, state.Part{})
		b.dead(t, b.id(1, 2, 1), 1)
		b.dead(t, b.id(1, 2, 3), 3)
		b.committed(t, b.id(1, 3, 1), 4)
		b.list(t, b.id(1, 2, 1), b.id(1, 2, 2), b.id(1, 2, 3), b.id(1, 3, 1))

		_, err := b.open(t)
		var lost *recovery.LostError
		require.ErrorAs(t, err, &lost)
		require.Len(t, lost.Lost, 1)
		require.Equal(t, b.id(1, 2, 2), lost.Lost[0].ID)
		require.Equal(t, []xa.ID{b.id(1, 2, 1), b.id(1, 2, 3)}, lost.Prepared)
		require.Len(t, lost.Committed, 1)
		require.Equal(t, []recovery.TableReport{{Table: b.name + ".target", Committed: 1}}, lost.Tables)
		require.Equal(t, before.Number, lost.Target)
		require.Equal(t, before.Positions, lost.From)
		require.NotEmpty(t, lost.Ways)
		require.Equal(t, []int{4}, b.rows(t))
		require.ElementsMatch(t, []xa.ID{b.id(1, 2, 1), b.id(1, 2, 3)}, b.prepared(t))
	})
}

// T09, N09, G078: a scan that cannot see is an error at whatever step, never an empty list, and nothing is concluded.
func TestT09_ScanThatCannotSeeIsAnError(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		b.dead(t, b.id(1, 2, 1), 1)
		b.dead(t, b.id(1, 2, 2), 2)
		b.list(t, b.id(1, 2, 1))
		var scans atomic.Int64
		w := b.wired(t, &wire{})
		for refused := int64(1); refused <= 4; refused++ {
			scans.Store(0)
			w.set(func(statement string) error {
				if statement == "XA RECOVER" && scans.Add(1) == refused {
					return refusal(1401, "XAER_RMERR")
				}
				return nil
			})
			_, err := b.open(t)
			if scans.Load() < refused {
				break // an opening needs no more scans than that
			}
			require.ErrorIs(t, err, xa.ErrNoRecoverPrivilege)
			require.Len(t, b.prepared(t), 2)
			require.Empty(t, b.rows(t))
		}
		w.set(nil)
		_, err := b.open(t)
		require.NoError(t, err)
		requireCommitted(t, b)
	})
}

func requireStop(t *testing.T, err error, kind recovery.StopKind) *recovery.Stop {
	t.Helper()
	var stop *recovery.Stop
	require.ErrorAs(t, err, &stop)
	require.Equal(t, kind, stop.Kind, stop.Error())
	require.NotEmpty(t, stop.Ways)
	return stop
}

func TestSecondInstallationStops(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		o, err := b.open(t)
		require.NoError(t, err)
		id, _ := o.prepare(t, 2, 1, 1)
		o.list(t, id)

		_, err = b.openOn(t, b.server, state.NewMemory())
		stop := requireStop(t, err, recovery.StopOtherStore)
		require.ErrorContains(t, err, b.store.ID().String())
		require.Equal(t, b.store.ID(), stop.Row.Store)
		require.Equal(t, []xa.ID{id}, b.prepared(t), "nothing was touched")
		require.NoError(t, o.commit(t, id, o.holder()), "the first installation works on")
	})
}

func TestDeletedStateFileStops(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		_, err := b.open(t)
		require.NoError(t, err)
		_, err = b.openOn(t, b.server, state.NewMemory())
		requireStop(t, err, recovery.StopOtherStore)
		require.ErrorContains(t, err, "never claimed")
	})
}

func TestOldCopyOfTheStoreStops(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		for range 2 {
			_, err := b.open(t)
			require.NoError(t, err)
		}
		view, err := recovery.Look(t.Context(), b.server, b.ledger, b.job)
		require.NoError(t, err)
		stop := view.Check(b.store.ID(), state.Info{Epoch: 1})
		require.NotNil(t, stop)
		requireStop(t, stop, recovery.StopOldStore)
		require.Nil(t, view.Check(b.store.ID(), state.Info{Epoch: 2}))
	})
}

func TestBranchOfALaterEpochStops(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		_, err := b.open(t)
		require.NoError(t, err)
		b.dead(t, b.id(2, 2, 1), 1)
		_, err = b.open(t)
		stop := requireStop(t, err, recovery.StopLaterBranch)
		require.Equal(t, []xa.ID{b.id(2, 2, 1)}, stop.Branches)
		require.Equal(t, []xa.ID{b.id(2, 2, 1)}, b.prepared(t))
		info, err := b.store.Peek(t.Context(), b.job)
		require.NoError(t, err)
		require.EqualValues(t, 1, info.Epoch, "nothing was claimed")
	})
}

func TestLiveMarkOfAnUnknownJobStops(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		pool := xa.NewPool(b.server, xa.PoolConfig{Job: b.job, MarksPerLane: 4})
		session, err := pool.Take(t.Context(), 2)
		require.NoError(t, err)
		_, err = b.open(t)
		stop := requireStop(t, err, recovery.StopUnknownOwner)
		require.Equal(t, []xa.MarkHolder{{Mark: session.Mark(), Session: session.ConnectionID()}}, stop.Sessions)
		alive, err := b.server.SessionAlive(t.Context(), session.ConnectionID())
		require.NoError(t, err)
		require.True(t, alive, "it was not killed")
		require.NoError(t, pool.Close(t.Context()))
		_, err = b.open(t)
		require.NoError(t, err)
	})
}

// A copy of the store that is older than the database is found by the proof rows, where the job row was deleted too.
func TestProofRowsBeyondTheStoreStop(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		b.committed(t, b.id(1, 2, 7), 1)
		b.decide(t, state.Part{})
		_, err := b.open(t)
		stop := requireStop(t, err, recovery.StopStoreBehind)
		require.Equal(t, []xa.ID{b.id(1, 2, 7)}, stop.Branches)
	})
}

// The server took a commit back: prepared again, below what the store knows as committed.
func TestCommitsTakenBackStop(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		b.dead(t, b.id(1, 2, 1), 1)
		b.committed(t, b.id(1, 2, 2), 2)
		b.decide(t, state.Part{Lanes: []state.Lane{{Number: 2, Epoch: 1, Seq: 2}}})
		_, err := b.open(t)
		requireStop(t, err, recovery.StopTakenBack)
		require.Equal(t, []xa.ID{b.id(1, 2, 1)}, b.prepared(t))
	})
}

func TestRestartedOrExchangedServerIsAFailure(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		view, err := recovery.Look(t.Context(), b.server, b.ledger, b.job)
		require.NoError(t, err)
		owner := recovery.Owner{Job: b.job, Store: uuid.New(), Run: uuid.New(), Epoch: 1}
		pool := xa.NewPool(b.server, xa.PoolConfig{Job: b.job})
		recover := func(view recovery.View) error {
			_, err := recovery.Recover(t.Context(), recovery.Opening{
				Server: b.server, Ledger: b.ledger, Pool: pool, Owner: owner, View: view, Bounds: state.Bounds{Lanes: 4, Marks: 4},
			})
			return err
		}
		for name, change := range map[string]func(*xa.Identity){
			"restarted": func(i *xa.Identity) { i.Started = i.Started.Add(-time.Minute) },
			"another":   func(i *xa.Identity) { i.Name = "elsewhere" },
		} {
			other := view
			change(&other.Identity)
			err := recover(other)
			var server *recovery.ServerError
			require.ErrorAs(t, err, &server)
			require.ErrorContains(t, err, name)
			require.Equal(t, view.Identity.Name, server.Have.Name)
		}
		row, err := b.ledger.Job(t.Context(), b.admin, b.job)
		require.NoError(t, err)
		require.Nil(t, row, "nothing was created")

		// A session of a later start is not admitted.
		o, err := b.open(t)
		require.NoError(t, err)
		saw := o.report.Identity
		saw.Started = saw.Started.Add(-time.Minute)
		strict := xa.NewPool(b.server, xa.PoolConfig{
			Job: b.job, MarksPerLane: 4, Admit: recovery.Admit(b.server, b.ledger, o.owner, saw),
		})
		_, err = strict.Take(t.Context(), recovery.LaneCommitter)
		var server *recovery.ServerError
		require.ErrorAs(t, err, &server)
	})
}

func TestDetachWaitIsNeverShort(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		_, err := recovery.Recover(t.Context(), recovery.Opening{
			Server: b.server, Ledger: b.ledger, Pool: xa.NewPool(b.server, xa.PoolConfig{Job: b.job}),
			Owner: recovery.Owner{Job: b.job, Store: uuid.New(), Run: uuid.New(), Epoch: 1}, DetachWait: time.Second - 1,
			View: recovery.View{Name: b.job},
		})
		require.ErrorContains(t, err, "detach wait")
	})
}

// On an attached server no verb names an old branch before the detach wait is over, whether or not a mark was held.
func TestOpeningWaitsForTheDetach(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		begin := time.Now()
		_, err := b.open(t)
		require.NoError(t, err)
		if b.attached() {
			require.GreaterOrEqual(t, time.Since(begin), recovery.MinDetachWait)
		}
	})
}
