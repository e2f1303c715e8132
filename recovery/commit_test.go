package recovery_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// listed opens the job and leaves it with one prepared branch with row 1, which its newest decision lists.
func (b *bench) listed(t *testing.T) (*owner, xa.ID) {
	t.Helper()
	o, err := b.open(t)
	require.NoError(t, err)
	id, _ := o.prepare(t, recovery.FirstLane, 1, 1)
	o.list(t, id)
	return o, id
}

// holder is the session that Commit is given: the one that prepared, where the server keeps the branch there.
func (o *owner) holder() *xa.Session {
	if o.b.attached() {
		return o.parked
	}
	return nil
}

func requireCommitted(t *testing.T, b *bench) {
	t.Helper()
	require.Equal(t, []int{1}, b.rows(t))
	require.Empty(t, b.prepared(t))
}

// An OK is believed on a detached server and on the session that prepared; then no ledger is read.
func TestCommitBelievesOKWhereItIsProof(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		o, id := b.listed(t)
		b.ledger = b.ledger.WithFaults(fault.FailAt(fault.Before(fault.LedgerRead), 0, nil))
		require.NoError(t, o.commit(t, id, o.holder()))
		requireCommitted(t, b)
		require.Equal(t, xa.None, o.parked.State())
	})
}

// Elsewhere on an attached server an OK proves nothing: here the server commits nothing for it, at first.
func TestCommitChecksTheLedgerOnAttachedServers(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		b.dead(t, b.id(1, 2, 1), 1)
		b.list(t, b.id(1, 2, 1))
		var sent atomic.Int64
		b.wired(t, &wire{answer: func(statement string) error {
			if strings.HasPrefix(statement, "XA COMMIT") && sent.Add(1) == 1 && b.attached() {
				return errOK
			}
			return nil
		}})
		o, err := b.open(t)
		require.NoError(t, err)
		require.Equal(t, 1, o.report.Committed)
		requireCommitted(t, b)
		want := map[bool]int64{true: 2, false: 1}
		require.Equal(t, want[b.attached()], sent.Load())
	})
}

// However often an attached server says OK: without a proof row it is no success.
func TestOKWithoutAnEffectIsNeverBelieved(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		if !b.attached() {
			t.Skip("on a detached server an OK is proof")
		}
		w := b.wired(t, &wire{})
		o, err := b.open(t)
		require.NoError(t, err)
		id := b.id(1, 2, 1)
		b.zombie(t, id, 1)()
		w.set(func(statement string) error {
			if strings.HasPrefix(statement, "XA COMMIT") {
				return errOK
			}
			return nil
		})
		err = recovery.Commit(t.Context(), recovery.CommitRequest{
			Server: b.server, Pool: o.pool, Lane: recovery.LaneCommitter, Ledger: b.ledger, Owner: o.owner,
			Bounds: state.Bounds{Lanes: 4, Marks: 4}, ID: id, Deadline: 4 * time.Second,
		})
		require.Equal(t, xa.InDoubt, xa.OutcomeOf(err))
		require.ErrorContains(t, err, "proves nothing")
		require.Equal(t, []xa.ID{id}, b.prepared(t))
	})
}

// D02, F17, V07, N15: a branch that is committed already is a success, by its proof row alone.
func TestD02_CommitTwice(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		o, id := b.listed(t)
		require.NoError(t, o.commit(t, id, o.holder()))
		require.NoError(t, o.commit(t, id, nil))
		requireCommitted(t, b)
	})
}

// G041, G062, N15: an unknown branch without a proof row is lost, and the call ends.
func TestG062_UnknownAndAbsentIsLost(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		o, err := b.open(t)
		require.NoError(t, err)
		id := b.id(1, 2, 1)
		err = o.commit(t, id, nil)
		var lost *recovery.LostError
		require.ErrorAs(t, err, &lost)
		require.Equal(t, id, lost.Lost[0].ID)
		require.ErrorIs(t, err, xa.ErrUnknownID)
		require.ErrorContains(t, err, id.String())
	})
}

