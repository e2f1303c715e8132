package recovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/xasink/xasink/internal/process"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// adopting is one Adopt under way.
type adopting struct {
	request AdoptRequest
	claim   state.Claim
	done    Adoption
}

func (a *adopting) run(ctx context.Context) (err error) {
	r := a.request
	view, err := Look(ctx, r.Server, r.Ledger, r.Job)
	if err != nil {
		return err
	}
	info, err := r.Store.Peek(ctx, r.Job)
	if err != nil {
		return err
	}
	proofs, err := r.Ledger.Proofs(ctx, r.Server.DB(), r.Job)
	if err != nil && !errors.Is(err, ledger.ErrAbsent) {
		return err
	}
	if stop := a.judge(view.Branches(), proofs); stop != nil {
		return stop
	}
	floor := max(view.Floor(), info.Epoch)
	for _, p := range proofs {
		floor = max(floor, p.ID.Epoch)
	}
	a.claim, err = r.Store.Claim(ctx, r.Job, state.ClaimRequest{After: &info.Epoch, Floor: floor, Run: r.Run})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.claim.Close()) }()
	a.done.Epoch = a.claim.Epoch()
	process.Jobs.Adopted(process.Key{Store: r.Store.ID(), Job: r.Job, Process: process.Of(r.Store)}, a.done.Epoch)
	return a.takeOver(ctx, view)
}

// takeOver is run under the claim.
func (a *adopting) takeOver(ctx context.Context, view View) (err error) {
	r := a.request
	owner := Owner{Job: r.Job, Store: r.Store.ID(), Run: r.Run, Epoch: a.claim.Epoch()}
	opening := Opening{
		Server: r.Server, Ledger: r.Ledger, Owner: owner, View: view, Decisions: a.claim.History(), Bounds: a.bounds(view),
	}
	bounds := opening.bounds()
	opening.Pool = xa.NewPool(r.Server, xa.PoolConfig{
		Job: r.Job, MarksPerLane: bounds.Marks,
		Admit: Admit(r.Server, r.Ledger, owner, view.Identity),
	})
	defer func() { err = errors.Join(err, opening.Pool.Close(context.WithoutCancel(ctx))) }()
	s, err := settler{
		server: r.Server, pool: opening.Pool, lane: LaneRecovery, ledger: r.Ledger.WithFaults(r.Faults), owner: owner,
		bounds: bounds, detachWait: r.DetachWait, log: r.Logger,
	}.withDefaults()
	if err != nil {
		return err
	}
	rec := &recovering{settler: s, opening: opening}
	for _, step := range []func(context.Context) error{rec.checkServer, rec.takeOver, rec.endOwners} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return a.carryOut(ctx, rec)
}

// bounds are the request's, wide enough for every lane that a branch or an unknown owner may be of.
func (a *adopting) bounds(view View) state.Bounds {
	b := a.request.Bounds
	if view.Job == nil {
		b.Lanes, b.Marks = max(b.Lanes, UnknownLanes), max(b.Marks, UnknownMarks)
	}
	for _, id := range slices.AppendSeq(view.Branches(), maps.Keys(a.request.Branches)) {
		b.Lanes = max(b.Lanes, id.Lane+1)
	}
	return b
}

// carryOut writes the operator's word as a decision, does what it says, and then writes the decision that nothing is
// pending any more.
func (a *adopting) carryOut(ctx context.Context, rec *recovering) error {
	scan, err := rec.read(ctx)
	if err != nil {
		return err
	}
	prepared := ours(scan, a.request.Job)
	if stop := a.judge(prepared, rec.proofs); stop != nil {
		return stop
	}
	var commits, rollbacks []xa.ID
	for _, id := range prepared {
		if a.request.Branches[id] == FateCommit {
			commits = append(commits, id)
		} else {
			rollbacks = append(rollbacks, id)
		}
	}
	if err := a.decide(ctx, rec, proofIDs(rec.proofs), commits); err != nil {
		return err
	}
	for _, id := range commits {
		if err := rec.commit(ctx, id, nil); err != nil {
			return err
		}
		a.done.Committed++
	}
	for _, id := range rollbacks {
		if err := rec.rollBack(ctx, id); err != nil {
			return err
		}
		a.done.RolledBack++
	}
	if rec.attached() && len(prepared) > 0 {
		if err := limbo(ctx, rec.server, rec.owner.Job, rec.limboBefore); err != nil {
			return err
		}
	}
	if len(commits) == 0 {
		return nil
	}
	return a.decide(ctx, rec, append(proofIDs(rec.proofs), commits...), nil)
}

