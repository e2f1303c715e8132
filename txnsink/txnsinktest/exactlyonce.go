package txnsinktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/txnsink/internal/twophase"
	"github.com/xasink/xasink/xa"
)

// exactlyOnce is the writer that stages rows in branches. It follows docs/design.md, A checkpoint, and docs/design.md,
// Locks of one's own, as the real one does.
type exactlyOnce struct {
	*base
	work      []*lane
	lockWaits int // that undid the Write at hand, over its repeats
	need      txnsink.Reason
}

func newExactlyOnce(b *base) *exactlyOnce {
	w := &exactlyOnce{base: b}
	for _, l := range b.lanes {
		l.Splittable = l.Splittable && !b.db.attached
		w.work = append(w.work, &lane{Lane: l})
	}
	return w
}

// Write is [txnsink.Writer.Write].
func (w *exactlyOnce) Write(ctx context.Context, b *txnsink.Batch) error {
	if err := w.enter(); err != nil {
		return err
	}
	err := w.write(ctx, b)
	if errors.Is(err, txnsink.ErrNeedsCheckpoint) {
		w.busy.Store(false)
		return err
	}
	w.lockWaits = 0
	if err != nil {
		w.dropOpen()
	}
	return w.leave(err)
}

func (w *exactlyOnce) write(ctx context.Context, b *txnsink.Batch) error {
	w.need = ""
	if w.claim == nil || !w.claim.Ready() {
		return errors.New("write: the claim's own decision is not committed yet (Recover, Prepare, decision, Commit)")
	}
	byLane, err := w.read(b)
	if err != nil {
		return err
	}
	for i, statements := range byLane {
		if len(statements) > 0 && w.busyWithPrepared(w.work[i]) {
			return w.needs(txnsink.ReasonPending)
		}
	}
	if w.overfull(byLane) {
		return w.needs(txnsink.ReasonPending)
	}
	for {
		waits, err := w.attempt(ctx, byLane)
		if err != nil {
			return err
		}
		if waits == nil {
			break
		}
		if err := w.lockWait(ctx, *waits); err != nil {
			return err
		}
	}
	if n := b.Len(); n > 0 {
		w.count(func(s *txnsink.Stats) { s.Writes++; s.RowsWritten += uint64(n) })
		w.observe()
	}
	return w.closeFull(ctx, byLane)
}

// overfull tells whether the branches of this Write could make more pending ones than the cap allows.
func (w *exactlyOnce) overfull(byLane [][]statement) bool {
	branches := len(w.claim.Pending())
	for i, l := range w.work {
		if l.branch != nil || len(byLane[i]) > 0 {
			branches++
		}
	}
	return branches > w.cfg.MaxPending
}

// attempt sends all statements. waits is one that met a lock; the lanes are then as before the Write.
func (w *exactlyOnce) attempt(ctx context.Context, byLane [][]statement) (waits *statement, err error) {
	for i, statements := range byLane {
		if len(statements) > 0 {
			if err := w.begin(ctx, w.work[i]); err != nil {
				return nil, err
			}
		}
	}
	for i, statements := range byLane {
		l := w.work[i]
		for _, s := range statements {
			err := w.exec(ctx, l.branch, s, false)
			if errors.Is(err, errLocked) {
				w.met(s, w.holds())
				return &s, w.undo(byLane)
			}
			if err != nil {
				return nil, fmt.Errorf("branch %s: %w", l.branch.id, err)
			}
			l.add(s)
		}
	}
	return nil, nil
}

// begin gives l an open branch and remembers what it holds.
func (w *exactlyOnce) begin(ctx context.Context, l *lane) error {
	l.marked = l.held
	l.marked.uses = slices.Clone(l.uses)
	if l.branch != nil {
		l.branch.mark()
		return nil
	}
	l.seq++
	id := xa.ID{Job: w.owner.Job, Epoch: w.owner.Epoch, Lane: l.Number, Seq: l.seq}
	err := w.effect(ctx, fault.Start, xa.VerbStart, id, func() error {
		l.branch = w.db.start(id)
		return nil
	})
	if err != nil {
		return fmt.Errorf("start branch %s: %w", id, err)
	}
	return nil
}