// T06: the connection fails twice, the third attempt is the one. G066: the answer is lost, the effect is there.
func TestT06_LostConnectionsAreRepeated(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"fail@before:xa-commit#1,fail@before:xa-commit#2", "fail@after:xa-commit#1",
	} {
		t.Run(script, func(t *testing.T) {
			onServers(t, func(t *testing.T, b *bench) {
				o, id := b.listed(t)
				in, err := fault.Parse(script)
				require.NoError(t, err)
				b.faults.arm(in)
				require.NoError(t, o.commit(t, id, o.holder()))
				b.faults.disarm()
				requireCommitted(t, b)
			})
		})
	}
}

// S25, and refusals that pass: the branch stays prepared, its session stays held, and the same COMMIT succeeds later.
func TestS25_RefusalsThatPassAreRepeated(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		refusals := []uint16{1205, 1317, 1290}
		var sent atomic.Int64
		w := b.wired(t, &wire{})
		o, id := b.listed(t)
		w.set(func(statement string) error {
			if !strings.HasPrefix(statement, "XA COMMIT") {
				return nil
			}
			if n := int(sent.Add(1)); n <= len(refusals) {
				return refusal(refusals[n-1], "not now")
			}
			return nil
		})
		sessions := o.pool.Sessions()
		require.NoError(t, o.commit(t, id, o.holder()))
		requireCommitted(t, b)
		require.EqualValues(t, 4, sent.Load())
		if b.attached() {
			require.Equal(t, sessions, o.pool.Sessions(), "no other session was needed")
		}
	})
}

// G088, G084: what is refused for good ends with an error that says so, and never becomes a success; the branch is
// still there for recovery.
func TestG084_RefusedUntilTheDeadline(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		w := b.wired(t, &wire{})
		o, id := b.listed(t)
		w.set(func(statement string) error {
			if strings.HasPrefix(statement, "XA COMMIT") {
				return refusal(1290, "read only")
			}
			return nil
		})
		err := recovery.Commit(t.Context(), recovery.CommitRequest{
			Server: b.server, Pool: o.pool, Lane: recovery.LaneCommitter, Ledger: b.ledger, Owner: o.owner, ID: id,
			Session: o.holder(), Deadline: 300 * time.Millisecond,
		})
		require.Equal(t, xa.Refused, xa.OutcomeOf(err))
		require.ErrorContains(t, err, "still prepared")
		require.Equal(t, []xa.ID{id}, b.prepared(t))

		w.set(nil)
		again, err := b.open(t)
		require.NoError(t, err)
		require.Equal(t, 1, again.report.Committed)
		requireCommitted(t, b)
	})
}

// T05: an answer of unknown meaning (XAER_RMERR) is repeated twice and then is an error, in doubt.
func TestT05_UnknownAnswersAreInDoubt(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		var sent atomic.Int64
		w := b.wired(t, &wire{})
		o, id := b.listed(t)
		w.set(func(statement string) error {
			if strings.HasPrefix(statement, "XA COMMIT") {
				sent.Add(1)
				return refusal(1401, "XAER_RMERR")
			}
			return nil
		})
		err := o.commit(t, id, o.holder())
		require.Equal(t, xa.InDoubt, xa.OutcomeOf(err))
		require.ErrorContains(t, err, "1401")
		require.EqualValues(t, 3, sent.Load())
		w.set(nil)
		again, err := b.open(t)
		require.NoError(t, err)
		require.Equal(t, 1, again.report.Committed)
		requireCommitted(t, b)
	})
}

// T07: XA_RB* means that the branch is rolled back: no retry, a hard failure that names it.
func TestT07_RolledBackIsLost(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		var sent atomic.Int64
		w := b.wired(t, &wire{})
		o, id := b.listed(t)
		w.set(func(statement string) error {
			if strings.HasPrefix(statement, "XA COMMIT") {
				sent.Add(1)
				return refusal(1402, "XA_RBROLLBACK")
			}
			return nil
		})
		err := o.commit(t, id, o.holder())
		var lost *recovery.LostError
		require.ErrorAs(t, err, &lost)
		require.ErrorContains(t, err, id.String())
		require.ErrorIs(t, err, xa.ErrRolledBack)
		require.EqualValues(t, 1, sent.Load())
	})
}

