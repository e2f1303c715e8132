package xa

import "fmt"

// State is where a session stands.
//
//	None ──Start──▶ Active ──End──▶ Ended ──Prepare──▶ Prepared (attached server) or None (detached server)
//	                Active ──1205──▶ Stalled ──the same Exec, or RollbackTo──▶ Active
//	                Active, Stalled, Ended ──an error──▶ Poisoned ──Abort──▶ None
//	                Prepared ──Commit or Rollback of its own branch──▶ None
//	                any ──connection lost, context ended in a statement, START refused──▶ Broken
type State uint8

// The states.
const (
	// None: no branch; the session is in autocommit. It takes Start, Commit and Rollback of any branch, and plain
	// statements.
	None State = iota
	// Active: between XA START and XA END.
	Active
	// Stalled: as Active, but the last Exec met a lock wait timeout and the server undid that statement alone. It
	// takes the very same Exec again, RollbackTo or Abort; never End, since the statement's rows are missing.
	Stalled
	// Ended: after XA END (the server calls it IDLE).
	Ended
	// Prepared: an attached server's session that still holds the branch that it prepared. It takes only Commit or
	// Rollback of that branch.
	Prepared
	// Poisoned: a statement failed, so that rows are missing or the whole branch is gone. Only Abort.
	Poisoned
	// Broken: nothing may be sent any more. Only Pool.Discard.
	Broken
)

var stateNames = [...]string{"none", "active", "stalled", "ended", "prepared", "poisoned", "broken"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}
