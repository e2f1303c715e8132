package txnsink

import (
	"time"

	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// Reason is why a checkpoint was taken.
type Reason string

// The reasons.
const (
	ReasonOpening  Reason = "opening"  // the claim's own decision
	ReasonInterval Reason = "interval" // CheckpointInterval
	ReasonSize     Reason = "size"     // a segment that cannot be split reached its limit
	ReasonLockWait Reason = "lock wait"
	ReasonKey      Reason = "key"     // a Write touches a key that is in a prepared branch
	ReasonPending  Reason = "pending" // a lane still holds its prepared branch, or MaxPending branches are prepared
	ReasonAsked    Reason = "asked"   // Checkpoint was called
	ReasonFinish   Reason = "finish"
)

// Observer is told what happens. Each function may be nil; it is called on the goroutine of the call that did it, must
// not call the sink, and should return fast. What it is given may be kept but not changed.
type Observer struct {
	Recovered func(recovery.Report)
	// Prepared: a branch was prepared, with its rows.
	Prepared func(id xa.ID, rows int64)
	// Decided: a decision was accepted.
	Decided func(d state.Decision, why Reason)
	// BranchCommitted: a branch is proven committed.
	BranchCommitted func(id xa.ID)
	// Committed: a decision is wholly committed; the source may forget what is before position.
	Committed func(position []byte)
	// LockWait: a statement met a row lock (1205). own: branches of the sink itself may hold it.
	LockWait func(table, keys string, own bool)
}

// Stats are counters since Open, and a few states.
type Stats struct {
	RowsWritten       uint64 // in statements that the server took, whatever became of their branch
	RowsCommitted     uint64 // in branches proven committed; at least once: rows flushed
	Writes            uint64
	Flushes           uint64 // flush signals handled
	FlushesHeld       uint64 // of them, those that only sent rows because splitting pauses: it was followed by a settle each time
	SegmentsPrepared  uint64
	BranchesCommitted uint64
	Checkpoints       map[Reason]uint64 // wholly committed ones; empty for a bare Writer
	LockWaits         uint64
	OrphansRolledBack uint64 // by sweeps since Open
	ProofsPruned      uint64
	DecisionsRepeated uint64 // writes of a decision that were in doubt and repeated
	Pending           int    // branches prepared and not yet proven committed
	OldestPending     time.Duration
	OpenRows          int64         // rows in open branches or buffers
	LastCommit        time.Duration // from the newest decision's time to its last commit

	oldest time.Time // PREPARE of the oldest pending branch; zero: none
}
