package xa

import (
	"context"
	"errors"
	"regexp"

	"github.com/go-sql-driver/mysql"
)

// Error numbers of the server that mean something for a branch.
const (
	errTooManyConnections = 1040
	errDatabaseDenied     = 1044
	errAccessDenied       = 1045
	errNoDatabase         = 1049
	errShutdown           = 1053
	errSyntax             = 1064
	errForcedClose        = 1080
	errNoSuchThread       = 1094
	errHostBlocked        = 1129
	errHostDenied         = 1130
	errAborting           = 1152
	errPacketTooLarge     = 1153
	errNetFirst           = 1156
	errNetLast            = 1161
	errDuringCommit       = 1180
	errNewAborting        = 1184
	errUnknownVariable    = 1193
	errUserConnections    = 1203
	errLockWait           = 1205
	errDeadlock           = 1213
	errUserLimit          = 1226
	errNeedsPrivilege     = 1227
	errGlobalVariable     = 1229
	errWrongValue         = 1231
	errWrongType          = 1232
	errReadOnlyVariable   = 1238
	errReadOnly           = 1290
	errUnknownTimeZone    = 1298
	errInterrupted        = 1317
	errXANota             = 1397
	errXAState            = 1399
	errXAOutside          = 1400
	errXARMErr            = 1401
	errXARolledBack       = 1402
	errXADuplicate        = 1440
	errXATimedOut         = 1613
	errXADeadlock         = 1614
	errPasswordExpired    = 1862 // MySQL
	errConnectionKilled   = 1927 // MariaDB
	errAccountLocked      = 3118 // MySQL
	errSecureTransport    = 3159
	errSessionKilled      = 3169 // MySQL
	errWideCharacters     = 3854 // MySQL: a list of statements has one with characters of four bytes
	errInactivity         = 4031 // MySQL: closed by wait_timeout
	errAccountIsLocked    = 4151 // MariaDB
)

// State words of 1399.
const (
	wordActive       = "ACTIVE"
	wordRollbackOnly = "ROLLBACK ONLY"
	wordNonExisting  = "NON-EXISTING"
)

// verdict is what an error says about the effect and about the session.
type verdict struct {
	outcome Outcome
	next    State
}

// rule is one line of the table: verb, sent in state, answered with number (and, for 1399, with word) gives verdict.
type rule struct {
	verb   Verb
	state  State
	number uint16
	word   string
	verdict
}

// rules are the answers whose meaning was measured (server-facts.md, 3 and 4). An answer that is not listed takes the
// verb's default, which is the careful one.
var rules = []rule{
	{VerbExec, Active, errLockWait, "", verdict{Refused, Stalled}},
	{VerbExec, Stalled, errLockWait, "", verdict{Refused, Stalled}},

	{VerbEnd, Active, errXANota, "", verdict{Refused, Broken}},
	{VerbEnd, Active, errXAState, wordRollbackOnly, verdict{Refused, Poisoned}},
	{VerbEnd, Active, errXAState, "", verdict{Refused, Broken}},
	{VerbEnd, Active, errXAOutside, "", verdict{Refused, Broken}},

	// The server rolls the branch back when PREPARE cannot have its lock.
	{VerbPrepare, Ended, errLockWait, "", verdict{Refused, None}},
	{VerbPrepare, Ended, errXANota, "", verdict{Refused, Broken}},
	{VerbPrepare, Ended, errXAState, wordRollbackOnly, verdict{Refused, Poisoned}},
	{VerbPrepare, Ended, errXAState, wordActive, verdict{Refused, Broken}},
	{VerbPrepare, Ended, errXAState, wordNonExisting, verdict{Refused, Broken}},
	{VerbPrepare, Ended, errXARolledBack, "", verdict{Refused, Broken}},
	{VerbPrepare, Ended, errXATimedOut, "", verdict{Refused, Broken}},
	{VerbPrepare, Ended, errXADeadlock, "", verdict{Refused, Broken}},

	// The branch stays prepared, and the same COMMIT may be sent again.
	{VerbCommit, None, errLockWait, "", verdict{Refused, None}},
	{VerbCommit, None, errInterrupted, "", verdict{Refused, None}},
	{VerbCommit, None, errReadOnly, "", verdict{Refused, None}},
	{VerbCommit, Prepared, errLockWait, "", verdict{Refused, Prepared}},
	{VerbCommit, Prepared, errInterrupted, "", verdict{Refused, Prepared}},
	{VerbCommit, Prepared, errReadOnly, "", verdict{Refused, Prepared}},
	{VerbCommit, None, errXANota, "", verdict{InDoubt, None}},
	// The branch is gone, nothing of it was committed.
	{VerbCommit, None, errXARolledBack, "", verdict{Refused, None}},
	{VerbCommit, None, errXATimedOut, "", verdict{Refused, None}},
	{VerbCommit, None, errXADeadlock, "", verdict{Refused, None}},
	{VerbCommit, Prepared, errXARolledBack, "", verdict{Refused, Broken}},
	{VerbCommit, Prepared, errXATimedOut, "", verdict{Refused, Broken}},
	{VerbCommit, Prepared, errXADeadlock, "", verdict{Refused, Broken}},
	// Not executed: the session is not what we believed.
	{VerbCommit, None, errXAState, "", verdict{Refused, Broken}},
	{VerbCommit, None, errXAOutside, "", verdict{Refused, Broken}},
	{VerbCommit, Prepared, errXAState, "", verdict{Refused, Broken}},
	{VerbCommit, Prepared, errXAOutside, "", verdict{Refused, Broken}},

	{VerbRollback, None, errLockWait, "", verdict{Refused, None}},
	{VerbRollback, None, errInterrupted, "", verdict{Refused, None}},
	{VerbRollback, None, errReadOnly, "", verdict{Refused, None}},
	{VerbRollback, Prepared, errLockWait, "", verdict{Refused, Prepared}},
	{VerbRollback, Prepared, errInterrupted, "", verdict{Refused, Prepared}},
	{VerbRollback, Prepared, errReadOnly, "", verdict{Refused, Prepared}},
	{VerbRollback, None, errXANota, "", verdict{InDoubt, None}},
	{VerbRollback, None, errXAState, "", verdict{Refused, Broken}},
	{VerbRollback, None, errXAOutside, "", verdict{Refused, Broken}},
	{VerbRollback, Prepared, errXAState, "", verdict{Refused, Broken}},
	{VerbRollback, Prepared, errXAOutside, "", verdict{Refused, Broken}},

	{VerbQuery, None, errDuringCommit, "", verdict{InDoubt, Broken}},
}

