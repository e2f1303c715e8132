package txnsink

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// maxProven bounds the proven branches whose proof rows wait to be pruned. Reaching it means that pruning has failed
// for as many commits in a row.
const maxProven = 100_000

// Commit is [Writer.Commit]. Branches are committed one after the other: all that belong to an earlier decision first,
// and of one decision each lane's highest seq last (design §5).
func (w *exactlyOnce) Commit(ctx context.Context, d state.Decision) (err error) {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { err = w.leave(err) }()
	again, err := w.checkDecision(d)
	if again || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.CommitTimeout)
	defer cancel()
	w.current = &d
	w.keep(d)
	listed, err := w.listed(d)
	if err != nil {
		return err
	}
	for _, b := range listed {
		if err := w.commitBranch(ctx, b); err != nil {
			return fmt.Errorf("commit branch %s of decision %d: %w", b.id, d.Number, err)
		}
	}
	w.whole, w.ready = d.Number, true
	w.count(func(s *Stats) { s.LastCommit = time.Since(d.Time) })
	if err := w.sweep(ctx); err != nil {
		return err
	}
	return w.prune(ctx)
}

// listed are the pending branches that d lists, in the order in which they may be committed.
func (w *exactlyOnce) listed(d state.Decision) ([]branch, error) {
	var list []branch
	for i := range w.pending {
		b := &w.pending[i]
		if !d.Lists(b.id) {
			continue
		}
		if b.belongs == 0 {
			b.belongs = d.Number
		}
		list = append(list, *b)
	}
	if n := branches(d); n != uint64(len(list)) {
		return nil, fmt.Errorf("commit: decision %d lists %d branches, of which this writer has %d pending: it is not made of what Prepare gave", d.Number, n, len(list))
	}
	slices.SortFunc(list, func(a, b branch) int {
		if a.belongs != b.belongs {
			return int(min(1, max(-1, int64(a.belongs)-int64(b.belongs))))
		}
		return a.id.Compare(b.id)
	})
	return list, nil
}

// branches is the number of branches that d lists.
func branches(d state.Decision) (n uint64) {
	for _, r := range d.Pending {
		n += r.To - r.From + 1
	}
	return n
}

// commitBranch commits b with proof, and takes it off the pending ones.
func (w *exactlyOnce) commitBranch(ctx context.Context, b branch) error {
	r := recovery.CommitRequest{
		Server: w.server, Pool: w.pool, Lane: recovery.LaneCommitter, Ledger: w.ledger, Owner: w.owner, Bounds: w.bounds,
		ID: b.id, DetachWait: w.cfg.DetachWait, Deadline: w.cfg.CommitTimeout, Logger: w.cfg.Logger,
	}
	held := b.lane.session
	if held != nil && held.State() == xa.Prepared {
		r.Session = held
	}
	err := recovery.Commit(ctx, r)
	if r.Session != nil && held.State() == xa.Broken {
		b.lane.session = nil
	}
	if err != nil {
		return err
	}
	w.pending = slices.DeleteFunc(w.pending, func(p branch) bool { return p.id == b.id })
	w.proven = state.MergeLanes(w.proven, []state.Lane{{Number: b.id.Lane, Epoch: b.id.Epoch, Seq: b.id.Seq}})
	if w.rows = append(w.rows, b.id); len(w.rows) > maxProven {
		return fmt.Errorf("%d proof rows of job %s wait to be pruned, which has failed each time", len(w.rows), w.cfg.Job)
	}
	w.count(func(s *Stats) { s.BranchesCommitted++; s.RowsCommitted += b.rows })
	w.observePending()
	if f := w.cfg.Observer.BranchCommitted; f != nil {
		f(b.id)
	}
	return nil
}

// keep adds d to the decisions that the store still keeps, and forgets those that it does not keep any more.
func (c *connection) keep(d state.Decision) {
	c.kept = append(c.kept, d)
	c.kept = slices.DeleteFunc(c.kept, func(k state.Decision) bool { return k.Number < d.Whole })
}

// prune deletes the proof rows that no kept decision needs any more. A failure other than being fenced is only told:
// the rows are named again next time.
func (w *exactlyOnce) prune(ctx context.Context) error {
	spans := append(recovery.Prunable(w.kept, w.rows), w.dead...)
	if len(spans) == 0 {
		return nil
	}
	s, err := w.pool.Take(ctx, recovery.LaneCommitter)
	if err != nil {
		return fmt.Errorf("session to prune proof rows: %w", err)
	}
	n, err := w.ledger.Prune(ctx, s, w.owner.Job, w.owner.Store, w.owner.Epoch, spans)
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
	w.dead = nil
	w.rows = slices.DeleteFunc(w.rows, func(id xa.ID) bool {
		return slices.ContainsFunc(spans, func(sp ledger.Span) bool {
			return sp.Epoch == id.Epoch && sp.Lane == id.Lane && sp.From <= id.Seq && id.Seq <= sp.To
		})
	})
	return nil
}
