package txnsinktest

import (
	"context"
	"slices"
	"time"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// recovering is one recovery: the order of an opening from the job row on (docs/design.md, Order of an opening), with recovery.Plan to decide.
type recovering struct {
	*base
	decisions []state.Decision
	proofs    []ledger.Proof
	report    recovery.Report
}

func (r *recovering) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{r.raise, r.plan, r.commitListed, r.rollBackOrphans} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	r.finish()
	return nil
}

// current is the current decision; zero for a new job.
func (r *recovering) current() state.Decision {
	if n := len(r.decisions); n > 0 {
		return r.decisions[n-1]
	}
	return state.Decision{}
}

// raise makes the claim's owner the only one.
func (r *recovering) raise(ctx context.Context) error {
	b := state.Bounds{Lanes: recovery.FirstLane + uint32(len(r.lanes)), Marks: marksPerLane}
	if row := r.view.Job; row != nil {
		b.Lanes, b.Marks = max(b.Lanes, row.Lanes), max(b.Marks, row.Marks)
	}
	r.report.Part.Bounds = b
	r.report.Identity = r.view.Identity
	next := ledger.Job{
		Name: r.owner.Job, Store: r.owner.Store, Run: r.owner.Run, Epoch: r.owner.Epoch, Lanes: b.Lanes, Marks: b.Marks,
		Server: r.view.Identity.Name, Started: r.view.Identity.Started,
	}
	return r.effect(ctx, fault.LedgerRaise, xa.VerbQuery, xa.ID{}, func() error {
		if err := r.db.raise(r.view.Job, next); err != nil {
			return err
		}
		r.raised = true
		return nil
	})
}

// plan scans, then reads the proof rows, and plans.
func (r *recovering) plan(ctx context.Context) error {
	scan, err := r.scan(ctx)
	if err != nil {
		return err
	}
	err = r.effect(ctx, fault.LedgerRead, xa.VerbQuery, xa.ID{}, func() error {
		r.proofs = r.db.jobProofs(r.owner.Job)
		return nil
	})
	if err != nil {
		return err
	}
	actions, stop := recovery.Plan(r.owner.Job, r.decisions, r.owner.Epoch, scan, r.proofs)
	r.report.Actions = actions
	if stop != nil {
		stop.Server = address
		return stop
	}
	if len(r.actions(recovery.ActionLost)) > 0 {
		return r.lost()
	}
	return nil
}

func (r *recovering) actions(kind recovery.ActionKind) []recovery.Action {
	return slices.DeleteFunc(slices.Clone(r.report.Actions), func(a recovery.Action) bool { return a.Kind != kind })
}

// lost is the report of branches that the current decision lists and the database has not.
func (r *recovering) lost() error {
	current := r.current()
	e := &recovery.LostError{
		Job: r.owner.Job, Server: address, Epoch: r.owner.Epoch, Decision: current.Number, Time: time.Now(), To: current.Positions,
	}
	for _, a := range r.actions(recovery.ActionLost) {
		i := slices.IndexFunc(current.Pending, func(p state.Range) bool {
			return p.Epoch == a.ID.Epoch && p.Lane == a.ID.Lane && p.From <= a.ID.Seq && a.ID.Seq <= p.To
		})
		e.Lost = append(e.Lost, recovery.LostBranch{ID: a.ID, Range: current.Pending[i]})
	}
	for _, a := range r.actions(recovery.ActionCommit) {
		e.Prepared = append(e.Prepared, a.ID)
	}
	return e
}

func (r *recovering) commitListed(ctx context.Context) error {
	r.report.Already = len(r.actions(recovery.ActionAlreadyCommitted))
	r.report.Foreign = len(r.actions(recovery.ActionUntouched))
	for _, a := range r.actions(recovery.ActionCommit) {
		if err := r.commit(ctx, a.ID); err != nil {
			return err
		}
		r.report.Committed++
	}
	return nil
}

func (r *recovering) rollBackOrphans(ctx context.Context) error {
	for _, a := range r.actions(recovery.ActionRollBack) {
		err := r.effect(ctx, fault.Rollback, xa.VerbRollback, a.ID, func() error {
			r.db.rollBack(r.db.prepared[a.ID])
			return nil
		})
		if err != nil {
			return err
		}
		r.report.RolledBack++
	}
	return nil
}

// finish fills in what the claim's own decision is built on.
func (r *recovering) finish() {
	var proven []state.Lane
	var rows []xa.ID
	for _, p := range r.proofs {
		rows = append(rows, p.ID)
	}
	for _, a := range slices.Concat(r.actions(recovery.ActionCommit), r.actions(recovery.ActionAlreadyCommitted)) {
		proven = append(proven, state.Lane{Number: a.ID.Lane, Epoch: a.ID.Epoch, Seq: a.ID.Seq})
		rows = append(rows, a.ID)
	}
	current := r.current()
	r.report.Part.Lanes = state.MergeLanes(current.Lanes, proven)
	r.report.Part.Server = state.Server{Name: r.view.Identity.Name, Started: r.view.Identity.Started}
	r.report.Part.Whole = current.Number
	r.report.Dead = recovery.Prunable(r.decisions, rows)
}
