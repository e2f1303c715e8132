package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/xa/xasim"
)

// Result is what came of a run.
type Result struct {
	Cycles     int   // process runs that ended before the source did, each recovered by those after it
	Points     []int // fault points that each process run reached
	Opened     []int // of these, those up to the return of Open; 0: it did not succeed
	Stopped    bool  // the job stopped, with reason
	LockWaits  int   // statements that met a row lock
	Violations []Violation
	Trace      []string // what happened, where asked for
}

// Of tells whether some violation is b.
func (r Result) Of(b Breach) bool {
	for _, v := range r.Violations {
		if v.Breach == b {
			return true
		}
	}
	return false
}

// undisturbed is how many process runs the job has to get through once nothing more goes wrong on purpose. What went
// wrong before may last for a while: a stranger's lock, a server or store that is down.
const undisturbed = 8

// between is the time from an undisturbed process run that failed to the next one.
const between = 5 * time.Second

// Run runs s to its end inside a bubble of testing/synctest. trace keeps a line for everything that happened.
func Run(ctx context.Context, s Scenario, trace bool) Result {
	w, err := newWorld(ctx, s, trace)
	if err != nil {
		return Result{Violations: []Violation{{Stuck, "the simulation cannot begin: " + err.Error()}}}
	}
	defer w.server.Kill()
	w.foreignBranch(ctx, 0)
	for w.lives < len(s.Lives)+undisturbed && !w.over() {
		disturbed := w.lives < len(s.Lives)
		err := w.process(ctx)
		if err != nil && !disturbed {
			switch {
			case w.lives < len(s.Lives)+undisturbed:
			case len(w.history.limbo) > 0:
				// What is in limbo keeps its locks until the server restarts: to be told of the lock is a stop too.
				w.result.Stopped = true
			default:
				w.history.breach(Stuck, "the last of %d undisturbed process runs failed: %v", undisturbed, err)
			}
			time.Sleep(between)
		}
	}
	w.history.sync()
	if w.done {
		w.check(ctx, w.through)
	}
	w.result.Violations, w.result.Trace = w.history.violations, w.history.trace
	return w.result
}

// over tells whether there is nothing to go on with.
func (w *world) over() bool { return w.done || w.result.Stopped || len(w.history.violations) > 0 }

// process is the next process run, with its place in the result.
func (w *world) process(ctx context.Context) error {
	n := w.lives
	w.lives++
	c := &client{
		Connector: w.server.ConnectorFor(xasim.Account{User: user, Database: "shop"}), world: w, number: processes.Add(1),
	}
	if n < len(w.scenario.Lives) {
		c.life = w.scenario.Lives[n]
	}
	w.result.Points, w.result.Opened = append(w.result.Points, 0), append(w.result.Opened, 0)
	w.history.note("--- process run %d: %s", n+1, c.life)
	err := w.live(ctx, c, n)
	w.storage.client = nil
	w.server.ClearFaults()
	w.result.Points[n], w.result.Opened[n] = c.points, c.opened
	if err == nil {
		w.history.note("--- process run %d is through", n+1)
		w.done, w.through = true, c
		return nil
	}
	w.history.note("--- process run %d ended: %v", n+1, err)
	w.result.Cycles++
	if !stopped(err) || c.paused && errors.Is(err, state.ErrFenced) {
		return err
	}
	w.history.sync()
	if w.history.mayStop() {
		w.result.Stopped = true
	} else {
		w.history.breach(FalseStop, "%v", err)
	}
	return err
}

// processes numbers them: what a process remembers is kept for as long as the real one lives.
var processes atomic.Uint64

// pause runs the next process while c is held.
func (w *world) pause(ctx context.Context, c *client) {
	if w.lives >= len(w.scenario.Lives)+undisturbed || w.over() {
		return
	}
	client, writing := w.storage.client, w.storage.writing
	c.paused = true
	_ = w.process(context.WithoutCancel(ctx)) // kept in the result
	w.storage.client, w.storage.writing = client, writing
	w.history.note("--- a process that was held goes on")
}

// stopped tells whether err ends the job. Nothing in a scenario is a reason for it but a branch that is gone: no two
// owners are alive at a time.
func stopped(err error) bool {
	var stop *recovery.Stop
	var lost *recovery.LostError
	return errors.As(err, &stop) || errors.As(err, &lost) || errors.Is(err, state.ErrFenced) || errors.Is(err, state.ErrUnreadable) ||
		errors.Is(err, state.ErrRefused)
}

// live is one process run. nil: the source is at its end and all of it is committed.
func (w *world) live(ctx context.Context, c *client, n int) error {
	s := w.scenario
	w.storage.client, w.storage.next = c, 0
	chosen, err := tablesOf(s.Tables)
	if err != nil {
		return err
	}
	cfg := txnsink.Config{
		Job: job, Connector: c, Address: "simulated", Store: &processStore{w.storage, c}, Mode: s.Mode,
		Start:          func(context.Context) ([]byte, error) { return []byte("0"), nil },
		MaxSegmentRows: s.Segment, MaxPending: s.Pending, BatchRows: 3, Faults: c,
		FlushInterval: 3 * time.Second, CheckpointInterval: 8 * time.Second,
		DecisionTimeout: 10 * time.Second, CommitTimeout: 20 * time.Second, StatementTimeout: 30 * time.Second,
		Observer: txnsink.Observer{Committed: func(at []byte) { w.told(ctx, c, at) }},
	}
	cfg.Observer.LockWait = func(string, string, bool) { w.lockWait(c) }
	cfg.Observer.Prepared = w.history.preparedWith
	for _, k := range chosen {
		cfg.Tables = append(cfg.Tables, k.declare)
	}
	w.history.sync()
	limbo := w.history.limbo
	sink, err := open(ctx, cfg, s.Abort)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	c.opened = c.points
	w.history.sync()
	for _, id := range w.history.limbo {
		if !slices.Contains(limbo, id) {
			w.history.breach(Limbo, "branch %s is in no list and keeps its locks, and the opening that left it so succeeded", id)
		}
	}
	boots := w.boots()
	if w.falseOK { // for openings only
		w.server.ClearFaults()
		w.falseOK = false
	}
	err = w.drive(ctx, c, sink, source{s.Seed, chosen}, rand.New(rand.NewPCG(s.Seed, uint64(n))))
	if err == nil && w.boots() != boots {
		w.history.breach(rule(15), "the sink finished, and the server was restarted since it was opened")
	}
	return errors.Join(err, sink.Close())
}

