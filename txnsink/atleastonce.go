package txnsink

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// sendTries bounds how often an at-least-once statement that the server undid (1205, 1213) is sent.
const sendTries = 5

// atLeastOnce is the Writer that writes rows in autocommit. It gathers the rows of several Writes and sends them when
// there are BatchRows of them, on a flush signal and before a decision.
type atLeastOnce struct {
	*connection
	encoder *encoder
	buffer  *Batch // nil before Recover
	session *xa.Session
	indexes []int
}

// Recover is [Writer.Recover].
func (w *atLeastOnce) Recover(ctx context.Context, owner recovery.Owner, decisions []state.Decision) (recovery.Report, error) {
	report, err := w.connection.Recover(ctx, owner, decisions)
	if err != nil {
		return report, err
	}
	w.encoder, w.buffer = newEncoder(w.tables, w.cfg.BatchRows), w.tables.batch()
	for _, t := range w.tables.tables {
		if consequence := w.repeated(t); consequence != "" {
			w.cfg.Logger.WarnContext(ctx, "at least once is not for this table: use Upsert that overwrites, or exactly once",
				"job", w.cfg.Job, "table", t.name, "because", consequence)
		}
	}
	return report, nil
}

// repeated is what a row of t does that is written again after a failure, where that is more than to overwrite; else "".
func (w *atLeastOnce) repeated(t *table) string {
	switch {
	case len(w.cfg.Tables[t.index].Add) > 0:
		return "what is repeated after a failure is added twice"
	case t.operations&Insert == 0:
		return ""
	case t.uniqueKeys > 0:
		return "an insert that is repeated after a failure is refused as a duplicate, and the job cannot go on"
	}
	return "an insert that is repeated after a failure is in the table twice"
}

// Write is [Writer.Write].
func (w *atLeastOnce) Write(ctx context.Context, b *Batch) (err error) {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { err = w.leave(err) }()
	if err := w.mayWrite(); err != nil {
		return err
	}
	if err := checkBatch(b, w.tables, w.cfg.MaxBatchBytes); err != nil {
		return err
	}
	if w.buffer.Len() > 0 && w.buffer.Bytes()+b.Bytes() > w.cfg.MaxBatchBytes {
		if err := w.send(ctx); err != nil {
			return err
		}
	}
	w.buffer.appendFrom(b)
	w.count(func(s *Stats) { s.Writes++; s.RowsWritten += uint64(b.Len()); s.OpenRows = int64(w.buffer.Len()) })
	w.recycle(b)
	if w.buffer.Len() < w.cfg.BatchRows {
		return nil
	}
	return w.send(ctx)
}

// send writes all buffered rows. What a failure leaves out of the table is still in no decision, so that it is
// repeated.
func (w *atLeastOnce) send(ctx context.Context) error {
	if n, _ := w.Held(); n == 0 {
		return nil
	}
	if err := w.freshen(ctx, &w.session, recovery.FirstLane); err != nil {
		return fmt.Errorf("session to write with: %w", err)
	}
	w.indexes = w.buffer.lanes(w.indexes[:0])
	for _, i := range w.indexes {
		if err := w.encoder.statements(w.buffer, i, func(s statement) error { return w.exec(ctx, s) }); err != nil {
			return err
		}
	}
	n := w.buffer.Len()
	w.buffer.Reset()
	w.count(func(s *Stats) { s.RowsCommitted += uint64(n); s.OpenRows = 0 })
	return nil
}

// exec sends one statement, again where the server undid it because of a lock: in autocommit nothing else is lost.
func (w *atLeastOnce) exec(ctx context.Context, s statement) error {
	for try := 1; ; try++ {
		result, err := w.session.ExecContext(ctx, s.sql)
		if err == nil {
			n, err := result.RowsAffected()
			if err != nil {
				return fmt.Errorf("write to table %s: %w", s.table.fullName(), err)
			}
			return s.checkAffected(n)
		}
		if !undone(err) {
			return s.failed(w.buffer, err)
		}
		table, keys := s.blocked(w.buffer)
		w.count(func(s *Stats) { s.LockWaits++ })
		if f := w.cfg.Observer.LockWait; f != nil {
			f(table, keys, false)
		}
		if try == sendTries {
			return &BlockedError{Table: table, Keys: keys, Err: err}
		}
		if try == 1 { // the lock may be an orphan's
			if err := w.sweep(ctx); err != nil {
				return err
			}
		}
	}
}

// undone: 1205 or 1213 in autocommit, where the whole statement is the transaction.
func undone(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && (e.Number == 1205 || e.Number == 1213)
}

// NeedsCheckpoint is [Writer.NeedsCheckpoint]: never, nothing is held back.
func (w *atLeastOnce) NeedsCheckpoint() (Reason, bool) { return "", false }

// Flush is [Writer.Flush].
func (w *atLeastOnce) Flush(ctx context.Context) (err error) {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { err = w.leave(err) }()
	if err := w.send(ctx); err != nil {
		return err
	}
	w.count(func(s *Stats) { s.Flushes++ })
	return nil
}

// Prepare is [Writer.Prepare]: it sends what is buffered.
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

// Commit is [Writer.Commit]. There is nothing to commit; d tells what is durable.
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

// Sweep is [Writer.Sweep].
func (w *atLeastOnce) Sweep(ctx context.Context) (err error) {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { err = w.leave(err) }()
	return w.sweep(ctx)
}

// Finished is [Writer.Finished].
func (w *atLeastOnce) Finished(ctx context.Context) (err error) {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { err = w.leave(err) }()
	if n, _ := w.Held(); n > 0 {
		return fmt.Errorf("finish job %s: %d rows are not flushed", w.cfg.Job, n)
	}
	return w.finished(ctx, w.sweep)
}

// Held is [Writer.Held].
func (w *atLeastOnce) Held() (rows int64, branches int) {
	if w.buffer == nil {
		return 0, 0
	}
	return int64(w.buffer.Len()), 0
}

// Close is [Writer.Close]. Rows that are only buffered are in no decision and are read again.
func (w *atLeastOnce) Close() error {
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
	if w.session != nil && w.session.State() == xa.Broken {
		err = w.pool.Discard(ctx, w.session)
		w.session = nil
	}
	return errors.Join(err, w.close(ctx))
}
