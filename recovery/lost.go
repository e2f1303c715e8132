package recovery

import (
	"time"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// LostError: branches that a decision lists are neither prepared nor committed, so rows would be missing. Where it
// comes from Commit only ID-level facts are filled in; from Recover the report is complete.
type LostError struct {
	Job       string
	Server    string // address
	Epoch     uint64 // the claim that found it
	Decision  uint64 // the current decision
	Time      time.Time
	Lost      []LostBranch
	Committed []ledger.Proof   // branches of kept decisions that have their proof row
	Prepared  []xa.ID          // listed branches that are still prepared
	Tables    []TableReport    // tables that kept decisions' branches wrote
	From      []state.Position // positions of the newest kept decision that lists none of the lost branches
	FromKnown bool             // such a decision is kept
	To        []state.Position // positions of the current decision
	Ways      []Way
	Cause     error // what the server said, where it said something
}

// LostBranch is one lost branch. Rows is the row count of its whole range in the decision, which is exact where the
// range is one branch.
type LostBranch struct {
	ID        xa.ID
	Belongs   uint64
	RangeRows uint64
	Range     state.Range
}

// TableReport is what is known of one table in the decisions at hand.
type TableReport struct {
	Table     string
	Committed uint64 // rows in branches that have their proof row
	Lost      bool   // a lane with lost branches last wrote it
}

func (e *LostError) Error() string { panic("stub") }

func (e *LostError) Unwrap() error { return e.Cause }
