package xasim

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Server is one simulated server. It is safe for concurrent use. Its tables, users' settings and prepared branches live
// as long as the value; sessions end with their connections, and all at once by [Server.Kill].
type Server struct {
	kind Kind
	name string // host name
	uuid string

	// mu is held for moments only, never while anything waits, so that a test inside a bubble of testing/synctest goes
	// on when all that is left to do is to wait.
	mu        sync.Mutex
	up        bool
	started   time.Time
	globals   settings
	databases map[string]*database

	sessions        map[uint64]*session
	lastSession     uint64
	transactions    []*transaction // the older ones first
	lastTransaction uint64
	branches        map[identity]*transaction
	locks           map[lockKey]queue
	tableWaits      []*tableWait
	named           map[string]*namedLock
	readLock        *session // holds FLUSH TABLES WITH READ LOCK
	writers         []*waiter

	faults      []*Fault
	detachDelay time.Duration
	events      []Event
	journal     []entry
	views       map[string]source // of tables' definitions, as they were last read; nil: they were not
}

var servers atomic.Uint64

// uptimeAtFirst is how long a new server says that it has been up, so that nobody waits for it to settle.
const uptimeAtFirst = time.Hour

// New makes a running server without databases. Nothing has to be closed but the connections to it.
func New(kind Kind) *Server {
	n := servers.Add(1)
	srv := &Server{
		kind: kind, name: fmt.Sprintf("xasim%d", n), uuid: fmt.Sprintf("00000000-0000-4000-8000-%012d", n),
		up: true, started: time.Now().Add(-uptimeAtFirst).Truncate(time.Second),
		databases: map[string]*database{}, sessions: map[uint64]*session{}, branches: map[identity]*transaction{},
		locks: map[lockKey]queue{}, named: map[string]*namedLock{},
	}
	srv.globals = srv.globalDefaults()
	srv.lastSession = firstSession
	return srv
}

// firstSession is the connection id after a start is above this one.
const firstSession = 7

// Kind is what the server is.
func (srv *Server) Kind() Kind { return srv.kind }

// Connector opens sessions of the administrator, root, without a database. It is for xa.Config.Connector, or for
// sql.OpenDB.
func (srv *Server) Connector() driver.Connector { return srv.ConnectorFor(Account{}) }

// ConnectorFor opens sessions of an account.
func (srv *Server) ConnectorFor(a Account) driver.Connector {
	if a.User == "" {
		a.User = "root"
	}
	return &connector{srv, a}
}

// Account is who a session belongs to. There are no passwords: whoever is named exists.
type Account struct {
	User     string // "" is root
	Database string // of the session at its start, "" for none; one that does not exist is error 1049
	Denied   Rights // what the user may not do; 0: everything is allowed
}

// Rights are privileges, as a set.
type Rights uint32

// The rights that can be denied.
const (
	// RecoverBranches is XA_RECOVER_ADMIN on MySQL: XA RECOVER is refused with 1401. MariaDB knows no such privilege.
	RecoverBranches Rights = 1 << iota
	// Process is PROCESS: information_schema.innodb_trx is refused with 1227, and the process list shows the user's own
	// sessions only.
	Process
	// KillOthers is CONNECTION_ADMIN or SUPER: KILL of another user's session is refused with 1095. On MariaDB it is also
	// what lets a user write to a server that is read-only.
	KillOthers
	// SystemVariables is what SET GLOBAL and SET SESSION xa_detach_on_prepare need.
	SystemVariables
	// Reload is what FLUSH needs.
	Reload
	// Create is CREATE, ALTER and DROP on databases and tables.
	Create
	// SelectRows, InsertRows, UpdateRows and DeleteRows are about tables: 1142.
	SelectRows
	InsertRows
	UpdateRows
	DeleteRows

	// Rows are the four together, and AllRights all.
	Rows      = SelectRows | InsertRows | UpdateRows | DeleteRows
	AllRights = RecoverBranches | Process | KillOthers | SystemVariables | Reload | Create | Rows
)

// SetDetachDelay lets a prepared branch be held for d longer than the session that prepared it is in the process list:
// meanwhile everybody else gets 1397, although XA RECOVER lists it (server-facts 1b). 0, as at the start: not a moment.
func (srv *Server) SetDetachDelay(d time.Duration) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.detachDelay = d
}

func (v settings) number(name string) (int64, error) { return strconv.ParseInt(v[name], 10, 64) }

// smallestPacket is the least that max_allowed_packet can be.
const smallestPacket = 1024

// tooLong tells whether a statement is longer than max_allowed_packet, which the driver looks at before it sends.
func (srv *Server) tooLong(text string) bool {
	if len(text) < smallestPacket {
		return false
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	limit, _ := srv.globals.number("max_allowed_packet")
	return int64(len(text)) >= limit
}

// wakeAll ends the waits of list.
func (srv *Server) wakeAll(list *[]*waiter) {
	all := *list
	*list = nil
	for _, w := range all {
		w.wake(nil)
	}
}