// undo takes every lane of the Write back to where it was before; a branch that is left without rows is rolled back.
func (w *exactlyOnce) undo(byLane [][]statement) error {
	return w.locked(func() error {
		for i, statements := range byLane {
			l := w.work[i]
			if len(statements) == 0 {
				continue
			}
			l.branch.back()
			l.held = l.marked
			if l.rows == 0 {
				w.db.rollBack(l.branch)
				l.branch = nil
			}
		}
		return nil
	})
}

// holds tells whether anything of this writer could hold a lock.
func (w *exactlyOnce) holds() bool {
	rows, branches := w.Held()
	return rows > 0 || branches > 0
}

// lockWait decides what follows a lock wait whose Write was undone: nil means to try again at once.
func (w *exactlyOnce) lockWait(ctx context.Context, s statement) error {
	if w.lockWaits++; w.lockWaits > 1 {
		return blocked(s, errLocked)
	}
	if err := w.sweep(ctx); err != nil {
		return err
	}
	if !w.holds() {
		return nil
	}
	return w.needs(txnsink.ReasonLockWait)
}

func (w *exactlyOnce) needs(why txnsink.Reason) error {
	w.need = why
	return fmt.Errorf("%w (%s)", txnsink.ErrNeedsCheckpoint, why)
}

// busyWithPrepared: the lane's session still holds the branch that it prepared.
func (w *exactlyOnce) busyWithPrepared(l *lane) bool {
	return w.db.attached && slices.ContainsFunc(w.claim.Pending(), func(b twophase.Branch) bool { return b.ID.Lane == l.Number })
}

// dropOpen rolls back the open branches.
func (w *exactlyOnce) dropOpen() {
	w.db.mu.Lock()
	defer w.db.mu.Unlock()
	for _, l := range w.work {
		if l.branch != nil {
			w.db.rollBack(l.branch)
		}
		l.branch, l.held = nil, held{}
	}
}

