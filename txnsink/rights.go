package txnsink

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// checkPrivileges has the server explain a statement of each operation, which checks what executing it would need and
// executes nothing (tried on MySQL 9.7 and MariaDB 11.8).
func (l *loader) checkPrivileges(ctx context.Context, t *table) error {
	row := func(op Operation) string {
		b := &Batch{kinds: make([]kind, len(t.given(op))), ends: make([]int, len(t.given(op)))}
		return string(b.appendRow(nil, rowRef{table: t, op: op}))
	}
	for _, probe := range []struct {
		op  Operation
		sql string
	}{
		{Insert, t.insertHead + row(Insert)},
		{Upsert, t.insertHead + row(Upsert) + t.upsertTail},
		{Delete, t.deleteHead + row(Delete) + t.deleteTail},
	} {
		if t.operations&probe.op == 0 {
			continue
		}
		number, text, err := l.explain(ctx, t, probe.sql)
		switch {
		case err != nil:
			return err
		case number == 1142 || number == 1143:
			l.problem(t.name, "this user may not %s (%s): %s", probe.op, text, l.grant(t, probe.op))
		case number != 0:
			l.problem(t.name, "the server refuses %s: error %d, %s", probe.op, number, text)
		}
	}
	return nil
}

const (
	errLockWait  = 1205
	errOption    = 1290 // an option such as read_only forbids the statement
	errReadOnly  = 1792 // the transaction is read-only
	errReadOnly2 = 1836 // the server is read-only
	// MariaDB shows this as the comment of a table without an engine in information_schema.TABLES while it waits for
	// the table's metadata lock.
	lockWaitText = "Lock wait timeout exceeded"
)

// explain asks the server for the plan of statement on t. number and text are its refusal, 0 if there is none. err is an
// *UnavailableError where the server or the table only cannot be written for now, or an error of the connection.
func (l *loader) explain(ctx context.Context, t *table, statement string) (number uint16, text string, err error) {
	err = read(ctx, l.q, "EXPLAIN "+statement, nil, func(*sql.Rows) error { return nil })
	if err == nil {
		return 0, "", nil
	}
	number, text, ok := serverError(err)
	switch {
	case !ok:
		return 0, "", fmt.Errorf("probe privileges on table %s: %w", t.name, err)
	case number == errLockWait:
		return 0, "", l.held(t.name, err)
	case number == errOption || number == errReadOnly || number == errReadOnly2:
		return 0, "", &UnavailableError{
			What: "table " + t.name, Err: err,
			Reason: "the server takes no writes; make it writable, or name the writable one in the DSN if this is a replica, then open again",
		}
	}
	return number, text, nil
}

// held is a table that somebody else's metadata lock keeps from being looked at.
func (l *loader) held(name string, err error) error {
	return &UnavailableError{
		What: "table " + name, Err: err, lock: true,
		Reason: "LOCK TABLES, an ALTER TABLE or another statement on it holds it; end that, or wait for it, then open again",
	}
}

// grant is the statement that gives what the operations need.
func (l *loader) grant(t *table, op Operation) string {
	var privileges []string
	for _, p := range []struct {
		op   Operation
		name string
	}{{Upsert | Delete, "SELECT"}, {Insert | Upsert, "INSERT"}, {Upsert, "UPDATE"}, {Delete, "DELETE"}} {
		if op&p.op != 0 {
			privileges = append(privileges, p.name)
		}
	}
	user, host, _ := cutLast(l.user, "@")
	return fmt.Sprintf("GRANT %s ON %s.%s TO %s@%s", strings.Join(privileges, ", "), quoteName(t.database), quoteName(t.base), quoteText(user), quoteText(host))
}
