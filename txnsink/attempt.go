package txnsink

import (
	"context"
	"errors"
	"fmt"

	"github.com/xasink/xasink/xa"
)

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

// needsSavepoints is docs/design.md, Locks of one's own: parts of the Write would already stand in branches that a cut
// commits.
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

// lockWaitError is a statement that met 1205, with what it wanted to write.
type lockWaitError struct {
	table, keys    string
	database, base string // of the table, for the server's catalog
	lane           uint32 // that waited
	blocker        string // who held the lock, where it was asked before the Write was undone
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
			wait := &lockWaitError{database: s.table.database, base: s.table.base, lane: l.number, err: err}
			wait.table, wait.keys = s.blocked(b)
			w.met(wait, protected)
			if protected {
				if w.lockWaits > 0 {
					wait.blocker = w.blocker(ctx, wait)
				}
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
	w.split.settled()
	w.cfg.Logger.Info("a row lock is held: committing what is open before this Write", "table", blocked.table, "keys", blocked.keys)
	return w.needs(ReasonLockWait)
}

func (w *exactlyOnce) needs(why Reason) error {
	w.need = why
	return fmt.Errorf("%w (%s)", ErrNeedsCheckpoint, why)
}

func (w *exactlyOnce) blockedError(ctx context.Context, wait *lockWaitError) error {
	if wait.blocker == "" {
		wait.blocker = w.blocker(ctx, wait)
	}
	return &BlockedError{Table: wait.table, Keys: wait.keys, Blocker: wait.blocker, Err: wait.err}
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
			if abort != nil && !errors.Is(err, xa.ErrSessionLost) { // else err says why
				w.cfg.Logger.Warn("an open branch cannot be rolled back by its session, which is ended", "branch", l.id.String(), "error", abort)
			}
			if discard := w.pool.Discard(ctx, l.session); discard != nil {
				err = errors.Join(err, discard)
			}
			l.session = nil
		}
		l.ended()
	}
	return err
}
