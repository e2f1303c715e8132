package txnsink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// exactlyOnce is the Writer that stages rows in XA branches.
type exactlyOnce struct {
	*connection
	work    []*lane // empty before Recover
	encoder *encoder
	touched []*lane // lanes of the Write at hand
	indexes []int   // their numbers, kept to save the allocation

	lockWaits int // 1205 that undid the Write at hand, over its repeats
	need      Reason
	split     splitting
}

// Recover is [Writer.Recover]. The lanes are made in it, because only after it the tables are known for certain.
func (w *exactlyOnce) Recover(ctx context.Context, owner recovery.Owner, decisions []state.Decision) (recovery.Report, error) {
	report, err := w.connection.Recover(ctx, owner, decisions)
	if err != nil {
		return report, err
	}
	w.encoder = newEncoder(w.tables, w.cfg.BatchRows)
	w.split = splitting{most: w.cfg.MaxIndexKeys, hasher: newKeyHasher()}
	for i, tables := range w.tables.lanes {
		w.work = append(w.work, newLane(laneNumber(i), tables, w.cfg.MaxSegmentRows, w.server.Abilities().Detached))
	}
	return report, nil
}

// Write is [Writer.Write].
func (w *exactlyOnce) Write(ctx context.Context, b *Batch) error {
	if err := w.enter(); err != nil {
		return err
	}
	err := w.write(ctx, b)
	if errors.Is(err, ErrNeedsCheckpoint) {
		w.busy.Store(false)
		return err
	}
	w.lockWaits = 0
	return w.leave(err)
}

func (w *exactlyOnce) write(ctx context.Context, b *Batch) error {
	w.need = ""
	if err := w.mayWrite(); err != nil {
		return err
	}
	if err := checkBatch(b, w.tables, w.cfg.MaxBatchBytes); err != nil {
		return err
	}
	if b.Len() == 0 {
		return nil
	}
	w.touched = w.touched[:0]
	w.indexes = b.lanes(w.indexes[:0])
	for _, i := range w.indexes {
		l := w.work[i]
		if l.holdsPrepared() {
			return w.needs(ReasonPending)
		}
		w.touched = append(w.touched, l)
	}
	if w.overfull() {
		return w.needs(ReasonPending)
	}
	if w.meetsPending(b) {
		w.split.settled()
		return w.needs(ReasonKey)
	}
	for {
		blocked, err := w.attempt(ctx, b)
		if err != nil {
			return w.poisoned(ctx, err)
		}
		if blocked == nil {
			break
		}
		if err := w.lockWait(ctx, blocked); err != nil {
			if errors.Is(err, ErrNeedsCheckpoint) {
				return err
			}
			return w.poisoned(ctx, err)
		}
	}
	for _, l := range w.touched {
		l.keys = append(l.keys, l.writing...)
	}
	w.count(func(s *Stats) { s.Writes++; s.RowsWritten += uint64(b.Len()) })
	w.observePending()
	w.recycle(b)
	return w.closeFull(ctx)
}

// overfull tells whether the branches of this Write could make more pending ones than the cap allows, as after
// checkpoints that were given up: their branches stay pending (rule 5), and only a decision relieves that (rule 9).
func (w *exactlyOnce) overfull() bool {
	branches := len(w.claim.Pending())
	for _, l := range w.work {
		if l.open {
			branches++
		}
	}
	for _, l := range w.touched {
		if !l.open {
			branches++
		}
	}
	return branches > w.cfg.MaxPending
}

// closeFull prepares the lanes that reached their limit, or asks for a checkpoint where they cannot be split.
func (w *exactlyOnce) closeFull(ctx context.Context) error {
	for _, l := range w.touched {
		if !l.full(w.cfg.MaxSegmentBytes) {
			continue
		}
		if !w.maySplit(l) {
			w.need = ReasonSize
			continue
		}
		if err := w.prepare(ctx, l); err != nil {
			return w.poisoned(ctx, err)
		}
	}
	return nil
}

// maySplit tells whether l may prepare its rows before the barrier. Room is kept for every lane to prepare at the
// barrier itself.
func (w *exactlyOnce) maySplit(l *lane) bool {
	return l.splittable && len(w.claim.Pending())+len(w.work) < w.cfg.MaxPending &&
		(!l.indexed || w.split.mayPrepare(len(l.keys)))
}

