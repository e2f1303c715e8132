package recovery

import (
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// ActionKind is what is to be done with one XID.
type ActionKind uint8

// The kinds, in the order in which a plan is carried out.
const (
	ActionInvalid          ActionKind = iota
	ActionEndAndRescan                // a COMMIT is being executed elsewhere: end that session, scan again
	ActionCommit                      // listed and prepared: COMMIT
	ActionAlreadyCommitted            // listed, and its proof row is there: nothing to do
	ActionLost                        // listed, not prepared, no proof row
	ActionRollBack                    // ours, prepared, unlisted: ROLLBACK, the source replays
	ActionUntouched                   // not ours
)

// Action is the fate of one XID.
type Action struct {
	XID      xa.XID
	ID       xa.ID // zero for ActionUntouched
	Kind     ActionKind
	Reason   string
	Evidence Evidence
}

// Evidence is what the fate was decided by.
type Evidence struct {
	Decision  uint64      // number of the current decision; 0: none
	Belongs   uint64      // decision that the branch belongs to; 0: not listed
	Prepared  bool        // in XA RECOVER
	Proven    bool        // its proof row is there
	Watermark *state.Lane // the lane's watermark in the current decision; nil: none
}

// Plan decides the fate of every branch of job that is prepared on the server (scan) or listed by the current
// decision, the last of decisions. It does no I/O and is total: each XID of either is in exactly one action. decisions
// are the kept ones, oldest first; empty for a new job. epoch is the claim's. scan must have been taken before proofs
// were read.
//
// Actions are in the order in which they are to be carried out; commits go by decision, and within a decision by lane
// with its highest seq last. With a *Stop none of them may be carried out. A lost branch
// among them means that nothing is committed, unless an EndAndRescan comes first.
func Plan(job string, decisions []state.Decision, epoch uint64, scan []xa.XID, proofs []ledger.Proof) ([]Action, *Stop) {
	panic("stub")
}
