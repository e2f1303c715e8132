package txnsink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink/internal/twophase"
	"github.com/xasink/xasink/xa"
)

// maxUnpruned bounds the proven branches whose proof rows wait to be pruned. Reaching it means that pruning has failed
// for as many commits in a row.
const maxUnpruned = 100_000

// Commit is [Writer.Commit]. Branches are committed one after the other: all that belong to an earlier decision first,
// and of one decision each lane's highest seq last (docs/design.md, A checkpoint).
func (w *exactlyOnce) Commit(ctx context.Context, d state.Decision) (err error) {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { err = w.leave(err) }()
	if w.claim == nil {
		return errors.New("commit: Recover comes first")
	}
	commit, again, err := w.claim.Decided(d)
	if again || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.CommitTimeout)
	defer cancel()
	for _, b := range commit {
		if err := w.commitBranch(ctx, b); err != nil {
			return fmt.Errorf("commit branch %s of decision %d: %w", b.ID, d.Number, err)
		}
	}
	w.claim.Whole()
	if len(w.claim.Pending()) == 0 {
		w.split.committed()
	}
	w.count(func(s *Stats) { s.LastCommit = time.Since(d.Time) })
	if err := w.sweep(ctx); err != nil {
		return err
	}
	return w.prune(ctx)
}

// commitBranch commits b with proof, and takes it off the pending ones.
func (w *exactlyOnce) commitBranch(ctx context.Context, b twophase.Branch) error {
	r := recovery.CommitRequest{
		Server: w.server, Pool: w.pool, Lane: recovery.LaneCommitter, Ledger: w.ledger, Owner: w.claim.Owner(), Bounds: w.bounds,
		ID: b.ID, DetachWait: w.cfg.DetachWait, Deadline: w.cfg.CommitTimeout, Logger: w.cfg.Logger,
	}
	l := w.work[b.ID.Lane-recovery.FirstLane]
	if l.holdsPrepared() {
		r.Session = l.session
	}
	err := recovery.Commit(ctx, r)
	if r.Session != nil && r.Session.State() == xa.Broken {
		l.session = nil
	}
	if err != nil {
		return err
	}
	w.claim.Committed(b.ID)
	if n := w.claim.Unpruned(); n > maxUnpruned {
		return fmt.Errorf("%d proof rows of job %s wait to be pruned, which has failed each time", n, w.cfg.Job)
	}
	w.count(func(s *Stats) { s.BranchesCommitted++; s.RowsCommitted += b.Rows })
	w.observePending()
	if f := w.cfg.Observer.BranchCommitted; f != nil {
		f(b.ID)
	}
	return nil
}

// prune deletes the proof rows that no kept decision needs any more. A failure other than being fenced is only told:
// the rows are named again next time.
func (w *exactlyOnce) prune(ctx context.Context) error {
	spans := w.claim.Prunable()
	if len(spans) == 0 {
		return nil
	}
	s, err := w.pool.Take(ctx, recovery.LaneCommitter)
	if err != nil {
		return fmt.Errorf("session to prune proof rows: %w", err)
	}
	owner := w.claim.Owner()
	n, err := w.ledger.Prune(ctx, s, owner.Job, owner.Store, owner.Epoch, spans)
	if s.State() != xa.None {
		if discard := w.pool.Discard(ctx, s); discard != nil {
			return fmt.Errorf("end the session that pruned proof rows: %w", discard)
		}
	} else {
		w.pool.Return(s)
	}
	if err != nil {
		if isFenced(err) {
			return fmt.Errorf("prune proof rows: %w", err)
		}
		w.cfg.Logger.Warn("proof rows were not pruned, they will be named again", "job", w.cfg.Job, "error", err)
		return nil
	}
	w.count(func(s *Stats) { s.ProofsPruned += uint64(n) })
	w.claim.Pruned(spans)
	return nil
}
