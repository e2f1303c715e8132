package txnsink

import (
	"context"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
)

// Writer is the half of a sink that knows no store. A coordinator drives it, in this order:
//
//	Look  →  (claim in the store)  →  Recover  →  Prepare, decision, Commit (the claim's own decision)
//	Write, Flush, any number  →  Prepare, decision, Commit  →  …  →  Finished  →  Close
//
// One goroutine at a time. After an error other than ErrNeedsCheckpoint only Close is left; what is prepared stays
// for recovery.
type Writer interface {
	// Look is the first step of an opening: what server and ledger know of the job, compared with what the store
	// knows. It creates nothing and ends nobody. floor is an epoch that the claim must be above. A *recovery.Stop
	// means that the job must not be claimed by this store.
	Look(ctx context.Context, store uuid.UUID, info state.Info) (floor uint64, err error)
	// Recover settles what earlier owners left, under a claim that the store has just given. decisions is the claim's
	// history, oldest first, empty for a new job. An error leaves a state from which the next opening goes on.
	Recover(ctx context.Context, owner recovery.Owner, decisions []state.Decision) (recovery.Report, error)
	// Batch is an empty batch for Write. Recover comes first.
	Batch() *Batch
	// Write sends the rows of b, all or, with ErrNeedsCheckpoint, none of them. It takes b: but for ErrNeedsCheckpoint,
	// after which the same b is given again, the caller may not use it afterwards. ctx bounds the statements; one that
	// ends inside a branch fails the writer.
	Write(ctx context.Context, b *Batch) error
	// NeedsCheckpoint tells whether the last Write reached a limit that only a checkpoint relieves.
	NeedsCheckpoint() (Reason, bool)
	// Flush is a flush signal: lanes that can be split prepare their rows, others have sent them already.
	Flush(ctx context.Context) error
	// Prepare prepares all open rows and gives the sink's whole part of the next decision: every pending branch,
	// carried-over ones too. It may be called again when a checkpoint was given up before its decision was sent.
	Prepare(ctx context.Context) (state.Part, error)
	// Commit commits what d lists and returns when all of it is proven. d must have been definitely accepted by the
	// store under this writer's claim. A d that is committed already is a no-op. A ctx that ends does not stop it;
	// CommitTimeout does.
	Commit(ctx context.Context, d state.Decision) error
	// Sweep rolls back orphans of older epochs that came late.
	Sweep(ctx context.Context) error
	// Finished proves that nothing of the job is left on the server that recovery saw. Only after a Commit that left
	// nothing open or pending.
	Finished(ctx context.Context) error
	// Held tells how many rows are open, and how many branches pending.
	Held() (rows int64, branches int)
	// Stats may be called at any time, also while another goroutine is in a call.
	Stats() Stats
	// Close ends all sessions. Rows in open branches are gone, prepared branches stay. It may be called more than once.
	Close() error
}

// NewWriter connects to the server, probes it and checks configuration and tables; all problems are in one error. It
// changes nothing on the server and sends no XA verb but XA RECOVER. A table that a metadata lock keeps from being looked
// at is looked at again at the end of Recover, which may have freed it.
func NewWriter(ctx context.Context, cfg WriterConfig) (Writer, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	base, err := connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Mode == AtLeastOnce {
		return &atLeastOnce{connection: base}, nil
	}
	return &exactlyOnce{connection: base}, nil
}

// guard detects calls by two goroutines at a time, and remembers the first error.
type guard struct {
	busy   atomic.Bool
	closed atomic.Bool
	failed error // owned by whoever is busy
}

// enter must be paired with leave when it returns nil.
func (g *guard) enter() error {
	if !g.busy.CompareAndSwap(false, true) {
		return ErrConcurrentUse
	}
	switch {
	case g.closed.Load():
		g.busy.Store(false)
		return ErrClosed
	case g.failed != nil:
		err := &FailedError{Cause: g.failed}
		g.busy.Store(false)
		return err
	}
	return nil
}

// leave ends a call. The first error is kept.
func (g *guard) leave(err error) error {
	if err != nil && g.failed == nil {
		g.failed = err
	}
	g.busy.Store(false)
	return err
}
