package writertest

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
)

// broken is a writer that does something else in some of its calls.
type broken struct {
	txnsink.Writer
	look     func(ctx context.Context, store uuid.UUID, info state.Info) (uint64, error)
	recover  func(ctx context.Context, owner recovery.Owner, decisions []state.Decision) (recovery.Report, error)
	batch    func() *txnsink.Batch
	write    func(ctx context.Context, b *txnsink.Batch) error
	needs    func() (txnsink.Reason, bool)
	flush    func(ctx context.Context) error
	prepare  func(ctx context.Context) (state.Part, error)
	commit   func(ctx context.Context, d state.Decision) error
	sweep    func(ctx context.Context) error
	finished func(ctx context.Context) error
	held     func() (int64, int)
	stats    func() txnsink.Stats
	close    func() error
}

func newBroken(w txnsink.Writer, breakIt func(*broken)) *broken {
	b := &broken{
		Writer: w, look: w.Look, recover: w.Recover, batch: w.Batch, write: w.Write, needs: w.NeedsCheckpoint, flush: w.Flush,
		prepare: w.Prepare, commit: w.Commit, sweep: w.Sweep, finished: w.Finished, held: w.Held, stats: w.Stats, close: w.Close,
	}
	if breakIt != nil {
		breakIt(b)
	}
	return b
}

func (b *broken) Look(ctx context.Context, store uuid.UUID, info state.Info) (uint64, error) {
	return b.look(ctx, store, info)
}

func (b *broken) Recover(ctx context.Context, owner recovery.Owner, decisions []state.Decision) (recovery.Report, error) {
	return b.recover(ctx, owner, decisions)
}
func (b *broken) Batch() *txnsink.Batch                                { return b.batch() }
func (b *broken) Write(ctx context.Context, rows *txnsink.Batch) error { return b.write(ctx, rows) }
func (b *broken) NeedsCheckpoint() (txnsink.Reason, bool)              { return b.needs() }
func (b *broken) Flush(ctx context.Context) error                      { return b.flush(ctx) }
func (b *broken) Prepare(ctx context.Context) (state.Part, error)      { return b.prepare(ctx) }
func (b *broken) Commit(ctx context.Context, d state.Decision) error   { return b.commit(ctx, d) }
func (b *broken) Sweep(ctx context.Context) error                      { return b.sweep(ctx) }
func (b *broken) Finished(ctx context.Context) error                   { return b.finished(ctx) }
func (b *broken) Held() (rows int64, branches int)                     { return b.held() }
func (b *broken) Stats() txnsink.Stats                                 { return b.stats() }
func (b *broken) Close() error                                         { return b.close() }

// breakage is a way in which a writer breaks its contract.
type breakage struct {
	what   string
	writer func(*broken)               // nil: unchanged
	config func(*txnsink.WriterConfig) // after the story's own changes; nil: unchanged
}

// swallow forgets err.
func swallow(error) error { return nil }

