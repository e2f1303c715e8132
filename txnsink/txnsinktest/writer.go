package txnsinktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/txnsink/internal/twophase"
	"github.com/xasink/xasink/xa"
)

// marksPerLane is what the job row and decisions tell as bounds; in memory sessions have no marks.
const marksPerLane = 4

// base is what both kinds of writer have.
type base struct {
	db     *DB
	cfg    txnsink.WriterConfig
	schema *txnsink.Schema
	lanes  []txnsink.Lane
	view   recovery.View
	looked bool
	raised bool // the job row names owner
	owner  recovery.Owner
	claim  *twophase.Claim // nil before Recover

	busy   atomic.Bool
	closed atomic.Bool
	failed error // the first one; owned by whoever is busy

	mu     sync.Mutex // protects the rest
	stats  txnsink.Stats
	oldest time.Time // PREPARE of the oldest pending branch; zero: none
}

func newBase(ctx context.Context, db *DB, cfg txnsink.WriterConfig) (*base, error) {
	schema, err := txnsink.NewSchema(cfg, db.layouts)
	if err != nil {
		return nil, err
	}
	w := &base{db: db, cfg: schema.Config(), schema: schema, lanes: schema.Lanes()}
	if err := w.effect(ctx, fault.Connect, xa.VerbConnect, xa.ID{}, func() error { return nil }); err != nil {
		return nil, err
	}
	return w, nil
}

// enter must be paired with leave when it returns nil.
func (w *base) enter() error {
	if !w.busy.CompareAndSwap(false, true) {
		return txnsink.ErrConcurrentUse
	}
	var err error
	switch {
	case w.closed.Load():
		err = txnsink.ErrClosed
	case w.failed != nil:
		err = &txnsink.FailedError{Cause: w.failed}
	default:
		return nil
	}
	w.busy.Store(false)
	return err
}

// leave ends a call. The first error is kept.
func (w *base) leave(err error) error {
	if w.failed == nil {
		w.failed = err
	}
	w.busy.Store(false)
	return err
}

// effect does one thing to the database, between its two fault points. ctx is looked at before it.
func (w *base) effect(ctx context.Context, op fault.Op, verb xa.Verb, id xa.ID, do func() error) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("%s: nothing was sent: %w", verb, err)
	}
	at := func(p fault.Point) error {
		for _, in := range []fault.Injector{w.db.faults, w.cfg.Faults} {
			if err := fault.At(ctx, in, p); err != nil {
				return lost(verb, id, err)
			}
		}
		return nil
	}
	if err := at(fault.Before(op)); err != nil {
		return err
	}
	if err := w.locked(do); err != nil {
		return err
	}
	return at(fault.After(op))
}

// locked calls do under the database's lock, and under the job row once that names the owner.
func (w *base) locked(do func() error) error {
	w.db.mu.Lock()
	defer w.db.mu.Unlock()
	if w.raised {
		if err := w.db.admit(w.owner); err != nil {
			return err
		}
	}
	return do()
}

// lost is an effect whose session was lost: its outcome is in doubt.
func lost(verb xa.Verb, id xa.ID, cause error) error {
	e := &xa.Error{Verb: verb, Outcome: xa.InDoubt, Server: address, Err: fmt.Errorf("%w: %w", xa.ErrSessionLost, cause)}
	if id != (xa.ID{}) {
		e.ID = id.XID()
	}
	return e
}

