package xasim

import (
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"
)

// failure is an answer of the server that is an error. Numbers, SQLSTATEs and texts are those of server-facts 3, or
// were seen on the real servers by the tests of this package.
func failure(number uint16, state, format string, args ...any) error {
	e := &mysql.MySQLError{Number: number, Message: fmt.Sprintf(format, args...)}
	copy(e.SQLState[:], state)
	return e
}

// errorNumber is the number of a failure, 0 for any other error.
func errorNumber(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// errGone unwinds a statement whose session has ended, or whose server has crashed. Nothing may be touched any more.
var errGone = errors.New("the session has ended")

// The state words of 1399.
const (
	wordNone         = "NON-EXISTING"
	wordActive       = "ACTIVE"
	wordIdle         = "IDLE"
	wordPrepared     = "PREPARED"
	wordRollbackOnly = "ROLLBACK ONLY"
)

func errState(word string) error {
	return failure(1399, "XAE07", "XAER_RMFAIL: The command cannot be executed when global transaction is in the  %s state", word)
}

func errNota() error { return failure(1397, "XAE04", "XAER_NOTA: Unknown XID") }

func errInval() error {
	return failure(1398, "XAE05", "XAER_INVAL: Invalid arguments (or unsupported command)")
}

func errOutside() error {
	return failure(1400, "XAE09", "XAER_OUTSIDE: Some work is done outside global transaction")
}

func errRMErr() error {
	return failure(1401, "XAE03", "XAER_RMERR: Fatal error occurred in the transaction branch - check your data for consistency")
}

func errRolledBack() error {
	return failure(1402, "XA100", "XA_RBROLLBACK: Transaction branch was rolled back")
}

func errDuplicateXID() error { return failure(1440, "XAE08", "XAER_DUPID: The XID already exists") }

func errBranchDeadlock() error {
	return failure(1614, "XA102", "XA_RBDEADLOCK: Transaction branch was rolled back: deadlock was detected")
}

func errLockWait() error {
	return failure(1205, "HY000", "Lock wait timeout exceeded; try restarting transaction")
}

func errDeadlock() error {
	return failure(1213, "40001", "Deadlock found when trying to get lock; try restarting transaction")
}

func errInterrupted() error { return failure(1317, "70100", "Query execution was interrupted") }

func errInactive() error {
	return failure(4031, "HY000", "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for configuring this behavior.")
}

func errNoDatabaseSelected() error { return failure(1046, "3D000", "No database selected") }

func errNoDatabase(name string) error { return failure(1049, "42000", "Unknown database '%s'", name) }

func errNoTable(database, name string) error {
	return failure(1146, "42S02", "Table '%s.%s' doesn't exist", database, name)
}

// clauses are what MariaDB calls the parts of a statement, by MySQL's names for them; those of insert, update and
// duplicate list are "field list" there.
var clauses = map[string]string{
	"field list": "SELECT", "where clause": "WHERE", "order clause": "ORDER BY", "group statement": "GROUP BY", "on clause": "ON",
	"update list": "SET", "insert list": "INSERT INTO", "duplicate list": "UPDATE",
}

func (k Kind) clause(where string) string {
	switch {
	case k.mariadb && clauses[where] != "":
		return clauses[where]
	case where == "update list" || where == "insert list" || where == "duplicate list":
		return "field list"
	}
	return where
}

func (k Kind) errNoColumn(name, where string) error {
	return failure(1054, "42S22", "Unknown column '%s' in '%s'", name, k.clause(where))
}

func errVariable(name string) error {
	return failure(1193, "HY000", "Unknown system variable '%s'", name)
}

func errNeeds(privilege string) error {
	return failure(1227, "42000", "Access denied; you need (at least one of) the %s privilege(s) for this operation", privilege)
}

// unsupported is the answer to what a real server may know and this one does not. It is an error of the server's own
// kind (1235, not supported yet), so that it is never taken for a lost connection.
func unsupported(what, statement string) error {
	if len(statement) > 300 {
		statement = statement[:300] + "…"
	}
	return failure(1235, "42000", "xasim does not support %s; the statement was: %s", what, statement)
}

func (k Kind) errSyntax(near string) error {
	name := "MySQL"
	if k.mariadb {
		name = "MariaDB"
	}
	if len(near) > 80 {
		near = near[:80]
	}
	return failure(1064, "42000", "You have an error in your SQL syntax; check the manual that corresponds to your %s server version for the right syntax to use near '%s' at line 1", name, near)
}
