package txnsinktest

import (
	"context"
	"errors"

	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/xa"
)

// atLeastOnce is the writer without branches. It gathers rows and makes them visible when there are BatchRows of them,
// on a flush signal and before a decision.
type atLeastOnce struct {
	*base
	buffer [][]statement // by lane
	rows   int64
	bytes  int
}

// Write is [txnsink.Writer.Write].
func (w *atLeastOnce) Write(ctx context.Context, b *txnsink.Batch) (err error) {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { err = w.leave(err) }()
	if w.claim == nil || !w.claim.Ready() {
		return errors.New("write: the claim's own decision is not committed yet (Recover, Prepare, decision, Commit)")
	}
	byLane, err := w.read(b)
	if err != nil {
		return err
	}
	if w.rows > 0 && w.bytes+b.Bytes() > w.cfg.MaxBatchBytes {
		if err := w.send(ctx); err != nil {
			return err
		}
	}
	if w.buffer == nil {
		w.buffer = make([][]statement, len(w.lanes))
	}
	for i, statements := range byLane {
		w.buffer[i] = append(w.buffer[i], statements...)
	}
	w.rows += int64(b.Len())
	w.bytes += b.Bytes()
	w.count(func(s *txnsink.Stats) { s.Writes++; s.RowsWritten += uint64(b.Len()); s.OpenRows = w.rows })
	if w.rows < int64(w.cfg.BatchRows) {
		return nil
	}
	return w.send(ctx)
}

// send makes all gathered rows visible, statement by statement. What a failure leaves out is in no decision.
func (w *atLeastOnce) send(ctx context.Context) error {
	for _, statements := range w.buffer {
		for _, s := range statements {
			err := w.exec(ctx, newBranch(xa.ID{}), s, true)
			if errors.Is(err, errLocked) {
				w.met(s, false)
				return blocked(s, err)
			}
			if err != nil {
				return err
			}
		}
	}
	n := w.rows
	w.buffer, w.rows, w.bytes = nil, 0, 0
	w.count(func(s *txnsink.Stats) { s.RowsCommitted += uint64(n); s.OpenRows = 0 })
	return nil
}

// NeedsCheckpoint is [txnsink.Writer.NeedsCheckpoint]: never, nothing is held back.
func (w *atLeastOnce) NeedsCheckpoint() (txnsink.Reason, bool) { return "", false }

// Flush is [txnsink.Writer.Flush].
func (w *atLeastOnce) Flush(ctx context.Context) (err error) {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { err = w.leave(err) }()
	if err := w.send(ctx); err != nil {
		return err
	}
	w.count(func(s *txnsink.Stats) { s.Flushes++ })
	return nil
}

// Prepare is [txnsink.Writer.Prepare]: it sends what is gathered.
func (w *atLeastOnce) Prepare(ctx context.Context) (part state.Part, err error) {
	if err := w.enter(); err != nil {
		return state.Part{}, err
	}
	defer func() { err = w.leave(err) }()
	if w.claim == nil {
		return state.Part{}, errors.New("prepare: Recover comes first")
	}
	if err := w.send(ctx); err != nil {
		return state.Part{}, err
	}
	return w.claim.Part(), nil
}

// Commit is [txnsink.Writer.Commit]. There is nothing to commit; d tells what is durable.
func (w *atLeastOnce) Commit(_ context.Context, d state.Decision) (err error) {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { err = w.leave(err) }()
	if w.claim == nil {
		return errors.New("commit: Recover comes first")
	}
	if _, again, err := w.claim.Decided(d); again || err != nil {
		return err
	}
	w.claim.Whole()
	return nil
}

// Finished is [txnsink.Writer.Finished].
func (w *atLeastOnce) Finished(ctx context.Context) (err error) {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { err = w.leave(err) }()
	return w.finished(ctx, w.rows, 0)
}

// Held is [txnsink.Writer.Held].
func (w *atLeastOnce) Held() (rows int64, branches int) { return w.rows, 0 }

// Close is [txnsink.Writer.Close]. Rows that are only gathered are in no decision and are read again.
func (w *atLeastOnce) Close() error {
	if !w.busy.CompareAndSwap(false, true) {
		return txnsink.ErrConcurrentUse
	}
	defer w.busy.Store(false)
	w.closed.Store(true)
	return nil
}

var (
	_ txnsink.Writer = (*exactlyOnce)(nil)
	_ txnsink.Writer = (*atLeastOnce)(nil)
)