// decide writes a decision with the operator's positions, the given branches pending, and each lane's highest proof
// row as its watermark, whatever the store believed before.
func (a *adopting) decide(ctx context.Context, rec *recovering, proven, pending []xa.ID) error {
	last := a.claim.Last()
	part := state.Part{
		Bounds: rec.bounds,
		Server: state.Server{Name: rec.report.Identity.Name, Started: rec.report.Identity.Started},
	}
	branches := make([]state.Branch, len(pending))
	for i, id := range pending {
		branches[i] = state.Branch{Server: rec.report.Identity.Name, ID: id}
	}
	part.Pending = state.Merge(branches)
	var watermarks []state.Lane
	for _, id := range proven {
		watermarks = append(watermarks, state.Lane{Number: id.Lane, Epoch: id.Epoch, Seq: id.Seq})
		part.Bounds.Lanes = max(part.Bounds.Lanes, id.Lane+1)
	}
	if last != nil {
		part.Whole = last.Number
		for _, l := range last.Lanes {
			watermarks = append(watermarks, state.Lane{Number: l.Number, Tables: l.Tables})
		}
	}
	part.Lanes = state.MergeLanes(nil, watermarks)
	d := state.Next(last, a.claim.Epoch(), a.request.Store.ID(), a.request.Run, a.request.Job, a.request.Positions, part, time.Now())
	if a.done.Decision.Number == 0 {
		d.Predecessor = 0 // nothing goes back behind what an operator stated
	}
	if err := writeDecision(ctx, a.claim, d); err != nil {
		return err
	}
	a.done.Decision = d
	return nil
}

// writeDecision repeats the identical write until it is definitely accepted or refused, or ctx ends.
func writeDecision(ctx context.Context, claim state.Claim, d state.Decision) error {
	for backoff := firstBackoff; ; backoff = longer(backoff) {
		err := claim.Commit(ctx, d)
		if err == nil || errors.Is(err, state.ErrFenced) || errors.Is(err, state.ErrRefused) || errors.Is(err, state.ErrUnreadable) {
			return err
		}
		if pause(ctx, backoff) != nil {
			return err
		}
	}
}

// judge compares the operator's word with what the server shows.
func (a *adopting) judge(prepared []xa.ID, proofs []ledger.Proof) *Stop {
	r := a.request
	stop := &Stop{Job: r.Job, Server: r.Server.Address()}
	for _, id := range prepared {
		if r.Branches[id] == FateUndecided {
			stop.Branches = append(stop.Branches, id)
		}
	}
	if n := len(stop.Branches); n > 0 {
		stop.Kind = StopUndecided
		stop.Reason = count(n, "prepared branch has", "prepared branches have") + " no fate in the order"
		stop.Ways = []Way{
			wayLook(r.Job, r.Ledger.Database()),
			{What: "repeat the order with Commit or RollBack for each of them: Commit where the stated positions lie behind its " +
				"rows, RollBack where the source will send them again", Go: "Branches: map[xa.ID]recovery.Fate{…: recovery.FateRollBack}"},
		}
		return stop
	}
	proven := map[xa.ID]bool{}
	for _, id := range proofIDs(proofs) {
		proven[id] = true
	}
	for id, f := range r.Branches {
		gone := f == FateCommit && !proven[id] && !slices.Contains(prepared, id)
		if gone || f == FateRollBack && proven[id] {
			stop.Branches = append(stop.Branches, id)
		}
	}
	if n := len(stop.Branches); n > 0 {
		slices.SortFunc(stop.Branches, xa.ID.Compare)
		stop.Kind = StopContradiction
		stop.Reason = fmt.Sprintf("the order is to commit what is neither prepared nor committed, or to roll back what is committed: %s",
			count(n, "branch", "branches"))
		stop.Ways = []Way{
			wayLook(r.Job, r.Ledger.Database()),
			{What: "state positions and fates that fit what the server shows, and repeat the order"},
		}
		return stop
	}
	return nil
}