// Look is [txnsink.Writer.Look].
func (w *base) Look(ctx context.Context, store uuid.UUID, info state.Info) (floor uint64, err error) {
	if err := w.enter(); err != nil {
		return 0, err
	}
	defer func() { err = w.leave(err) }()
	w.view = recovery.View{Name: w.cfg.Job, Address: address, Ledger: w.cfg.LedgerDatabase, Identity: w.db.identity}
	err = w.effect(ctx, fault.LedgerRead, xa.VerbQuery, xa.ID{}, func() error {
		w.view.Job = w.db.row(w.cfg.Job)
		return nil
	})
	if err == nil {
		w.view.Prepared, err = w.scan(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("look at what the database knows of job %s: %w", w.cfg.Job, err)
	}
	if stop := w.view.Check(store, info); stop != nil {
		return 0, stop
	}
	w.looked = true
	return w.view.Floor(), nil
}

// scan is XA RECOVER.
func (w *base) scan(ctx context.Context) (found []xa.XID, err error) {
	err = w.effect(ctx, fault.Recover, xa.VerbRecover, xa.ID{}, func() error {
		found = w.db.scan()
		return nil
	})
	return found, err
}

// Recover is [txnsink.Writer.Recover].
func (w *base) Recover(ctx context.Context, owner recovery.Owner, decisions []state.Decision) (report recovery.Report, err error) {
	if err := w.enter(); err != nil {
		return recovery.Report{}, err
	}
	defer func() { err = w.leave(err) }()
	switch {
	case !w.looked:
		return report, errors.New("recover: Look comes first")
	case w.claim != nil:
		return report, errors.New("recover: done already; a new claim needs a new Writer")
	case owner.Job != w.cfg.Job:
		return report, fmt.Errorf("recover: the claim is for job %s, this writer for %s", owner.Job, w.cfg.Job)
	}
	w.owner = owner
	r := recovering{base: w, decisions: decisions}
	if err := r.run(ctx); err != nil {
		return r.report, fmt.Errorf("recover job %s: %w", w.cfg.Job, err)
	}
	var lanes []state.Lane
	for _, l := range w.lanes {
		lanes = append(lanes, state.Lane{Number: l.Number, Tables: l.Tables})
	}
	w.claim = twophase.New(owner, r.report, decisions, lanes)
	if f := w.cfg.Observer.Recovered; f != nil {
		f(r.report)
	}
	return r.report, nil
}

// commit commits one branch and returns nil only with proof.
func (w *base) commit(ctx context.Context, id xa.ID) error {
	return w.effect(ctx, fault.Commit, xa.VerbCommit, id, func() error {
		if w.db.commit(id) {
			return nil
		}
		return &recovery.LostError{
			Job: id.Job, Server: address, Epoch: w.owner.Epoch, Time: time.Now(), Lost: []recovery.LostBranch{{ID: id}},
		}
	})
}

// sweep looks for orphans of older owners. In memory none comes late, because a fenced owner's verbs are refused; so it
// only finds that the claim still holds.
func (w *base) sweep(ctx context.Context) error {
	if w.claim == nil || w.claim.Current() == nil {
		return nil
	}
	if _, err := w.scan(ctx); err != nil {
		return fmt.Errorf("sweep orphans of job %s: %w", w.cfg.Job, err)
	}
	return nil
}

// Sweep is [txnsink.Writer.Sweep].
func (w *base) Sweep(ctx context.Context) (err error) {
	if err := w.enter(); err != nil {
		return err
	}
	defer func() { err = w.leave(err) }()
	return w.sweep(ctx)
}

// finished proves that no branch of the job is left.
func (w *base) finished(ctx context.Context, rows int64, branches int) error {
	if rows > 0 || branches > 0 {
		return fmt.Errorf("finish job %s: %d rows are open and %d branches pending", w.cfg.Job, rows, branches)
	}
	found, err := w.scan(ctx)
	if err != nil {
		return fmt.Errorf("look for branches of job %s that are left: %w", w.cfg.Job, err)
	}
	for _, x := range found {
		if id, ours := x.ID(); ours && id.Job == w.cfg.Job {
			return fmt.Errorf("job %s: branch %s is left", w.cfg.Job, id)
		}
	}
	return nil
}

// proof is the proof row of a branch.
func (w *base) proof(id xa.ID, uses []ledger.TableUse) ledger.Proof {
	return ledger.Proof{ID: id, Run: w.owner.Run, Decision: w.claim.CurrentNumber(), Tables: uses}
}

// Batch is [txnsink.Writer.Batch].
func (w *base) Batch() *txnsink.Batch { return w.schema.Batch() }

// Stats is [txnsink.Writer.Stats].
func (w *base) Stats() txnsink.Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	if !w.oldest.IsZero() {
		s.OldestPending = time.Since(w.oldest)
	}
	return s
}

// count changes the counters.
func (w *base) count(change func(*txnsink.Stats)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.stats)
}

// statement is a run of rows of one table and operation.
type statement struct {
	table *table
	op    txnsink.Operation
	rows  []txnsink.WrittenRow
}

// read is the statements of a batch by lane, in source order, each of at most BatchRows rows. The result keeps rows of b,
// which may not be used again before the statements are done with.
func (w *base) read(b *txnsink.Batch) ([][]statement, error) {
	byLane := make([][]statement, len(w.lanes))
	err := w.schema.Each(b, func(r txnsink.WrittenRow) error {
		t := w.db.tables[r.FullName]
		list := byLane[r.Lane]
		if n := len(list); n == 0 || list[n-1].table != t || list[n-1].op != r.Operation || len(list[n-1].rows) == w.cfg.BatchRows {
			list = append(list, statement{table: t, op: r.Operation})
		}
		s := &list[len(list)-1]
		s.rows = append(s.rows, r)
		byLane[r.Lane] = list
		return nil
	})
	return byLane, err
}

// exec executes s in a branch, or in autocommit, where a failure leaves nothing of s. Errors: errLocked;
// *txnsink.RowError.
func (w *base) exec(ctx context.Context, b *branch, s statement, autocommit bool) error {
	return w.effect(ctx, fault.Batch, xa.VerbExec, b.id, func() error {
		for _, r := range s.rows {
			if err := b.apply(s.table, r); err != nil {
				if autocommit {
					b.end(false)
				}
				return err
			}
		}
		if autocommit {
			b.end(true)
		}
		return nil
	})
}

// blocked is the error of a statement whose rows stay locked by somebody else.
func blocked(s statement, err error) error {
	return &txnsink.BlockedError{Table: s.rows[0].Table, Keys: s.rows[0].Key(), Blocker: "another job's branch", Err: err}
}

func (w *base) met(s statement, own bool) {
	w.count(func(s *txnsink.Stats) { s.LockWaits++ })
	if f := w.cfg.Observer.LockWait; f != nil {
		f(s.rows[0].Table, s.rows[0].Key(), own)
	}
}
