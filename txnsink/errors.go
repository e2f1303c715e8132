package txnsink

import (
	"errors"
	"fmt"
	"strings"

	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
)

// Errors that a caller decides by, matched with errors.Is and errors.As.
var (
	// ErrFenced: the job has a newer owner. It has ended in this process for good; Open refuses it.
	ErrFenced = state.ErrFenced
	// ErrInDoubt: a decision was sent, and whether it is stored is not known. Open settles it.
	ErrInDoubt = state.ErrInDoubt
	// ErrNeedsCheckpoint is [Writer.Write]'s way to ask for a settle. The Write left no trace of itself: do Prepare,
	// the decision, Commit, and then the same Write again. A Sink does that by itself.
	ErrNeedsCheckpoint = errors.New("a checkpoint is needed before this Write")
	// ErrClosed: the sink or writer was closed.
	ErrClosed = errors.New("closed")
	// ErrConcurrentUse: two goroutines called one sink or writer at a time. The call that got it did nothing.
	ErrConcurrentUse = errors.New("called by two goroutines at a time")
)

// LostError is a branch that the decision lists and that the server has forgotten, with all that is known of it.
type LostError = recovery.LostError

// ServerError is a server that restarted, or is another one than recovery saw. Open again to go on.
type ServerError = recovery.ServerError

// FailedError is what every call but Close answers after a first error of the sink.
type FailedError struct{ Cause error }

func (e *FailedError) Error() string {
	return "the sink failed before, close it and open it again: " + e.Cause.Error()
}

// Unwrap gives the first error.
func (e *FailedError) Unwrap() error { return e.Cause }

// BlockedError is a row lock that stayed held after the sink had settled all that is its own: it is somebody else's.
type BlockedError struct {
	Table   string
	Keys    string // the first keys of the statement that waited
	Blocker string // who holds the lock, where the server tells; "" otherwise
	Err     error
}

func (e *BlockedError) Error() string {
	blocker := e.Blocker
	if blocker == "" {
		blocker = "the server does not tell who holds it (performance_schema.data_lock_waits, information_schema.innodb_trx)"
	}
	return fmt.Sprintf("table %s: rows with %s stay locked by another transaction: %s; end that transaction, then open the sink again: %v",
		e.Table, e.Keys, blocker, e.Err)
}

// Unwrap gives the server's error.
func (e *BlockedError) Unwrap() error { return e.Err }

// UnavailableError is a table that cannot be checked, or a server that cannot be written, for now. Nothing is wrong with
// the configuration: Open may be tried again.
type UnavailableError struct {
	What   string // "table orders", "the ledger in `xasink`"
	Reason string // what is in the way, and what to do
	Err    error
	lock   bool // a metadata lock is in the way
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%s cannot be written for now: %s: %v", e.What, e.Reason, e.Err)
}

// Unwrap gives the server's error.
func (e *UnavailableError) Unwrap() error { return e.Err }

// ConfigError is everything that is wrong with a configuration, at once.
type ConfigError struct{ Problems []string }

func (e *ConfigError) Error() string {
	if len(e.Problems) == 1 {
		return "configuration: " + e.Problems[0]
	}
	return fmt.Sprintf("configuration, %d problems:\n  - %s", len(e.Problems), strings.Join(e.Problems, "\n  - "))
}