// unlisted is the verdict on a server's error that no rule names.
func unlisted(verb Verb, state State) verdict {
	switch verb {
	case VerbStart:
		// autocommit is still on: the next INSERT would commit by itself (server-facts.md, 0.5).
		return verdict{Refused, Broken}
	case VerbExec, VerbSavepoint, VerbRollbackTo, VerbEnd:
		return verdict{Refused, Poisoned}
	case VerbPrepare, VerbCommit, VerbRollback:
		return verdict{InDoubt, Broken}
	default:
		return verdict{Refused, state}
	}
}

// judge is the verdict on number and word, answered to verb in state.
func judge(verb Verb, state State, number uint16, word string) verdict {
	if endsSession(number) {
		return lost(verb)
	}
	byNumber := -1
	for i, r := range rules {
		if r.verb != verb || r.state != state || r.number != number {
			continue
		}
		if r.word == word {
			return r.verdict
		}
		if r.word == "" {
			byNumber = i
		}
	}
	if byNumber >= 0 {
		return rules[byNumber].verdict
	}
	return unlisted(verb, state)
}

// lost is the verdict when the connection is gone or the answer was not waited for.
func lost(verb Verb) verdict {
	switch verb {
	case VerbConnect, VerbRecover:
		return verdict{Refused, Broken}
	default:
		return verdict{InDoubt, Broken}
	}
}

// endsSession tells whether the server closes the connection together with this error.
func endsSession(number uint16) bool {
	switch number {
	case errShutdown, errForcedClose, errAborting, errPacketTooLarge, errNewAborting,
		errConnectionKilled, errSessionKilled, errInactivity:
		return true
	}
	return number >= errNetFirst && number <= errNetLast
}

// classify says what err means, which ended verb in state, and where the session stands now. ctx is the one that the
// statement ran under.
func classify(ctx context.Context, verb Verb, state State, id XID, server string, err error) (*Error, State) {
	e := &Error{Verb: verb, ID: id, Server: server, Err: err}
	var answer *mysql.MySQLError
	switch {
	case errors.As(err, &answer):
		e.Number = answer.Number
		if answer.SQLState != [5]byte{} {
			e.State = string(answer.SQLState[:])
		}
		if answer.Number == errXAState {
			e.Word = stateWord(answer.Message)
		}
		v := judge(verb, state, e.Number, e.Word)
		e.Outcome = v.outcome
		if endsSession(e.Number) {
			e.Err = &lostError{cause: err}
		}
		return e, v.next
	case errors.Is(err, mysql.ErrPktTooLarge):
		// The driver looks at the size before its first byte.
		e.Outcome = Refused
		return e, unlisted(verb, state).next
	case ctx.Err() != nil:
		e.Err = &lostError{cause: endOf(ctx), driver: err}
	default:
		e.Err = &lostError{cause: err}
	}
	v := lost(verb)
	e.Outcome = v.outcome
	return e, v.next
}

// factsOf are the sentinels that a number stands for.
func factsOf(e *Error) []error {
	switch e.Number {
	case errXANota:
		return []error{ErrUnknownID}
	case errXADuplicate:
		return []error{ErrDuplicateID}
	case errXARolledBack, errXATimedOut, errXADeadlock, errDeadlock:
		return []error{ErrRolledBack}
	case errXAState:
		if e.Word == wordRollbackOnly {
			return []error{ErrWrongState, ErrRolledBack}
		}
		return []error{ErrWrongState}
	case errXAOutside:
		return []error{ErrWrongState}
	case errLockWait:
		return []error{ErrLockWait}
	case errXARMErr:
		if e.Verb == VerbRecover {
			return []error{ErrNoRecoverPrivilege}
		}
	}
	return nil
}

var wordPattern = regexp.MustCompile(`in the\s+([A-Z][A-Z -]*[A-Z])\s+state`)

// stateWord is the state that the message of a 1399 names, "" when the message is in another language.
func stateWord(message string) string {
	if m := wordPattern.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}