// The same in recovery gives the whole report.
func TestT07_RolledBackInRecoveryIsReportedWhole(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		b.dead(t, b.id(1, 2, 1), 1)
		b.dead(t, b.id(1, 2, 2), 2)
		b.list(t, b.id(1, 2, 1), b.id(1, 2, 2))
		x := b.id(1, 2, 2).XID()
		b.wired(t, &wire{answer: func(statement string) error {
			if statement != "XA COMMIT "+x.SQL() {
				return nil
			}
			b.exec(t, "XA ROLLBACK "+x.SQL())
			return refusal(1402, "XA_RBROLLBACK")
		}})
		_, err := b.open(t)
		var lost *recovery.LostError
		require.ErrorAs(t, err, &lost)
		require.EqualValues(t, 1, lost.Decision)
		require.Equal(t, b.id(1, 2, 2), lost.Lost[0].ID)
		require.Len(t, lost.Committed, 1)
		require.ErrorIs(t, err, xa.ErrRolledBack)
	})
}

// L03, T21: on an attached server the branch is held by a live session of its lane, which is ended; on a detached one
// that session does not matter.
func TestL03_BranchHeldByALiveSession(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		o, id := b.listed(t)
		require.NoError(t, o.commit(t, id, nil))
		requireCommitted(t, b)
		alive, err := b.server.SessionAlive(t.Context(), o.parked.ConnectionID())
		require.NoError(t, err)
		require.Equal(t, !b.attached(), alive)
	})
}

// A session without a mark holds the branch: it cannot be found, so nothing is concluded until it ends.
func TestBranchHeldByAnUnknownSession(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		if !b.attached() {
			t.Skip("on a detached server no session holds a prepared branch")
		}
		o, err := b.open(t)
		require.NoError(t, err)
		id := b.id(1, 2, 1)
		end := b.zombie(t, id, 1)
		err = recovery.Commit(t.Context(), recovery.CommitRequest{
			Server: b.server, Pool: o.pool, Lane: recovery.LaneCommitter, Ledger: b.ledger, Owner: o.owner,
			Bounds: state.Bounds{Lanes: 4, Marks: 4}, ID: id, Deadline: 3 * time.Second,
		})
		require.Equal(t, xa.InDoubt, xa.OutcomeOf(err))
		var lost *recovery.LostError
		require.NotErrorAs(t, err, &lost)
		require.Equal(t, []xa.ID{id}, b.prepared(t))
		end()
		require.NoError(t, o.commit(t, id, nil))
		requireCommitted(t, b)
	})
}

// A newer owner has raised the job row: a fresh session is not admitted, and both ErrFenced match.
func TestCommitOfAFencedOwner(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		o, err := b.open(t)
		require.NoError(t, err)
		row, err := b.ledger.Job(t.Context(), b.admin, b.job)
		require.NoError(t, err)
		next := *row
		next.Epoch, next.Run = row.Epoch+1, uuid.New()
		require.NoError(t, b.ledger.Raise(t.Context(), b.admin, row, next))
		err = o.commit(t, b.id(1, 2, 1), nil)
		require.ErrorIs(t, err, state.ErrFenced)
		require.ErrorIs(t, err, ledger.ErrFenced)
	})
}

// A context that has ended sends nothing; one that ends later changes nothing.
func TestCommitAndContexts(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		o, id := b.listed(t)
		ctx, cancel := context.WithCancel(t.Context())
		request := recovery.CommitRequest{
			Server: b.server, Pool: o.pool, Lane: recovery.LaneCommitter, Ledger: b.ledger, Owner: o.owner,
			Bounds: state.Bounds{Lanes: 4, Marks: 4}, ID: id, Session: o.holder(),
		}
		// It ends in the middle of a COMMIT whose connection fails, so that there is still something to do.
		b.faults.arm(fault.All(onPoint{fault.Before(fault.Commit), cancel}, fault.FailAt(fault.Before(fault.Commit), 1, nil)))
		require.NoError(t, recovery.Commit(ctx, request))
		require.Error(t, ctx.Err())
		requireCommitted(t, b)

		request.ID, request.Session = b.id(1, 2, 2), nil
		err := recovery.Commit(ctx, request)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, xa.Refused, xa.OutcomeOf(err))
	})
}

