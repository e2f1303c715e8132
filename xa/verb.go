package xa

import "fmt"

// Verb is what was asked of a session.
type Verb uint8

// The verbs.
const (
	VerbNone Verb = iota
	VerbConnect
	VerbStart
	VerbExec
	VerbSavepoint
	VerbRollbackTo
	VerbEnd
	VerbPrepare
	VerbCommit
	VerbRollback
	VerbRecover
	VerbQuery
	VerbMark
	VerbKill
)

var verbNames = [...]string{
	VerbNone:       "nothing",
	VerbConnect:    "connect",
	VerbStart:      "XA START",
	VerbExec:       "statement",
	VerbSavepoint:  "SAVEPOINT",
	VerbRollbackTo: "ROLLBACK TO SAVEPOINT",
	VerbEnd:        "XA END",
	VerbPrepare:    "XA PREPARE",
	VerbCommit:     "XA COMMIT",
	VerbRollback:   "XA ROLLBACK",
	VerbRecover:    "XA RECOVER",
	VerbQuery:      "plain statement",
	VerbMark:       "GET_LOCK",
	VerbKill:       "KILL CONNECTION",
}

func (v Verb) String() string {
	if int(v) < len(verbNames) {
		return verbNames[v]
	}
	return fmt.Sprintf("verb(%d)", uint8(v))
}
