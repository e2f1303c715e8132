package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xasink/xasink/fault"
)

// DefaultDatabase is the ledger's database where nothing else is configured.
const DefaultDatabase = "xasink"

// FormatVersion is the newest layout of the ledger's tables that this version reads, and the one that it makes.
const FormatVersion = 1

const maxDatabase = 64 // characters; both servers' limit for identifiers

// Facts that errors of this package match with errors.Is.
var (
	// ErrFenced: the job row shows another owner: another store, a higher epoch, or a row that changed since it was
	// looked at.
	ErrFenced = errors.New("fenced: the server knows a newer owner of the job")
	// ErrAbsent: the server has no ledger: the database or a table of it does not exist.
	ErrAbsent = errors.New("the ledger does not exist")
	// ErrHeld: somebody's lock keeps the ledger from being read or written for now.
	ErrHeld = errors.New("somebody holds the ledger's tables, or waits for them")
	// ErrNewer: the tables were made by a newer version of xasink than this one.
	ErrNewer = errors.New("the ledger's format is newer than this version")
	// ErrPrivilege: the user lacks a right on the ledger. The text has the statements to type.
	ErrPrivilege = errors.New("a privilege on the ledger is missing")
)

// Ledger names the ledger of a server. It is a value without any connection; the zero value is not usable, see [New].
type Ledger struct {
	database string
	faults   fault.Injector
}

// New is the ledger in the given database. It only checks the name: 1 to 64 characters of valid UTF-8 without NUL and
// without a trailing space, which neither server takes.
func New(database string) (Ledger, error) {
	switch {
	case database == "":
		return Ledger{}, fmt.Errorf("ledger database: the name is empty; leave it out for %q", DefaultDatabase)
	case !utf8.ValidString(database):
		return Ledger{}, fmt.Errorf("ledger database %q: the name is not valid UTF-8", database)
	case utf8.RuneCountInString(database) > maxDatabase:
		return Ledger{}, fmt.Errorf("ledger database %q: the name has %d characters, the servers allow %d",
			database, utf8.RuneCountInString(database), maxDatabase)
	case strings.ContainsRune(database, 0):
		return Ledger{}, fmt.Errorf("ledger database %q: the name contains a NUL", database)
	case strings.HasSuffix(database, " "):
		return Ledger{}, fmt.Errorf("ledger database %q: the name ends with a space", database)
	case slices.Contains(systemDatabases, strings.ToLower(database)):
		return Ledger{}, fmt.Errorf("ledger database %q: this is a database of the server's own; take another one", database)
	}
	return Ledger{database: database}, nil
}

// systemDatabases are the servers' own.
var systemDatabases = []string{"information_schema", "mysql", "performance_schema", "sys"}

// Owns tells whether a table is one of the ledger's. Names are compared without regard to case, as some servers do.
func (l Ledger) Owns(database, table string) bool {
	return strings.EqualFold(database, l.database) && (strings.EqualFold(table, jobsTable) || strings.EqualFold(table, branchesTable))
}

// Database is the name of the ledger's database.
func (l Ledger) Database() string { return l.database }

// WithFaults is the same ledger with an injector that acts at the points LedgerCreate, LedgerRaise, LedgerRead and
// LedgerPrune; nil for none.
func (l Ledger) WithFaults(in fault.Injector) Ledger {
	l.faults = in
	return l
}

// timeout bounds whatever is done with the ledger's tables in one go, which are a few small statements.
const timeout = time.Minute

// effect runs do between the two points of op.
func (l Ledger) effect(ctx context.Context, op fault.Op, do func(ctx context.Context) error) error {
	if err := fault.At(ctx, l.faults, fault.Before(op)); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := do(within); err != nil {
		if within.Err() != nil && ctx.Err() == nil {
			return fmt.Errorf("the server gave no answer within %s; check that it runs and is reachable: %w", timeout, err)
		}
		return err
	}
	return fault.At(ctx, l.faults, fault.After(op))
}

func (l Ledger) table(name string) string { return quote(l.database) + "." + quote(name) }

// quote is an SQL identifier in backticks.
func quote(identifier string) string { return "`" + strings.ReplaceAll(identifier, "`", "``") + "`" }

const (
	jobsTable     = "jobs"
	branchesTable = "branches"
)
