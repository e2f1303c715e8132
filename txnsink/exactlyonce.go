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
	work    []*lane
	encoder *encoder
	touched []*lane // lanes of the Write at hand
	indexes []int   // their numbers, kept to save the allocation

	lockWaits int // 1205 that undid the Write at hand, over its repeats
	need      Reason
}

func newExactlyOnce(c *connection) (*exactlyOnce, error) {
	w := &exactlyOnce{connection: c, encoder: newEncoder(c.tables, c.cfg.BatchRows)}
	for i, tables := range c.tables.lanes {
		w.work = append(w.work, newLane(laneNumber(i), tables, c.cfg.MaxSegmentRows, c.server.Abilities().Detached))
	}
	return w, nil
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
	w.count(func(s *Stats) { s.Writes++; s.RowsWritten += uint64(b.Len()) })
	w.observePending()
	w.recycle(b)
	return w.closeFull(ctx)
}

// mayWrite: only once the claim's own decision is committed may a branch carry its epoch (design §7, step 8).
func (c *connection) mayWrite() error {
	if c.claim == nil || !c.claim.Ready() {
		return errors.New("the claim's own decision is not committed yet: Recover, Prepare, decision and Commit come first")
	}
	return nil
}

// attempt sends all rows of b to the touched lanes. blocked is the statement that met a lock wait timeout; the lanes
// are then as before the Write.
func (w *exactlyOnce) attempt(ctx context.Context, b *Batch) (blocked *lockWaitError, err error) {
	protect := w.needsSavepoints()
	for _, l := range w.touched {
		if err := w.begin(ctx, l, protect); err != nil {
			return nil, err
		}
	}
	for _, l := range w.touched {
		err := w.send(ctx, b, l, protect)
		if errors.As(err, &blocked) {
			return blocked, w.undo(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// needsSavepoints is design §6: parts of the Write would already stand in branches that a cut commits.
func (w *exactlyOnce) needsSavepoints() bool {
	if len(w.touched) > 1 || len(w.claim.Pending()) > 0 {
		return true
	}
	for _, l := range w.work {
		if l.open && l != w.touched[0] {
			return true
		}
	}
	return false
}

// begin gives l an open branch and, where one was there, a way back to what it held before this Write.
func (w *exactlyOnce) begin(ctx context.Context, l *lane, protect bool) error {
	if l.open {
		l.mark()
		if !protect {
			return nil
		}
		if err := l.session.Savepoint(ctx); err != nil {
			return fmt.Errorf("savepoint in branch %s: %w", l.id, err)
		}
		l.protected = true
		return nil
	}
	if err := w.freshen(ctx, &l.session, l.number); err != nil {
		return fmt.Errorf("session for lane %d (%s): %w", l.number, l.names(), err)
	}
	l.seq++
	owner := w.claim.Owner()
	id := xa.ID{Job: owner.Job, Epoch: owner.Epoch, Lane: l.number, Seq: l.seq}
	if err := l.session.Start(ctx, id); err != nil {
		return fmt.Errorf("start branch %s: %w", id, err)
	}
	l.began(id)
	return nil
}

// freshen makes *session one that answers: an idle one that the server closed or lost meanwhile is replaced, which is
// better known before XA START than in a branch.
func (c *connection) freshen(ctx context.Context, session **xa.Session, lane uint32) error {
	if *session != nil {
		c.pool.Return(*session)
		*session = nil
	}
	s, err := c.pool.Take(ctx, lane)
	if err != nil {
		return err
	}
	*session = s
	return nil
}

// lockWaitError is a statement that met 1205, with what it wanted to write.
type lockWaitError struct {
	table, keys    string
	database, base string // of the table, for the server's catalog
	err            error
}

func (e *lockWaitError) Error() string {
	return fmt.Sprintf("table %s, rows with %s: %v", e.table, e.keys, e.err)
}
func (e *lockWaitError) Unwrap() error { return e.err }

// send executes l's statements of b. Without savepoints a lock wait is met by the same statement once more: the lock
// is somebody else's, and nothing of ours can free it.
func (w *exactlyOnce) send(ctx context.Context, b *Batch, l *lane, protected bool) error {
	return w.encoder.statements(b, l.index(), func(s statement) error {
		n, err := l.session.Exec(ctx, s.sql)
		for tries := 0; errors.Is(err, xa.ErrLockWait); tries++ {
			wait := &lockWaitError{database: s.table.database, base: s.table.base, err: err}
			wait.table, wait.keys = s.blocked(b)
			w.met(wait, protected)
			if protected {
				return wait
			}
			if tries > 0 || w.lockWaits > 0 {
				return w.blockedError(ctx, wait)
			}
			if err := w.sweep(ctx); err != nil {
				return err
			}
			n, err = l.session.Exec(ctx, s.sql)
		}
		if err != nil {
			return s.failed(b, err)
		}
		if err := s.checkAffected(n); err != nil {
			return fmt.Errorf("branch %s: %w", l.id, err)
		}
		l.add(s)
		return nil
	})
}

func (w *exactlyOnce) met(wait *lockWaitError, own bool) {
	w.count(func(s *Stats) { s.LockWaits++ })
	if f := w.cfg.Observer.LockWait; f != nil {
		f(wait.table, wait.keys, own)
	}
}

// undo takes every touched lane back to where it was before the Write: branches begun by it are rolled back whole,
// others go to their savepoint, and one that is left without rows is rolled back whole as well (rule 6).
func (w *exactlyOnce) undo(ctx context.Context) error {
	for _, l := range w.touched {
		if !l.open {
			continue
		}
		if l.protected {
			if err := l.session.RollbackTo(ctx); err != nil {
				return fmt.Errorf("roll branch %s back to its savepoint: %w", l.id, err)
			}
		}
		l.back()
		if l.rows > 0 {
			continue
		}
		if err := l.session.Abort(ctx); err != nil {
			return fmt.Errorf("roll back branch %s, which is left without rows: %w", l.id, err)
		}
		l.ended()
	}
	return nil
}

// lockWait decides what follows a lock wait whose Write was undone: nil means to try again at once.
func (w *exactlyOnce) lockWait(ctx context.Context, blocked *lockWaitError) error {
	if w.lockWaits++; w.lockWaits > 1 {
		return w.blockedError(ctx, blocked)
	}
	if err := w.sweep(ctx); err != nil {
		return err
	}
	if rows, branches := w.held(); rows == 0 && branches == 0 {
		return nil
	}
	w.cfg.Logger.Info("a row lock is held: committing what is open before this Write", "table", blocked.table, "keys", blocked.keys)
	return w.needs(ReasonLockWait)
}

func (w *exactlyOnce) needs(why Reason) error {
	w.need = why
	return fmt.Errorf("%w (%s)", ErrNeedsCheckpoint, why)
}

func (w *exactlyOnce) blockedError(ctx context.Context, wait *lockWaitError) error {
	return &BlockedError{Table: wait.table, Keys: wait.keys, Blocker: w.blocker(ctx, wait), Err: wait.err}
}

// poisoned rolls back the open branches of the touched lanes, so that their locks are free before the caller closes,
// and gives err (rule 3). Sessions that cannot be rolled back are ended by Close.
func (w *exactlyOnce) poisoned(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	for _, l := range w.work {
		if !l.open {
			continue
		}
		abort := error(nil)
		if l.session.State() != xa.Broken {
			abort = l.session.Abort(ctx)
		}
		if l.session.State() != xa.None {
			w.cfg.Logger.Warn("an open branch cannot be rolled back by its session, which is ended", "branch", l.id.String(), "error", abort)
			if discard := w.pool.Discard(ctx, l.session); discard != nil {
				err = errors.Join(err, discard)
			}
			l.session = nil
		}
		l.ended()
	}
	return err
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
	return l.splittable && len(w.claim.Pending())+len(w.work) < w.cfg.MaxPending
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
	for _, l := range w.work {
		if l.open && w.maySplit(l) {
			if err := w.prepare(ctx, l); err != nil {
				return w.poisoned(ctx, err)
			}
		}
	}
	w.count(func(s *Stats) { s.Flushes++ })
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
	return errors.Join(err, w.close())
}

// sweep rolls back what dead owners prepared after recovery's scan.
func (c *connection) sweep(ctx context.Context) error {
	current := c.claim.Current()
	if current == nil {
		return nil
	}
	n, err := recovery.Sweep(ctx, recovery.SweepRequest{
		Server: c.server, Pool: c.pool, Ledger: c.ledger, Owner: c.claim.Owner(), Current: *current, Proven: c.claim.Proven(),
		DetachWait: c.cfg.DetachWait, Logger: c.cfg.Logger,
	})
	c.count(func(s *Stats) { s.OrphansRolledBack += uint64(n) })
	if err != nil {
		return fmt.Errorf("sweep orphans of job %s: %w", c.cfg.Job, err)
	}
	return nil
}
