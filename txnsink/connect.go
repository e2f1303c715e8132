package txnsink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink/internal/twophase"
	"github.com/xasink/xasink/xa"
)

const (
	marksPerLane = 4
	// closeTimeout bounds the clean-up of sessions, which runs without the caller's context.
	closeTimeout = 15 * time.Second
)

// connection is what both kinds of writer have: the server, the tables, the ledger and, after Recover, the claim.
type connection struct {
	guard
	cfg    WriterConfig
	server *xa.Server
	ledger ledger.Ledger
	zone   *time.Location // of the sessions
	tables *catalog       // nil while a metadata lock keeps them from being looked at, at the latest until Recover

	looked   bool
	view     recovery.View
	pool     *xa.Pool
	identity xa.Identity
	bounds   state.Bounds    // lanes and marks that are in use
	claim    *twophase.Claim // nil before Recover

	mu    sync.Mutex // protects the rest
	stats Stats
	spare *Batch // written, and free for the next call of Batch
}

func connect(ctx context.Context, cfg WriterConfig) (*connection, error) {
	c := &connection{cfg: cfg}
	var err error
	if c.ledger, err = ledger.New(cfg.LedgerDatabase); err != nil {
		return nil, err
	}
	c.ledger = c.ledger.WithFaults(cfg.Faults)
	zone, err := location(cfg.TimeZone)
	if err != nil {
		return nil, err
	}
	run := ""
	if cfg.Run != uuid.Nil {
		run = cfg.Run.String()
	}
	c.server, err = xa.Connect(ctx, xa.Config{
		DSN: cfg.DSN, Connector: cfg.Connector, Address: cfg.Address, TimeZone: cfg.TimeZone, Job: cfg.Job, Run: run,
		StatementTimeout: cfg.StatementTimeout, Faults: cfg.Faults, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	c.zone = zone
	err = c.load(ctx)
	if heldTable(err) {
		cfg.Logger.WarnContext(ctx, "a table cannot be looked at before recovery, and is after it", "job", cfg.Job, "error", err)
	} else if err != nil {
		return nil, c.closeServer(err)
	}
	c.bounds = state.Bounds{Lanes: recovery.FirstLane + uint32(c.lanes()), Marks: marksPerLane}
	return c, nil
}

// load reads and checks the tables. Until it succeeds c.tables is nil.
func (c *connection) load(ctx context.Context) error {
	tables, err := loadTables(ctx, c.server.DB(), c.server.Abilities(), c.ledger, c.cfg.Tables, c.zone)
	if err != nil {
		return err
	}
	if lanes := len(tables.lanes); lanes > c.cfg.MaxPending {
		return &ConfigError{Problems: []string{fmt.Sprintf(
			"MaxPending is %d: want at least the number of lanes, %d", c.cfg.MaxPending, lanes)}}
	}
	c.tables = tables
	return nil
}

// heldTable tells whether a metadata lock keeps a table from being looked at. It may be a lock of the job itself: a
// statement such as ALTER TABLE waits for the prepared branches of an owner that crashed, and everybody else for it.
func heldTable(err error) bool {
	var e *UnavailableError
	return errors.As(err, &e) && e.lock
}

// lanes is the number of lanes, or no less than it while the tables are not known: each table is in one lane.
func (c *connection) lanes() int {
	if c.tables == nil {
		return len(c.cfg.Tables)
	}
	return len(c.tables.lanes)
}

// closeServer closes the server and gives err, joined with what closing had to say.
func (c *connection) closeServer(err error) error { return errors.Join(err, c.server.Close()) }

// Look is [Writer.Look].
func (c *connection) Look(ctx context.Context, store uuid.UUID, info state.Info) (floor uint64, err error) {
	if err := c.enter(); err != nil {
		return 0, err
	}
	defer func() { err = c.leave(err) }()
	if c.view, err = recovery.Look(ctx, c.server, c.ledger, c.cfg.Job); err != nil {
		return 0, c.heldLedger(fmt.Errorf("look at what %s knows of job %s: %w", c.server.Address(), c.cfg.Job, err))
	}
	if stop := c.view.Check(store, info); stop != nil {
		return 0, stop
	}
	c.looked = true
	return c.view.Floor(), nil
}

// Recover is [Writer.Recover].
func (c *connection) Recover(ctx context.Context, owner recovery.Owner, decisions []state.Decision) (report recovery.Report, err error) {
	if err := c.enter(); err != nil {
		return recovery.Report{}, err
	}
	defer func() { err = c.leave(err) }()
	switch {
	case !c.looked:
		return recovery.Report{}, errors.New("recover: Look comes first")
	case c.pool != nil:
		return recovery.Report{}, errors.New("recover: done already; a new claim needs a new Writer")
	case owner.Job != c.cfg.Job:
		return recovery.Report{}, fmt.Errorf("recover: the claim is for job %s, this writer for %s", owner.Job, c.cfg.Job)
	}
	c.pool = xa.NewPool(c.server, xa.PoolConfig{
		Job:          c.cfg.Job,
		MaxSessions:  c.lanes() + 4,
		MarksPerLane: marksPerLane,
		Admit:        recovery.Admit(c.server, c.ledger, owner, c.view.Identity),
	})
	report, err = recovery.Recover(ctx, recovery.Opening{
		Server: c.server, Ledger: c.ledger, Pool: c.pool, Owner: owner, View: c.view, Decisions: decisions, Bounds: c.bounds,
		DetachWait: c.cfg.DetachWait, Logger: c.cfg.Logger, Faults: c.cfg.Faults,
	})
	if err != nil {
		return report, c.heldLedger(fmt.Errorf("recover job %s on %s: %w", c.cfg.Job, c.server.Address(), err))
	}
	if c.tables == nil {
		if err := c.load(ctx); err != nil {
			return report, err
		}
	}
	c.identity, c.bounds = report.Identity, report.Part.Bounds
	c.claim = twophase.New(owner, report, decisions, c.laneTables())
	if f := c.cfg.Observer.Recovered; f != nil {
		f(report)
	}
	return report, nil
}

// heldLedger makes an *UnavailableError of an err that means that somebody holds the ledger.
func (c *connection) heldLedger(err error) error {
	if !errors.Is(err, ledger.ErrHeld) {
		return err
	}
	return &UnavailableError{What: "the ledger in " + quoteName(c.ledger.Database()), Reason: "open again when that is over", Err: err}
}

// laneTables are the tables that this writer's lanes write.
func (c *connection) laneTables() []state.Lane {
	lanes := make([]state.Lane, 0, len(c.tables.lanes))
	for i, tables := range c.tables.lanes {
		lanes = append(lanes, state.Lane{Number: laneNumber(i), Tables: tableNames(tables)})
	}
	return lanes
}

// tableNames are the names by which proof rows, decisions and reports call tables: database and table.
func tableNames(tables []*table) []string {
	names := make([]string, 0, len(tables))
	for _, t := range tables {
		names = append(names, t.fullName())
	}
	return names
}

func laneNumber(i int) uint32 { return recovery.FirstLane + uint32(i) }

// Batch is [Writer.Batch].
func (c *connection) Batch() *Batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.spare; b != nil {
		c.spare = nil
		return b
	}
	if c.tables == nil {
		return (&catalog{}).batch()
	}
	return c.tables.batch()
}

// recycle keeps a batch that was written, and its buffers, for the next call of Batch.
func (c *connection) recycle(b *Batch) {
	b.Reset()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spare = b
}

// finished is rule 15's last look: no branch of the job in XA RECOVER, on the very server start that recovery saw.
func (c *connection) finished(ctx context.Context, sweep func(context.Context) error) error {
	const tries = 10
	for range tries {
		ids, err := recovery.Remaining(ctx, c.server, c.cfg.Job)
		if err != nil {
			return fmt.Errorf("look for branches of job %s that are left: %w", c.cfg.Job, err)
		}
		if len(ids) == 0 {
			identity, err := c.server.Identify(ctx, c.server.DB())
			if err != nil {
				return fmt.Errorf("compare %s with what recovery saw: %w", c.server.Address(), err)
			}
			if !identity.SameStart(c.identity) {
				return &ServerError{Job: c.cfg.Job, Address: c.server.Address(), Want: c.identity, Have: identity}
			}
			return nil
		}
		if err := sweep(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("job %s: branches of the job keep appearing in XA RECOVER on %s; look for a process of an older owner that still runs",
		c.cfg.Job, c.server.Address())
}

// Stats is [Writer.Stats].
func (c *connection) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	if !s.oldest.IsZero() {
		s.OldestPending = time.Since(s.oldest)
	}
	return s
}

// count changes the counters.
func (c *connection) count(change func(*Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.stats)
}

// close ends all sessions and the connection pool, once. ctx bounds it.
func (c *connection) close(ctx context.Context) error {
	if !c.closed.CompareAndSwap(false, true) {
		return nil
	}
	var err error
	if c.pool != nil {
		if err = c.pool.Close(ctx); err != nil {
			err = fmt.Errorf("close the sessions of job %s on %s: %w", c.cfg.Job, c.server.Address(), err)
		}
	}
	return c.closeServer(err)
}

// mayWrite: only once the claim's own decision is committed may a branch carry its epoch (docs/design.md, Order of an
// opening).
func (c *connection) mayWrite() error {
	if c.claim == nil || !c.claim.Ready() {
		return errors.New("the claim's own decision is not committed yet: Recover, Prepare, decision and Commit come first")
	}
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
