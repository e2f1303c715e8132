package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

const (
	scanTries = 50
	scanPause = 20 * time.Millisecond
	// planTries bounds how often a COMMIT that somebody else is executing is waited for.
	planTries = 10
)

// plan scans, reads the ledger and plans, again while somebody else's COMMIT is being executed. After it every listed
// branch is accounted for.
func (r *recovering) plan(ctx context.Context) error {
	backoff := firstBackoff
	var busy []Action
	for range planTries {
		if err := r.planOnce(ctx); err != nil {
			return err
		}
		if busy = r.actions(ActionEndAndRescan); len(busy) == 0 {
			r.logPlan(ctx)
			return nil
		}
		for _, a := range busy {
			if err := r.endHolders(ctx, a.ID, 0); err != nil {
				return err
			}
		}
		wait := backoff
		if r.attached() {
			wait = max(wait, r.detachWait)
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		backoff = longer(backoff)
	}
	return fmt.Errorf("a COMMIT of branch %s is being executed by a session that is not found: end that session by hand, then "+
		"open the job anew", busy[0].ID)
}

// planOnce is one round of plan. A lost branch is an error unless a COMMIT is being executed, after which the next
// round may find its proof row.
func (r *recovering) planOnce(ctx context.Context) error {
	scan, err := r.read(ctx)
	if err != nil {
		return err
	}
	actions, stop := Plan(r.owner.Job, r.opening.Decisions, r.owner.Epoch, scan, r.proofs)
	r.report.Actions = actions
	if stop != nil {
		stop.Server = r.server.Address()
		return stop
	}
	if len(r.actions(ActionLost)) > 0 && len(r.actions(ActionEndAndRescan)) == 0 {
		if r.attached() {
			if err := limbo(ctx, r.server, r.owner.Job, 0); err != nil {
				return err
			}
		}
		return reportLost(r.server.Address(), r.owner, r.opening.Decisions, actions, r.proofs, time.Now())
	}
	return nil
}

func (r *recovering) actions(kind ActionKind) []Action {
	return ofKind(r.report.Actions, kind)
}

// read scans until two scans agree on the job's branches, and then reads the proof rows, all on one session: it was
// admitted on the start of the server that recovery saw, and cannot outlive it.
func (r *recovering) read(ctx context.Context) ([]xa.XID, error) {
	session, err := r.pool.Take(ctx, LaneRecovery)
	if err != nil {
		return nil, err
	}
	defer r.giveBack(context.WithoutCancel(ctx), session)
	scan, err := r.steadyScan(ctx, session)
	if err != nil {
		return nil, err
	}
	r.proofs, err = r.ledger.Proofs(ctx, session, r.owner.Job)
	return scan, err
}

func (r *recovering) steadyScan(ctx context.Context, session *xa.Session) ([]xa.XID, error) {
	before, err := r.server.Scan(ctx, session)
	if err != nil {
		return nil, err
	}
	for range scanTries {
		scan, err := r.server.Scan(ctx, session)
		if err != nil {
			return nil, err
		}
		if slices.Equal(ours(before, r.owner.Job), ours(scan, r.owner.Job)) {
			return scan, nil
		}
		before = scan
		if err := pause(ctx, scanPause); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the prepared branches of the job change from scan to scan although no older owner has a session " +
		"left: look for another installation, or a tool, that settles them")
}

func (r *recovering) logPlan(ctx context.Context) {
	for _, a := range r.report.Actions {
		level := slog.LevelInfo
		if a.Kind == ActionUntouched {
			level = slog.LevelDebug
		}
		r.log.Log(ctx, level, "the plan for a branch", slog.String("job", r.owner.Job), slog.String("action", a.Kind.String()),
			slog.String("branch", a.XID.String()), slog.String("reason", a.Reason), slog.String("evidence", a.Evidence.String()))
	}
}

// commitListed commits in the order of the plan.
func (r *recovering) commitListed(ctx context.Context) error {
	r.report.Already = len(r.actions(ActionAlreadyCommitted))
	r.report.Foreign = len(r.actions(ActionUntouched))
	for _, a := range r.actions(ActionCommit) {
		err := r.commit(ctx, a.ID, nil)
		var lost *LostError
		if errors.As(err, &lost) {
			return r.whole(ctx, lost)
		}
		if err != nil {
			return err
		}
		r.report.Committed++
	}
	return nil
}

// whole makes the report of a loss met in a COMMIT complete, from a new scan and read. Where that does not show the
// loss, or cannot be made, what COMMIT told stays.
func (r *recovering) whole(ctx context.Context, lost *LostError) error {
	scan, err := r.read(ctx)
	if err != nil {
		return errors.Join(lost, err)
	}
	actions, stop := Plan(r.owner.Job, r.opening.Decisions, r.owner.Epoch, scan, r.proofs)
	if stop != nil || len(ofKind(actions, ActionLost)) == 0 {
		return lost
	}
	full := reportLost(r.server.Address(), r.owner, r.opening.Decisions, actions, r.proofs, time.Now())
	full.Cause = lost.Cause
	return full
}

// rollBackOrphans sends the plan's rollbacks, and on attached servers looks for limbo again.
func (r *recovering) rollBackOrphans(ctx context.Context) error {
	orphans := r.actions(ActionRollBack)
	for _, a := range orphans {
		if err := r.rollBack(ctx, a.ID); err != nil {
			return err
		}
		r.report.RolledBack++
	}
	if len(orphans) == 0 || !r.attached() {
		return nil
	}
	return limbo(ctx, r.server, r.owner.Job, r.limboBefore)
}

// finish fills in what the claim's own decision is built on.
func (r *recovering) finish() {
	var current state.Decision
	if n := len(r.opening.Decisions); n > 0 {
		current = r.opening.Decisions[n-1]
	}
	rows := proofIDs(r.proofs)
	var proven []state.Lane
	for _, a := range r.report.Actions {
		if a.Kind == ActionCommit || a.Kind == ActionAlreadyCommitted {
			proven = append(proven, state.Lane{Number: a.ID.Lane, Epoch: a.ID.Epoch, Seq: a.ID.Seq})
			rows = append(rows, a.ID)
		}
	}
	r.report.Part = state.Part{
		Lanes:  state.MergeLanes(current.Lanes, proven),
		Bounds: r.bounds,
		Server: state.Server{Name: r.report.Identity.Name, Started: r.report.Identity.Started},
		Whole:  current.Number,
	}
	r.report.Dead = Prunable(r.opening.Decisions, rows)
}
