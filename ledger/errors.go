package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/xasink/xasink/xa"
)

// Server error numbers (MySQL reference manual, error messages; MariaDB has the same).
const (
	errDatabaseDenied = 1044 // access denied for user to database
	errAccessDenied   = 1045
	errNoDatabase     = 1049
	errDuplicate      = 1062
	errTableDenied    = 1142
	errColumnDenied   = 1143
	errNoTable        = 1146
	errLockWait       = 1205
	errSpecificDenied = 1227 // needs a privilege that is named in the text
)

var deniedNumbers = []uint16{errDatabaseDenied, errAccessDenied, errTableDenied, errColumnDenied, errSpecificDenied}

// number is the server's error number in err, 0 if it has none.
func number(err error) uint16 {
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		return refused.Number
	}
	return 0
}

// text is the server's words in err.
func text(err error) string {
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		return refused.Message
	}
	return ""
}

func absent(err error) bool { return number(err) == errNoDatabase || number(err) == errNoTable }

// Explain adds to an error of a statement on the ledger, such as the one of ProofSQL, what to do about it. An error
// that is not about the ledger's existence or a right on it comes back as it is; nil stays nil.
func (l Ledger) Explain(err error, user string) error {
	switch {
	case err == nil:
		return nil
	case number(err) == errLockWait:
		return fmt.Errorf("%w (LOCK TABLES, OPTIMIZE or ALTER TABLE on the ledger's tables, FLUSH TABLES WITH READ LOCK, or a "+
			"backup): SHOW FULL PROCESSLIST shows it; a statement that waits there waits for the jobs' prepared branches, which "+
			"cannot be settled before: KILL it, then go on: %w", ErrHeld, err)
	case absent(err):
		return fmt.Errorf("%w: %w; let xasink make it, or run:\n%s", ErrAbsent, err, l.script())
	case number(err) == errTableDenied && !mayBeAbsent(text(err)), number(err) == errColumnDenied:
		return fmt.Errorf("%w: %w; as an administrator run:\n%s", ErrPrivilege, err, l.Grant(user))
	case slices.Contains(deniedNumbers, number(err)):
		return fmt.Errorf("%w: %w; as an administrator run:\n%s\n%s", ErrPrivilege, err, l.script(), l.Grant(user))
	}
	return err
}

// mayBeAbsent tells whether a refusal leaves open that the table is not there: the server tells that only to who may read
// it, and the ledger is read before anything is written.
func mayBeAbsent(refusal string) bool {
	return strings.HasPrefix(refusal, "CREATE ") || strings.HasPrefix(refusal, "SELECT ")
}

// Grant is the statement that gives user, in the form name@host of CURRENT_USER(), all that a sink does with the
// ledger's tables. It does not include the right to create them.
func (l Ledger) Grant(user string) string {
	return "GRANT SELECT, INSERT, UPDATE, DELETE ON " + quote(l.database) + ".* TO " + quoteAccount(user) + ";"
}

// explain is Explain with the session's own user, and with what was being done.
func (l Ledger) explain(ctx context.Context, q xa.Queryer, doing string, err error) error {
	if err == nil {
		return nil
	}
	user := ""
	if slices.Contains(deniedNumbers, number(err)) {
		user = currentUser(ctx, q)
	}
	return fmt.Errorf("%s: %w", doing, l.Explain(err, user))
}

func (l Ledger) script() string { return strings.Join(l.DDL(), ";\n") + ";" }

// currentUser is CURRENT_USER(), or empty when it cannot be read: the message is then only less exact.
func currentUser(ctx context.Context, q xa.Queryer) string {
	rows, err := q.QueryContext(ctx, "SELECT CURRENT_USER()")
	if err != nil {
		return ""
	}
	defer func() { _ = rows.Close() }() // a failed close cannot make the name wrong
	var user string
	if rows.Next() && rows.Scan(&user) == nil && rows.Err() == nil {
		return user
	}
	return ""
}

// quoteAccount turns name@host into 'name'@'host'. Only the last @ separates.
func quoteAccount(user string) string {
	if user == "" {
		return "'USER'@'HOST'"
	}
	name, host := user, "%"
	if i := strings.LastIndexByte(user, '@'); i >= 0 {
		name, host = user[:i], user[i+1:]
	}
	return literal(name) + "@" + literal(host)
}

// literal is s in single quotes, for text that people type.
func literal(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}