func (w *world) boots() int {
	w.history.sync()
	return w.history.boots
}

// drive writes from the sink's position to the source's end.
func (w *world) drive(ctx context.Context, c *client, sink *txnsink.Sink, src source, r *rand.Rand) error {
	s := w.scenario
	at := number(sink.Position())
	if at < 0 || at > s.Records {
		w.history.breach(rule(14), "the sink asks for position %q", sink.Position())
		return nil
	}
	for writes := 1; at < s.Records; writes++ {
		n := min(1+r.IntN(s.Write), s.Records-at)
		b := sink.Batch()
		for i := range n {
			src.add(b, at+i)
		}
		at += n
		c.first = nil
		if err := sink.Write(ctx, b, []byte(strconv.Itoa(at))); err != nil {
			w.blocked(c, err)
			return fmt.Errorf("write: %w", err)
		}
		if s.Flush > 0 && writes%s.Flush == 0 {
			if err := sink.Flush(ctx); err != nil {
				return fmt.Errorf("flush: %w", err)
			}
		}
		if s.Checkpoint > 0 && writes%s.Checkpoint == 0 {
			if err := w.checkpoint(ctx, c, sink); err != nil {
				return fmt.Errorf("checkpoint: %w", err)
			}
		}
		if s.Pace > 0 {
			time.Sleep(s.Pace)
			if _, err := sink.Tick(ctx); err != nil {
				return fmt.Errorf("tick: %w", err)
			}
		}
	}
	if err := sink.Finish(ctx); err != nil {
		return fmt.Errorf("finish: %w", err)
	}
	return nil
}

// checkpoint checks that orphans are gone after it.
func (w *world) checkpoint(ctx context.Context, c *client, sink *txnsink.Sink) error {
	orphans, from := w.history.orphans(), c.points
	if err := sink.Checkpoint(ctx); err != nil {
		return err
	}
	if c.disturbed(from) {
		return nil
	}
	still := w.history.orphans()
	for _, id := range orphans {
		if slices.Contains(still, id) && w.scenario.Mode == txnsink.ExactlyOnce {
			w.history.breach(rule(5), "orphan %s is left by a checkpoint's sweep", id)
		}
	}
	return nil
}

// told is told that everything before a position is committed. The tables then are what the source makes of them up to
// there (rule 10): nothing else was committed yet.
func (w *world) told(ctx context.Context, c *client, at []byte) {
	w.history.tell(at, c.paused)
	if w.scenario.Mode != txnsink.ExactlyOnce || c.paused || w.history.gone {
		return
	}
	s, err := w.session(ctx)
	if err != nil {
		return // a server that is down is looked at later
	}
	defer func() { _ = s.Close() }()
	for _, v := range w.compare(ctx, s, number(at)) {
		w.history.breach(rule(10), "at position %s, told to be committed: %s", at, v)
	}
}

// compare is how the target differs from what the first records of the source make of it.
func (w *world) compare(ctx context.Context, s *session, records int) (differ []Violation) {
	chosen, _ := tablesOf(w.scenario.Tables)
	want := source{w.scenario.Seed, chosen}.expected(records)
	for _, k := range chosen {
		rows, err := s.query(ctx, k.query)
		if err != nil {
			return append(differ, Violation{Stuck, "the simulation cannot read: " + err.Error()})
		}
		have := map[string]int64{}
		for _, row := range rows {
			n, _ := strconv.ParseInt(text(row[1]), 10, 64)
			have[text(row[0])] += n
		}
		differ = append(differ, k.compare(want[k.letter], have)...)
	}
	return differ
}

// check compares the target with the source once the job is through, by process c, and looks for what is left.
func (w *world) check(ctx context.Context, c *client) {
	s, err := w.session(ctx)
	if err != nil { // a process that was held may have met the end of the server as its last thing
		time.Sleep(downTime + time.Second)
		s, err = w.session(ctx)
	}
	if err != nil {
		w.history.breach(Stuck, "the simulation cannot look: %v", err)
		return
	}
	defer func() { _ = s.Close() }()
	for _, v := range w.compare(ctx, s, w.scenario.Records) {
		w.history.breach(v.Breach, "%s", v.Text)
	}
	for _, id := range w.history.left() {
		if !c.unseen(id) {
			w.history.breach(rule(15), "branch %s is left", id)
		}
	}
	rows, err := s.query(ctx, "XA RECOVER")
	if err != nil {
		w.history.breach(Stuck, "the simulation cannot look for branches: %v", err)
		return
	}
	if len(rows) != w.foreign+len(w.history.left()) {
		w.history.breach(Strange, "%d branches of strangers were prepared and %d of ours are left, %d branches are there", w.foreign,
			len(w.history.left()), len(rows))
	}
	if w.history.told != w.scenario.Records {
		w.history.breach(rule(14), "the source was told that %d of %d records are committed", w.history.told, w.scenario.Records)
	}
}
