package recovery_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// owner is a process run that opened the job.
type owner struct {
	b      *bench
	server *xa.Server
	claim  state.Claim
	pool   *xa.Pool
	report recovery.Report
	owner  recovery.Owner
	parked *xa.Session // the latest session that prepared a branch
}

// open is the whole opening of a job, as a sink makes it. What a failed one had is left behind as a crash leaves it:
// its sessions live on until the server or the next owner ends them.
func (b *bench) open(t *testing.T) (*owner, error) {
	t.Helper()
	return b.openOn(t, b.server, b.store)
}

func (b *bench) openOn(t *testing.T, server *xa.Server, store state.Store) (*owner, error) {
	t.Helper()
	ctx := t.Context()
	l := b.ledger.WithFaults(b.faults)
	view, err := recovery.Look(ctx, server, l, b.job)
	if err != nil {
		return nil, err
	}
	info, err := store.Peek(ctx, b.job)
	if err != nil {
		return nil, err
	}
	if stop := view.Check(store.ID(), info); stop != nil {
		return nil, stop
	}
	run := uuid.New()
	claim, err := store.Claim(ctx, b.job, state.ClaimRequest{After: &info.Epoch, Floor: view.Floor(), Run: run})
	if err != nil {
		return nil, err
	}
	o := &owner{
		b: b, server: server, claim: claim,
		owner: recovery.Owner{Job: b.job, Store: store.ID(), Run: run, Epoch: claim.Epoch()},
	}
	o.pool = xa.NewPool(server, xa.PoolConfig{
		Job: b.job, MarksPerLane: 4, Admit: recovery.Admit(server, l, o.owner, view.Identity),
	})
	t.Cleanup(func() { require.NoError(t, o.pool.Close(context.Background())) })
	o.report, err = recovery.Recover(ctx, recovery.Opening{
		Server: server, Ledger: b.ledger, Pool: o.pool, Owner: o.owner, View: view, Decisions: claim.History(),
		Bounds: state.Bounds{Lanes: 4, Marks: 4}, Faults: b.faults, Logger: b.log,
	})
	if err != nil {
		return nil, err
	}
	positions := position("start")
	if last := claim.Last(); last != nil {
		positions = last.Positions
	}
	return o, o.decide(t, positions, o.report.Part)
}

func (o *owner) decide(t *testing.T, positions []state.Position, part state.Part) error {
	t.Helper()
	d := state.Next(o.claim.Last(), o.claim.Epoch(), o.owner.Store, o.owner.Run, o.b.job, positions, part, time.Now())
	return o.claim.Commit(t.Context(), d)
}

// prepare makes a branch of the owner's own epoch with one row, on a session of its pool.
func (o *owner) prepare(t *testing.T, lane uint32, seq uint64, row int) (xa.ID, *xa.Session) {
	t.Helper()
	id := o.b.id(o.claim.Epoch(), lane, seq)
	proof, err := o.b.ledger.ProofSQL(ledger.Proof{ID: id, Run: o.owner.Run})
	require.NoError(t, err)
	s, err := o.pool.Take(t.Context(), lane)
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context(), id))
	_, err = s.Exec(t.Context(), o.b.insert(row))
	require.NoError(t, err)
	_, err = s.LedgerExec(t.Context(), proof)
	require.NoError(t, err)
	require.NoError(t, s.End(t.Context()))
	require.NoError(t, s.Prepare(t.Context()))
	o.parked = s
	return id, s
}

// list is a decision of the owner that lists the given branches.
func (o *owner) list(t *testing.T, ids ...xa.ID) {
	t.Helper()
	branches := make([]state.Branch, len(ids))
	for i, id := range ids {
		branches[i] = state.Branch{Server: o.report.Identity.Name, ID: id, Rows: 1}
	}
	part := o.report.Part
	part.Pending = state.Merge(branches)
	require.NoError(t, o.decide(t, position("next"), part))
}

func (o *owner) commit(t *testing.T, id xa.ID, session *xa.Session) error {
	t.Helper()
	return recovery.Commit(t.Context(), recovery.CommitRequest{
		Server: o.server, Pool: o.pool, Lane: recovery.LaneCommitter, Ledger: o.b.ledger, Owner: o.owner,
		Bounds: state.Bounds{Lanes: 4, Marks: 4}, ID: id, Session: session, Logger: o.b.log, Deadline: 20 * time.Second,
	})
}