// onPoint calls do at a point and never fails.
type onPoint struct {
	point fault.Point
	do    func()
}

func (o onPoint) At(_ context.Context, p fault.Point) error {
	if p == o.point {
		o.do()
	}
	return nil
}

func (o onPoint) String() string { return "do@" + o.point.String() }

// N12, N16: an orphan that is gone before the ROLLBACK is a quiet success; a lost answer is repeated.
func TestN12_RollbackOfWhatIsGone(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"fail@after:xa-rollback#1", "fail@before:xa-rollback#1,fail@before:xa-rollback#2"} {
		t.Run(script, func(t *testing.T) {
			onServers(t, func(t *testing.T, b *bench) {
				b.dead(t, b.id(1, 2, 1), 1)
				b.decide(t, state.Part{})
				in, err := fault.Parse(script)
				require.NoError(t, err)
				b.faults.arm(in)
				o, err := b.open(t)
				require.NoError(t, err)
				require.Equal(t, 1, o.report.RolledBack)
				require.Empty(t, b.prepared(t))
				require.Empty(t, b.rows(t))
			})
		})
	}
}

// Somebody commits an orphan by hand while it is to be rolled back: its rows would come twice, so the job stops.
func TestOrphanCommittedByHandStops(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		b.dead(t, b.id(1, 2, 1), 1)
		b.decide(t, state.Part{})
		x := b.id(1, 2, 1).XID()
		b.wired(t, &wire{answer: func(statement string) error {
			if strings.HasPrefix(statement, "XA ROLLBACK") {
				b.exec(t, "XA COMMIT "+x.SQL())
			}
			return nil
		}})
		_, err := b.open(t)
		requireStop(t, err, recovery.StopStoreBehind)
	})
}

// inLimbo makes an attached server say that it holds transactions which it does not list, from the first statement on
// that begins with since.
func inLimbo(since string) *wire {
	var begun atomic.Bool
	return &wire{
		answer: func(statement string) error {
			if strings.HasPrefix(statement, since) {
				begun.Store(true)
			}
			return nil
		},
		rewrite: func(query string) string {
			if begun.Load() && strings.Contains(query, "trx_mysql_thread_id = 0") {
				return strings.Replace(query, "COUNT(*)", "1000 + COUNT(*)", 1)
			}
			return query
		},
	}
}

// A listed branch that is missing while an attached server holds a transaction that it does not list is in limbo: a
// restart of the server brings it back, so that it is not reported as lost.
func TestMissingBranchInLimboStopsWithTheRestart(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		b.list(t, b.id(1, 2, 1))
		b.wired(t, inLimbo(""))
		_, err := b.open(t)
		if !b.attached() {
			var lost *recovery.LostError
			require.ErrorAs(t, err, &lost, "a detached server has no limbo")
			return
		}
		stop := requireStop(t, err, recovery.StopLimbo)
		require.ErrorContains(t, stop, "restart")
	})
}

// Limbo that was there before, and none of the job's listed branches missing: it is somebody else's, and the job goes on.
func TestLimboOfSomebodyElseStopsNobody(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		b.dead(t, b.id(1, 2, 1), 1)
		b.dead(t, b.id(1, 2, 2), 2)
		b.list(t, b.id(1, 2, 1))
		b.wired(t, inLimbo(""))
		o, err := b.open(t)
		require.NoError(t, err)
		require.Equal(t, 1, o.report.Committed)
		require.Equal(t, 1, o.report.RolledBack)
		require.Empty(t, b.prepared(t))
	})
}

// A rollback after which the server holds one transaction more that it does not list has put the branch into limbo.
func TestRollbackIntoLimboStops(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		b.dead(t, b.id(1, 2, 1), 1)
		b.dead(t, b.id(1, 2, 2), 2)
		b.list(t, b.id(1, 2, 1))
		b.wired(t, inLimbo("XA ROLLBACK "))
		_, err := b.open(t)
		if !b.attached() {
			require.NoError(t, err, "a detached server has no limbo")
			return
		}
		stop := requireStop(t, err, recovery.StopLimbo)
		require.ErrorContains(t, stop, "restart")
	})
}