// prepare closes l's segment: proof row, END, PREPARE. l must hold rows.
func (w *exactlyOnce) prepare(ctx context.Context, l *lane) error {
	text, err := w.ledger.ProofSQL(ledger.Proof{
		ID: l.id, Run: w.claim.Owner().Run, Decision: w.claim.CurrentNumber(), Tables: l.proof(),
	})
	if err != nil {
		return fmt.Errorf("proof row of branch %s: %w", l.id, err)
	}
	n, err := l.session.LedgerExec(ctx, text)
	if err != nil {
		return fmt.Errorf("proof row of branch %s: %w", l.id, w.ledger.Explain(err, w.server.Abilities().User))
	}
	if n != 1 {
		return fmt.Errorf("proof row of branch %s: the server says that %d rows were inserted, want 1", l.id, n)
	}
	if err := l.session.End(ctx); err != nil {
		return fmt.Errorf("end branch %s: %w", l.id, err)
	}
	if err := l.session.Prepare(ctx); err != nil {
		return fmt.Errorf("prepare branch %s with %d rows: %w", l.id, l.rows, err)
	}
	w.claim.Prepared(l.id, l.rows)
	w.split.prepared(l.keys)
	w.count(func(s *Stats) { s.SegmentsPrepared++ })
	if f := w.cfg.Observer.Prepared; f != nil {
		f(l.id, l.rows)
	}
	l.ended()
	w.observePending()
	return nil
}

// NeedsCheckpoint is [Writer.NeedsCheckpoint].
func (w *exactlyOnce) NeedsCheckpoint() (Reason, bool) { return w.need, w.need != "" }

// Flush is [Writer.Flush].
func (w *exactlyOnce) Flush(ctx context.Context) (err error) {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { err = w.leave(err) }()
	if err := w.mayWrite(); err != nil {
		return err
	}
	split := false
	for _, l := range w.work {
		if l.open && w.maySplit(l) {
			split = split || l.indexed
			if err := w.prepare(ctx, l); err != nil {
				return w.poisoned(ctx, err)
			}
		}
	}
	held := w.split.signal()
	if split {
		w.split.flushes++
	}
	w.count(func(s *Stats) {
		s.Flushes++
		if held {
			s.FlushesHeld++
		}
	})
	return nil
}

// Prepare is [Writer.Prepare].
func (w *exactlyOnce) Prepare(ctx context.Context) (part state.Part, err error) {
	if err := w.enter(); err != nil {
		return state.Part{}, err
	}
	defer func() { err = w.leave(err) }()
	if w.claim == nil {
		return state.Part{}, errors.New("prepare: Recover comes first")
	}
	for _, l := range w.work {
		if l.open {
			if err := w.prepare(ctx, l); err != nil {
				return state.Part{}, w.poisoned(ctx, err)
			}
		}
	}
	return w.claim.Part(), nil
}

// Sweep is [Writer.Sweep].
func (w *exactlyOnce) Sweep(ctx context.Context) (err error) {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { err = w.leave(err) }()
	return w.sweep(ctx)
}

// Finished is [Writer.Finished].
func (w *exactlyOnce) Finished(ctx context.Context) (err error) {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { err = w.leave(err) }()
	if rows, branches := w.held(); rows > 0 || branches > 0 {
		return fmt.Errorf("finish job %s: %d rows are open and %d branches pending", w.cfg.Job, rows, branches)
	}
	return w.finished(ctx, w.sweep)
}

// held is what is not yet in a decision that was committed.
func (w *exactlyOnce) held() (rows int64, branches int) {
	for _, l := range w.work {
		rows += l.rows
	}
	if w.claim != nil {
		branches = len(w.claim.Pending())
	}
	return rows, branches
}

// Held is [Writer.Held].
func (w *exactlyOnce) Held() (rows int64, branches int) { return w.held() }

// observePending makes what is open and pending visible to Stats.
func (w *exactlyOnce) observePending() {
	rows, branches := w.held()
	var oldest time.Time
	if branches > 0 {
		oldest = w.claim.Pending()[0].Prepared
	}
	w.count(func(s *Stats) { s.OpenRows, s.Pending, s.oldest = rows, branches, oldest })
}

// Close is [Writer.Close]. A session that is broken may still execute its statement on the server, with its locks: it
// is ended there.
func (w *exactlyOnce) Close() error {
	if !w.busy.CompareAndSwap(false, true) {
		return ErrConcurrentUse
	}
	defer w.busy.Store(false)
	if w.closed.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var err error
	for _, l := range w.work {
		if l.session != nil && l.session.State() == xa.Broken {
			err = errors.Join(err, w.pool.Discard(ctx, l.session))
			l.session = nil
		}
	}
	return errors.Join(err, w.close(ctx))
}