// Ways to break a writer, by the call that is broken.
var (
	lookBelievesAll = breakage{what: "Look finds nothing wrong", writer: func(b *broken) {
		inner := b.look
		b.look = func(ctx context.Context, store uuid.UUID, info state.Info) (uint64, error) {
			floor, err := inner(ctx, store, info)
			return floor, swallow(err)
		}
	}}
	lookLeavesTraces = breakage{what: "Look tells an epoch that nobody had", writer: func(b *broken) {
		inner := b.look
		b.look = func(ctx context.Context, store uuid.UUID, info state.Info) (uint64, error) {
			floor, err := inner(ctx, store, info)
			return floor + 1, err
		}
	}}
	recoverSwallows = breakage{what: "Recover tells no error", writer: func(b *broken) {
		inner := b.recover
		b.recover = func(ctx context.Context, owner recovery.Owner, decisions []state.Decision) (recovery.Report, error) {
			report, err := inner(ctx, owner, decisions)
			return report, swallow(err)
		}
	}}
	recoverTellsNothing = breakage{what: "Recover reports nothing", writer: func(b *broken) {
		inner := b.recover
		b.recover = func(ctx context.Context, owner recovery.Owner, decisions []state.Decision) (recovery.Report, error) {
			_, err := inner(ctx, owner, decisions)
			return recovery.Report{}, err
		}
	}}
	batchIsNotEmpty = breakage{what: "Batch gives one that is not empty", writer: func(b *broken) {
		inner := b.batch
		b.batch = func() *txnsink.Batch {
			batch := inner()
			event(77)(batch)
			return batch
		}
	}}
	writeSwallows = breakage{what: "Write tells no error", writer: func(b *broken) {
		inner := b.write
		b.write = func(ctx context.Context, rows *txnsink.Batch) error { return swallow(inner(ctx, rows)) }
	}}
	writeDrops = breakage{what: "Write drops rows", writer: func(b *broken) {
		b.write = func(context.Context, *txnsink.Batch) error { return nil }
	}}
	writeRefusesEmpty = breakage{what: "Write refuses an empty batch", writer: func(b *broken) {
		inner := b.write
		b.write = func(ctx context.Context, rows *txnsink.Batch) error {
			if rows.Len() == 0 {
				return errors.New("it is empty")
			}
			return inner(ctx, rows)
		}
	}}
	writeReorders = breakage{what: "Write is one Write late", writer: func(b *broken) {
		write, prepare := b.write, b.prepare
		var late *txnsink.Batch
		b.write = func(ctx context.Context, rows *txnsink.Batch) error {
			if late == nil {
				late = rows
				return nil
			}
			return write(ctx, rows)
		}
		b.prepare = func(ctx context.Context) (state.Part, error) {
			if late != nil {
				if err := write(ctx, late); err != nil {
					return state.Part{}, err
				}
				late = nil
			}
			return prepare(ctx)
		}
	}}
	writeForgetsContext = breakage{what: "an ended context is no reason", writer: func(b *broken) {
		write, prepare := b.write, b.prepare
		b.write = func(ctx context.Context, rows *txnsink.Batch) error { return write(context.WithoutCancel(ctx), rows) }
		b.prepare = func(ctx context.Context) (state.Part, error) { return prepare(context.WithoutCancel(ctx)) }
	}}
	writeDropsAfterPrepare = breakage{what: "Write drops rows between Prepare and Commit", writer: func(b *broken) {
		write, prepare, commit := b.write, b.prepare, b.commit
		between := false
		b.prepare = func(ctx context.Context) (state.Part, error) { between = true; return prepare(ctx) }
		b.commit = func(ctx context.Context, d state.Decision) error { between = false; return commit(ctx, d) }
		b.write = func(ctx context.Context, rows *txnsink.Batch) error {
			if between {
				return nil
			}
			return write(ctx, rows)
		}
	}}
	needsNothing = breakage{what: "NeedsCheckpoint never does", writer: func(b *broken) {
		b.needs = func() (txnsink.Reason, bool) { return "", false }
	}}
	flushDoesNothing = breakage{what: "Flush does nothing", writer: func(b *broken) {
		b.flush = func(context.Context) error { return nil }
	}}
	flushSwallows = breakage{what: "Flush tells no error", writer: func(b *broken) {
		inner := b.flush
		b.flush = func(ctx context.Context) error { return swallow(inner(ctx)) }
	}}
	flushRefusesNothing = breakage{what: "Flush without rows is an error", writer: func(b *broken) {
		inner, held := b.flush, b.held
		b.flush = func(ctx context.Context) error {
			if rows, _ := held(); rows == 0 {
				return errors.New("there is nothing")
			}
			return inner(ctx)
		}
	}}
	flushPreparesAll = breakage{what: "Flush prepares everything", writer: func(b *broken) {
		prepare := b.prepare
		b.flush = func(ctx context.Context) error { _, err := prepare(ctx); return err }
	}}
	prepareSwallows = breakage{what: "Prepare tells no error", writer: func(b *broken) {
		inner := b.prepare
		b.prepare = func(ctx context.Context) (state.Part, error) {
			p, err := inner(ctx)
			return p, swallow(err)
		}
	}}
	prepareForgets = breakage{what: "Prepare tells each branch once", writer: func(b *broken) {
		inner := b.prepare
		var told []state.Range
		b.prepare = func(ctx context.Context) (state.Part, error) {
			p, err := inner(ctx)
			all := slices.Clone(p.Pending)
			p.Pending = slices.DeleteFunc(slices.Clone(p.Pending), func(r state.Range) bool { return slices.Contains(told, r) })
			told = all
			return p, err
		}
	}}
	prepareNamesTwice = breakage{what: "names are used twice", writer: func(b *broken) {
		inner := b.prepare
		b.prepare = func(ctx context.Context) (state.Part, error) {
			p, err := inner(ctx)
			p.Pending = slices.Clone(p.Pending)
			for i := range p.Pending {
				p.Pending[i].From, p.Pending[i].To = 1, 1
			}
			return p, err
		}
	}}
	prepareKnowsNoWhole = breakage{what: "Prepare does not know what is whole", writer: func(b *broken) {
		inner := b.prepare
		b.prepare = func(ctx context.Context) (state.Part, error) {
			p, err := inner(ctx)
			p.Whole = 0
			return p, err
		}
	}}
	commitSwallows = breakage{what: "Commit tells no error", writer: func(b *broken) {
		inner := b.commit
		b.commit = func(ctx context.Context, d state.Decision) error { return swallow(inner(ctx, d)) }
	}}
	commitOnce = breakage{what: "Commit refuses what it has committed", writer: func(b *broken) {
		inner := b.commit
		done := map[uint64]bool{}
		b.commit = func(ctx context.Context, d state.Decision) error {
			if done[d.Number] {
				return errors.New("again")
			}
			done[d.Number] = true
			return inner(ctx, d)
		}
	}}
	commitStops = breakage{what: "an ended context stops Commit", writer: func(b *broken) {
		inner := b.commit
		b.commit = func(ctx context.Context, d state.Decision) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return inner(ctx, d)
		}
	}}
	sweepDoesNothing = breakage{what: "Sweep does nothing", writer: func(b *broken) {
		b.sweep = func(context.Context) error { return nil }
	}}
	finishedAlways = breakage{what: "Finished believes all", writer: func(b *broken) {
		b.finished = func(context.Context) error { return nil }
	}}
	finishedNever = breakage{what: "Finished never is", writer: func(b *broken) {
		b.finished = func(context.Context) error { return errors.New("not yet") }
	}}
	heldNothing = breakage{what: "Held tells nothing", writer: func(b *broken) {
		b.held = func() (int64, int) { return 0, 0 }
	}}
	statsTellNothing = breakage{what: "Stats tell nothing", writer: func(b *broken) {
		b.stats = func() txnsink.Stats { return txnsink.Stats{} }
	}}
	closePrepares = breakage{what: "Close prepares", writer: func(b *broken) {
		prepare, inner := b.prepare, b.close
		b.close = func() error { _, _ = prepare(context.Background()); return inner() }
	}}
	errorsAreBare = breakage{what: "calls after an error tell the first one as their own", writer: func(b *broken) {
		inner := b.flush
		b.flush = func(ctx context.Context) error {
			err := inner(ctx)
			if failed := failedOf(err); failed != nil {
				return failed.Cause
			}
			return err
		}
	}}
	writesAtOnce  = breakage{what: "rows are written at once", config: func(c *txnsink.WriterConfig) { c.Mode, c.BatchRows = txnsink.AtLeastOnce, 1 }}
	anySize       = breakage{what: "a batch of any size is taken", config: func(c *txnsink.WriterConfig) { c.MaxBatchBytes = 1 << 20 }}
	neverFull     = breakage{what: "segments are never full", config: func(c *txnsink.WriterConfig) { c.MaxSegmentRows = 1000 }}
	largeSegments = breakage{what: "segments have any number of bytes", config: func(c *txnsink.WriterConfig) { c.MaxSegmentBytes = 1 << 20 }}
	gathersMore   = breakage{what: "more rows are gathered", config: func(c *txnsink.WriterConfig) { c.BatchRows = 100 }}
	noCap         = breakage{what: "there is no cap", config: func(c *txnsink.WriterConfig) { c.MaxPending = 1000 }}
	observesNot   = breakage{what: "the observer is told nothing", config: func(c *txnsink.WriterConfig) { c.Observer = txnsink.Observer{} }}
	believesFault = breakage{what: "faults are not met", config: func(c *txnsink.WriterConfig) { c.Faults = nil }}
)
