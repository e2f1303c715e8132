// Package fault names the points before and after each effect that xasink has on a server, a store or a source, and
// lets a test act there: kill the process, answer with an error, or hold the caller; [Parse] reads it from a script.
//
// Code that has effects holds an Injector and calls [At] around each one. Without an injector that costs one nil
// comparison. The package imports nothing of the project, so every other package may use it.
package fault

import (
	"context"
	"fmt"
)

// Op is an effect that can fail.
type Op uint8

// The effects, in the order of a branch's life and then of a checkpoint's.
const (
	OpInvalid     Op = iota
	Connect          // a new session with the server, its settings included
	Mark             // GET_LOCK of an owner mark
	Start            // XA START
	Savepoint        // SAVEPOINT in a branch
	RollbackTo       // ROLLBACK TO SAVEPOINT in a branch
	Batch            // a statement with rows
	LedgerRow        // the INSERT of a branch's proof row
	End              // XA END
	Prepare          // XA PREPARE
	Commit           // XA COMMIT
	Rollback         // XA ROLLBACK
	Recover          // XA RECOVER
	Kill             // KILL of a session
	Claim            // the claim of a job in the state store
	DecisionRead     // a read of decisions in the state store
	DecisionWrite    // the write of a decision
	LedgerCreate     // DDL of the ledger
	LedgerRaise      // insert or raise of the job row
	LedgerRead       // a read of the job row or of proof rows
	LedgerPrune      // a delete of proof rows
	SourceRead       // a read of the source
	opEnd
)

// Point is one side of an effect: Before means that nothing has been done yet; After means that it is done and that
// its answer has not been seen.
type Point struct {
	Op    Op
	After bool
}

// Before is the point before op.
func Before(op Op) Point { return Point{Op: op} }

// After is the point after op: the effect is there, the answer is still unseen.
func After(op Op) Point { return Point{Op: op, After: true} }

// Injector acts at points. It must be safe for use by several goroutines.
type Injector interface {
	// At is called at every point that is reached. nil means go on. An error stands for a failed connection: before
	// an effect it means that nothing was sent, after it that the answer was lost. It may also not return at all.
	At(ctx context.Context, p Point) error
	// String describes the injector, for a failure message.
	String() string
}

// At asks in, which may be nil, what to do at p.
func At(ctx context.Context, in Injector, p Point) error {
	if in == nil {
		return nil
	}
	return in.At(ctx, p)
}

// Error is what an injector answers when it makes an effect fail.
type Error struct{ Point Point }

func (e *Error) Error() string { return fmt.Sprintf("injected fault %s", e.Point) }
