package xa

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"log/slog"
	"time"

	"github.com/xasink/xasink/fault"
)

// Config says how to reach one server. Either DSN or Connector is needed. Printed, by any verb of fmt, as text or in
// JSON, it shows neither of them.
//
// Every call ends, also under a context that never does, when the link to the server goes dead without a word (packets
// are dropped, nothing is closed). With S = StatementTimeout, V = VerbTimeout and W = LockWait + MetadataLockWait:
//
//   - to connect, and each short question that the package itself asks (marks, sessions, identity, a scan), V;
//   - a verb, V; a statement of a session, S, and a result set of one too;
//   - Pool.Take, 2V + 1 s where it first has to find out that an idle session is dead; Pool.Discard, V + 1 s; Pool.Close,
//     S + V + 1 s whatever the number of sessions, V + 1 s where none is in a statement;
//   - a read or statement on [Server.DB] from outside of the package, max(S, V) + W after the server's last packet.
//     Whoever wants less gives the context a deadline.
//
// The last one bounds every connection that a DSN opens (the driver's readTimeout and writeTimeout, unless the DSN has
// shorter ones; a readTimeout within which a lock wait would not end is refused). Connections of a Connector of the
// user's own are bounded like that only if the user does it. A server that is there, but has long to do (to roll a large
// branch back, to sort), is waited for as the caller's context says, or S.
type Config struct {
	// DSN is a data source name of github.com/go-sql-driver/mysql. Parameters that would break a branch
	// (multiStatements, autocommit) or that the package sets itself are refused or overridden; see Connect.
	DSN string
	// Connector is used instead of DSN, for tests and dialers of the user's own.
	Connector driver.Connector
	// Address names the server in errors when Connector is used.
	Address string
	// TimeZone of every session; "" is "+00:00".
	TimeZone string
	// Job and Run become connection attributes, so that an operator can tell whose a session is. May be "".
	Job, Run string
	// LockWait is innodb_lock_wait_timeout of every session, whole seconds; 0 is 1 s, the server's minimum.
	LockWait time.Duration
	// MetadataLockWait is lock_wait_timeout of every session, whole seconds; 0 is 5 s.
	MetadataLockWait time.Duration
	// VerbTimeout bounds each XA verb, connecting, and each short question to the server. 0 is StatementTimeout where that
	// is below 30 s, else 30 s; but never less than 5 s above MetadataLockWait, for which a verb may wait at the server.
	VerbTimeout time.Duration
	// StatementTimeout bounds each Exec and each plain statement of a session, on top of the caller's context; 0 is 5 min.
	StatementTimeout time.Duration
	// Faults acts at the points of package fault; nil for none.
	Faults fault.Injector
	// Logger; nil discards.
	Logger *slog.Logger
}

// Queryer is what reads and plain statements need: *sql.DB, *sql.Conn, *sql.Tx and *Session have it.
type Queryer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Flavour is the kind of server.
type Flavour uint8

// The flavours.
const (
	MySQL Flavour = iota + 1
	MariaDB
)

// Abilities is what a server was found to be and to do. All of it is probed by statements.
type Abilities struct {
	Flavour       Flavour
	Version       string
	User          string // CURRENT_USER()
	Detached      bool   // PREPARE frees the session, and any session may commit (server-facts.md, 0.1)
	BinaryLog     bool
	SyncBinlog    int64
	FlushLog      int64 // innodb_flush_log_at_trx_commit
	MaxPacket     int   // max_allowed_packet, bytes
	MaxConns      int   // max_connections
	ReadOnly      bool
	ProcessRights bool // the user may read information_schema.innodb_trx (PROCESS)
	Warnings      []string

	login string // the user's name as the process list shows it
}

// Identity tells one server, and one start of it, from another.
type Identity struct {
	// Name is @@server_uuid on MySQL; host name, port, server id and data directory together on MariaDB.
	Name string
	// Started is when this server process started, by the server's own clock.
	Started time.Time
}

// StartTolerance is how far two readings of one start may lie apart.
const StartTolerance = 2 * time.Second

// SameServer tells whether both are of one server, whatever its starts.
func (i Identity) SameServer(o Identity) bool { return i.Name == o.Name }

// SameStart tells whether both are of one start of one server.
func (i Identity) SameStart(o Identity) bool {
	return i.Name == o.Name && i.Started.Sub(o.Started).Abs() <= StartTolerance
}

// Server is a handle on one server. It is safe for concurrent use. It holds no session between calls but those that
// were taken from it.
type Server struct {
	db       *sql.DB // plain reads and KILL
	sessions *sql.DB // one connection a session, never used twice
	config   Config
	address  string
	can      Abilities
}
