package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// MinDetachWait is the shortest wait, on attached servers, between the end of an old session and the first verb that
// may name its branch (server-facts.md, 1b).
const MinDetachWait = time.Second

// Opening is what Recover needs.
type Opening struct {
	Server    *xa.Server
	Ledger    ledger.Ledger
	Pool      *xa.Pool // its Admit function is Admit's; no session was taken from it yet
	Owner     Owner
	View      View             // what Look saw, before the claim
	Decisions []state.Decision // Claim.History; empty for a new job
	Bounds    state.Bounds     // lanes and marks that the new owner will use
	// DetachWait is how long a branch is left alone after the session that held it ended, on attached servers;
	// 0 is MinDetachWait, less is refused.
	DetachWait time.Duration
	Logger     *slog.Logger   // nil discards
	Faults     fault.Injector // acts at the ledger's points; the server's and the pool's own are in xa.Config
}

// Report is what a recovery found and did.
type Report struct {
	Actions    []Action
	Committed  int // branches committed now
	Already    int // listed branches that were committed before
	RolledBack int
	Foreign    int // prepared branches of others, untouched
	// Part is the base of the claim's own decision: nothing pending, watermarks as proven now, bounds, the server,
	// and as Whole the current decision's number, because all of its branches are committed.
	Part state.Part
	// Dead are the proof rows of earlier owners that may be pruned once the claim's own decision is accepted.
	Dead     []ledger.Span
	Identity xa.Identity
}

// Recover makes the claim's owner the only one on the server and settles what earlier owners left: it raises the job
// row, ends their sessions, plans, commits what the current decision lists and rolls back orphans. ctx bounds it; it is
// looked at between verbs, never inside one.
//
// Errors: *Stop, *LostError, *ServerError; ErrFenced of state and of ledger both match where a newer owner was met;
// ledger.ErrPrivilege; everything else may be tried again by a new opening.
func Recover(ctx context.Context, o Opening) (Report, error) {
	s, err := settler{
		server: o.Server, pool: o.Pool, lane: LaneRecovery, ledger: o.Ledger.WithFaults(o.Faults), owner: o.Owner,
		bounds: o.bounds(), detachWait: o.DetachWait, log: o.Logger,
	}.withDefaults()
	if err == nil && o.View.Name != o.Owner.Job {
		err = fmt.Errorf("the view is of job %q", o.View.Name)
	}
	if err != nil {
		return Report{}, fmt.Errorf("recovery of job %s: %w", o.Owner.Job, err)
	}
	r := &recovering{settler: s, opening: o}
	for _, step := range []func(context.Context) error{
		r.checkServer, r.checkLedger, r.takeOver, r.endOwners, r.plan, r.commitListed, r.rollBackOrphans,
	} {
		if err := step(ctx); err != nil {
			return r.report, fmt.Errorf("recovery of job %s on %s, epoch %d: %w", o.Owner.Job, o.Server.Address(), o.Owner.Epoch,
				fenced(err))
		}
	}
	r.finish()
	return r.report, nil
}

// bounds are those of the new owner, of the row that was looked at and of the current decision, whichever is higher.
func (o Opening) bounds() state.Bounds {
	b := state.Bounds{Lanes: max(o.Bounds.Lanes, FirstLane), Marks: max(o.Bounds.Marks, 1)}
	if o.View.Job != nil {
		b.Lanes, b.Marks = max(b.Lanes, o.View.Job.Lanes), max(b.Marks, o.View.Job.Marks)
	}
	if n := len(o.Decisions); n > 0 {
		last := o.Decisions[n-1].Bounds
		b.Lanes, b.Marks = max(b.Lanes, last.Lanes), max(b.Marks, last.Marks)
	}
	return b
}

// recovering is one Recover under way.
type recovering struct {
	settler
	opening Opening
	proofs  []ledger.Proof // as the plan read them
	report  Report
	// limboBefore is how many transactions without a session the server did not list before anything was settled.
	limboBefore int
}

// checkServer waits until a later start of the server can be told from this one, and compares it with what Look saw.
func (r *recovering) checkServer(ctx context.Context) error {
	if err := r.server.Settled(ctx); err != nil {
		return err
	}
	identity, err := r.server.Identify(ctx, r.server.DB())
	if err != nil {
		return err
	}
	r.report.Identity = identity
	if err := checkServer(r.server, r.owner.Job, r.opening.View.Identity, identity); err != nil {
		return err
	}
	if row := r.opening.View.Job; row != nil && row.Server != identity.Name {
		r.log.WarnContext(ctx, "the job ran on another server before: owner marks there prove nothing here, the plan decides",
			slog.String("job", r.owner.Job), slog.String("was", row.Server), slog.String("is", identity.Name))
	}
	return nil
}

// checkLedger compares what the ledger proves with the decisions, before anything on the server is changed. An old copy of
// the store is found here and does not raise the job row, so that the newest copy is not refused afterwards; and no
// healthy owner is ended. It is sound beside a live older owner: that one commits only what a kept decision lists, and
// prunes no row that a watermark of one names.
func (r *recovering) checkLedger(ctx context.Context) error {
	proofs, err := r.ledger.Proofs(ctx, r.server.DB(), r.owner.Job)
	if err != nil && !errors.Is(err, ledger.ErrAbsent) {
		return err
	}
	p := newPlanner(r.owner.Job, r.opening.Decisions, r.owner.Epoch, proofs)
	p.checkProofs()
	if stop := p.stop(); stop != nil {
		// A newer owner raises the job row before it commits or prunes anything: read after the proof rows, the row tells
		// whether they are its work.
		row, err := r.ledger.Job(ctx, r.server.DB(), r.owner.Job)
		if err != nil {
			return err
		}
		if row != nil && (row.Epoch > r.owner.Epoch || row.Store != r.owner.Store) {
			return fmt.Errorf("the job row has epoch %d of store %s: %w", row.Epoch, row.Store, ledger.ErrFenced)
		}
		stop.Server = r.server.Address()
		return stop
	}
	return nil
}

// takeOver creates the ledger where needed and raises the job row.
func (r *recovering) takeOver(ctx context.Context) error {
	if err := r.ledger.Create(ctx, r.server.DB()); err != nil {
		return err
	}
	return r.ledger.Raise(ctx, r.server.DB(), r.opening.View.Job, ledger.Job{
		Name: r.owner.Job, Store: r.owner.Store, Run: r.owner.Run, Epoch: r.owner.Epoch,
		Lanes: r.bounds.Lanes, Marks: r.bounds.Marks,
		Server: r.report.Identity.Name, Started: r.report.Identity.Started.UTC().Truncate(time.Microsecond),
	})
}

// endOwners ends the sessions of older owners. On attached servers it then waits until their branches are free, and
// notes how many transactions the server does not list. They stop the job only if one of its listed branches is missing,
// or if there are more of them after its rollbacks: they may be anybody's, and an orphan among them is rolled back when a
// restart of the server has brought it back.
func (r *recovering) endOwners(ctx context.Context) error {
	if err := r.endMarked(ctx); err != nil {
		return err
	}
	if !r.attached() {
		return nil
	}
	if err := pause(ctx, r.detachWait); err != nil {
		return err
	}
	var err error
	if r.limboBefore, err = limboKnown(ctx, r.server); err != nil {
		return err
	}
	if r.limboBefore > 0 {
		r.log.WarnContext(ctx, "the server holds transactions without a session that XA RECOVER does not list; they keep their "+
			"row locks until it restarts", slog.String("job", r.owner.Job), slog.Int("transactions", r.limboBefore))
	}
	return nil
}