// closeFull prepares the lanes that reached their limit, or asks for a checkpoint where they cannot be split.
func (w *exactlyOnce) closeFull(ctx context.Context, byLane [][]statement) error {
	for i, statements := range byLane {
		l := w.work[i]
		switch {
		case len(statements) == 0 || l.rows < l.MaxSegmentRows && l.bytes < w.cfg.MaxSegmentBytes:
		case !w.maySplit(l):
			w.need = txnsink.ReasonSize
		default:
			if err := w.prepare(ctx, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// maySplit tells whether l may prepare its rows before the barrier. Room is kept for every lane to prepare at the
// barrier itself.
func (w *exactlyOnce) maySplit(l *lane) bool {
	return l.Splittable && len(w.claim.Pending())+len(w.work) < w.cfg.MaxPending
}

// prepare closes l's segment: proof row, END, PREPARE. l must hold rows.
func (w *exactlyOnce) prepare(ctx context.Context, l *lane) error {
	b := l.branch
	for _, step := range []struct {
		op   fault.Op
		verb xa.Verb
		do   func()
	}{
		{fault.LedgerRow, xa.VerbExec, func() { b.proof = w.proof(b.id, l.uses) }},
		{fault.End, xa.VerbEnd, func() {}},
		{fault.Prepare, xa.VerbPrepare, func() { w.db.prepare(b) }},
	} {
		err := w.effect(ctx, step.op, step.verb, b.id, func() error {
			step.do()
			return nil
		})
		if err != nil {
			if w.isPrepared(b) { // the branch outlives this writer, as it does on a server
				l.branch = nil
			}
			return fmt.Errorf("prepare branch %s with %d rows: %w", b.id, l.rows, err)
		}
	}
	rows := l.rows
	l.branch, l.held = nil, held{}
	w.claim.Prepared(b.id, rows)
	w.count(func(s *txnsink.Stats) { s.SegmentsPrepared++ })
	w.observe()
	if f := w.cfg.Observer.Prepared; f != nil {
		f(b.id, rows)
	}
	return nil
}

func (w *exactlyOnce) isPrepared(b *branch) bool {
	w.db.mu.Lock()
	defer w.db.mu.Unlock()
	return w.db.prepared[b.id] == b
}

// NeedsCheckpoint is [txnsink.Writer.NeedsCheckpoint].
func (w *exactlyOnce) NeedsCheckpoint() (txnsink.Reason, bool) { return w.need, w.need != "" }

// Flush is [txnsink.Writer.Flush].
func (w *exactlyOnce) Flush(ctx context.Context) (err error) {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { err = w.leave(err) }()
	if w.claim == nil || !w.claim.Ready() {
		return errors.New("flush: the claim's own decision is not committed yet")
	}
	if err := w.prepareAll(ctx, w.maySplit); err != nil {
		return err
	}
	w.count(func(s *txnsink.Stats) { s.Flushes++ })
	return nil
}

func (w *exactlyOnce) prepareAll(ctx context.Context, may func(*lane) bool) error {
	for _, l := range w.work {
		if l.branch == nil || !may(l) {
			continue
		}
		if err := w.prepare(ctx, l); err != nil {
			w.dropOpen()
			return err
		}
	}
	return nil
}

// Prepare is [txnsink.Writer.Prepare].
func (w *exactlyOnce) Prepare(ctx context.Context) (part state.Part, err error) {
	if err := w.enter(); err != nil {
		return state.Part{}, err
	}
	defer func() { err = w.leave(err) }()
	if w.claim == nil {
		return state.Part{}, errors.New("prepare: Recover comes first")
	}
	if err := w.prepareAll(ctx, func(*lane) bool { return true }); err != nil {
		return state.Part{}, err
	}
	return w.claim.Part(), nil
}

// Commit is [txnsink.Writer.Commit].
func (w *exactlyOnce) Commit(ctx context.Context, d state.Decision) (err error) {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { err = w.leave(err) }()
	if w.claim == nil {
		return errors.New("commit: Recover comes first")
	}
	list, again, err := w.claim.Decided(d)
	if again || err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	for _, b := range list {
		if err := w.commit(ctx, b.ID); err != nil {
			return fmt.Errorf("commit branch %s of decision %d: %w", b.ID, d.Number, err)
		}
		w.claim.Committed(b.ID)
		w.count(func(s *txnsink.Stats) { s.BranchesCommitted++; s.RowsCommitted += b.Rows })
		w.observe()
		if f := w.cfg.Observer.BranchCommitted; f != nil {
			f(b.ID)
		}
	}
	w.claim.Whole()
	w.count(func(s *txnsink.Stats) { s.LastCommit = time.Since(d.Time) })
	if err := w.sweep(ctx); err != nil {
		return err
	}
	return w.prune(ctx)
}

// prune deletes the proof rows that no kept decision needs any more. As in the real writer a failure is only told.
func (w *exactlyOnce) prune(ctx context.Context) error {
	spans := w.claim.Prunable()
	if len(spans) == 0 {
		return nil
	}
	var n uint64
	err := w.effect(ctx, fault.LedgerPrune, xa.VerbQuery, xa.ID{}, func() error {
		n = w.db.prune(w.cfg.Job, spans)
		return nil
	})
	switch {
	case errors.Is(err, state.ErrFenced):
		return fmt.Errorf("prune proof rows: %w", err)
	case err != nil:
		w.cfg.Logger.Warn("proof rows were not pruned, they will be named again", "job", w.cfg.Job, "error", err)
		return nil
	}
	w.claim.Pruned(spans)
	w.count(func(s *txnsink.Stats) { s.ProofsPruned += n })
	return nil
}

// Finished is [txnsink.Writer.Finished].
func (w *exactlyOnce) Finished(ctx context.Context) (err error) {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { err = w.leave(err) }()
	rows, branches := w.Held()
	return w.finished(ctx, rows, branches)
}

// Held is [txnsink.Writer.Held].
func (w *exactlyOnce) Held() (rows int64, branches int) {
	for _, l := range w.work {
		rows += l.rows
	}
	if w.claim != nil {
		branches = len(w.claim.Pending())
	}
	return rows, branches
}

// observe makes what is open and pending visible to Stats.
func (w *exactlyOnce) observe() {
	rows, branches := w.Held()
	var oldest time.Time
	if branches > 0 {
		oldest = w.claim.Pending()[0].Prepared
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.OpenRows, w.stats.Pending, w.oldest = rows, branches, oldest
}

// Close is [txnsink.Writer.Close].
func (w *exactlyOnce) Close() error {
	if !w.busy.CompareAndSwap(false, true) {
		return txnsink.ErrConcurrentUse
	}
	defer w.busy.Store(false)
	if w.closed.CompareAndSwap(false, true) {
		w.dropOpen()
	}
	return nil
}
