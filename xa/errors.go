package xa

import (
	"errors"
	"fmt"
	"strings"
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

func (o Outcome) String() string {
	switch o {
	case Done:
		return "done"
	case Refused:
		return "refused"
	case InDoubt:
		return "in doubt"
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// OutcomeOf is the outcome that err tells: Done for nil, that of the first [Error] in err's chain, Refused for a
// [StateError]. Any other error is InDoubt, because nothing is known about it.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Done
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Outcome
	}
	var s *StateError
	if errors.As(err, &s) {
		return Refused
	}
	return InDoubt
}

// Facts that errors of this package match with errors.Is. The numbers are the server's (server-facts.md, 3).
var (
	// ErrUnknownID: 1397 XAER_NOTA. For COMMIT it proves nothing: the branch may be committed, attached to another
	// session, being committed there, or gone (server-facts.md, 0.2).
	ErrUnknownID = errors.New("the server does not know this branch (XAER_NOTA)")
	// ErrDuplicateID: 1440 XAER_DUPID.
	ErrDuplicateID = errors.New("the server has a branch of this name already (XAER_DUPID)")
	// ErrRolledBack: 1402, 1613, 1614, 1213, and 1399 with the word ROLLBACK ONLY: the branch is gone or can only be
	// rolled back.
	ErrRolledBack = errors.New("the server has rolled the branch back")
	// ErrWrongState: 1399, 1400: the server's session is in another state than ours believed.
	ErrWrongState = errors.New("the server's session is in another XA state")
	// ErrLockWait: 1205. In Exec only the statement was undone, the branch can go on (server-facts.md, 3).
	ErrLockWait = errors.New("lock wait timeout")
	// ErrSessionLost: the session is over: no connection, or an answer that will never be seen.
	ErrSessionLost = errors.New("the session with the server is lost")
	// ErrNoRecoverPrivilege: 1401 on XA RECOVER: the user cannot see prepared branches.
	ErrNoRecoverPrivilege = errors.New("this user may not see prepared branches (XA_RECOVER_ADMIN)")
	// ErrMarkHeld: an owner mark is held by another session.
	ErrMarkHeld = errors.New("the owner mark is held by another session")
	// ErrPoolFull: the pool has as many sessions as it may have.
	ErrPoolFull = errors.New("the pool of sessions is full")
)

// Error is a verb that did not end with OK. errors.Is finds the driver's error, the context's error where a context
// ended, and the facts above that Number and Word stand for; errors.As finds the driver's *mysql.MySQLError.
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

// Error names the verb, the branch, the server, the outcome, the server's own number, SQLSTATE and words, and what to
// do next.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Verb.String())
	if e.ID != (XID{}) {
		fmt.Fprintf(&b, " of branch %s", e.ID)
	}
	if e.Server != "" {
		fmt.Fprintf(&b, " on %s", e.Server)
	}
	fmt.Fprintf(&b, ": %s", e.Outcome)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %s", e.Err)
	}
	if advice := adviceFor(e); advice != "" {
		fmt.Fprintf(&b, "; %s", advice)
	}
	return b.String()
}

// Unwrap gives the cause and the facts that the server's number stands for.
func (e *Error) Unwrap() []error {
	causes := make([]error, 0, 3)
	if e.Err != nil {
		causes = append(causes, e.Err)
	}
	return append(causes, factsOf(e)...)
}

// StateError is a verb that the session's state does not allow. Nothing was sent.
type StateError struct {
	Verb   Verb
	Have   State
	ID     XID    // the branch that the verb was for, zero where it has none
	Reason string // "" where verb and state say it all
}

func (e *StateError) Error() string {
	var b strings.Builder
	b.WriteString(e.Verb.String())
	if e.ID != (XID{}) {
		fmt.Fprintf(&b, " of branch %s", e.ID)
	}
	fmt.Fprintf(&b, ": a session in state %s does not take it", e.Have)
	if e.Reason != "" {
		fmt.Fprintf(&b, " (%s)", e.Reason)
	}
	b.WriteString("; nothing was sent")
	return b.String()
}

// lostError says why a session is lost.
type lostError struct {
	cause  error // what happened: a context's cause, the driver's error, an injected fault
	driver error // the driver's error where a context was the cause
}

func (e *lostError) Error() string { return fmt.Sprintf("%s: %s", ErrSessionLost, e.cause) }

func (e *lostError) Unwrap() []error {
	if e.driver == nil {
		return []error{ErrSessionLost, e.cause}
	}
	return []error{ErrSessionLost, e.cause, e.driver}
}
