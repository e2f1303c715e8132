package xa

import (
	"errors"
	"fmt"
)

// Outcome is what is known of an effect after its statement returned.
type Outcome uint8

const (
	// Done: the server answered OK.
	Done Outcome = iota
	// Refused: the effect is definitely not there. A refused PREPARE leaves no prepared branch; a refused COMMIT
	// leaves the branch prepared, unless the error matches ErrRolledBack.
	Refused
	// InDoubt: the effect is there, or not, or comes later. Nothing may be concluded from the error alone.
	InDoubt
)

// Facts that errors of this package match with errors.Is. The numbers are the server's (server-facts.md, 3).
var (
	// ErrUnknownID: 1397 XAER_NOTA. For COMMIT it proves nothing: the branch may be committed, attached to another
	// session, being committed there, or gone (server-facts.md, 0.2).
	ErrUnknownID = errors.New("the server does not know this branch (XAER_NOTA)")
	// ErrDuplicateID: 1440 XAER_DUPID.
	ErrDuplicateID = errors.New("the server has a branch of this name already (XAER_DUPID)")
	// ErrRolledBack: 1402, 1613, 1614, 1213: the branch is gone or can only be rolled back.
	ErrRolledBack = errors.New("the server has rolled the branch back")
	// ErrWrongState: 1399, 1400: the server's session is in another state than ours believed.
	ErrWrongState = errors.New("the server's session is in another XA state")
	// ErrLockWait: 1205. In Exec only the statement was undone, the branch can go on (server-facts.md, 3).
	ErrLockWait = errors.New("lock wait timeout")
	// ErrSessionLost: the session is over: no connection, or an answer that will never be seen.
	ErrSessionLost = errors.New("the session with the server is lost")
	// ErrNoRecoverPrivilege: 1401 on XA RECOVER: the user cannot see prepared branches.
	ErrNoRecoverPrivilege = errors.New("this user may not see prepared branches (XA_RECOVER_ADMIN)")
	// ErrPoolFull: the pool has as many sessions as it may have.
	ErrPoolFull = errors.New("the pool of sessions is full")
	// ErrMarkHeld: an owner mark is held by another session.
	ErrMarkHeld = errors.New("the owner mark is held by another session")
)

// Error is a verb that did not end with OK.
type Error struct {
	Verb    Verb
	ID      XID    // zero where the verb has none
	Number  uint16 // the server's error number, 0 if it gave none
	State   string // SQLSTATE, "" if none
	Word    string // the state word of 1399 (ACTIVE, IDLE, PREPARED, ROLLBACK ONLY, NON-EXISTING), "" if none
	Outcome Outcome
	Server  string // address, never a password
	Err     error  // the driver's error, or one of the sentinels above
}

func (e *Error) Error() string { return fmt.Sprintf("%s %s on %s: %v", e.Verb, e.ID, e.Server, e.Err) }

// StateError is a verb that the session's state does not allow. Nothing was sent.
type StateError struct {
	Verb Verb
	Have State
	ID   XID
}

func (e *StateError) Error() string {
	return fmt.Sprintf("%s %s: a session in state %s does not take it; nothing was sent", e.Verb, e.ID, e.Have)
}
