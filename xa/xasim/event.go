package xasim

import (
	"fmt"
	"slices"
	"time"

	"github.com/xasink/xasink/xa"
)

// EventKind is what happened.
type EventKind uint8

// The events.
const (
	// Connected and Ended: a session began, and was gone with its locks freed.
	Connected EventKind = iota + 1
	Ended
	// Started, Prepared, Committed, RolledBack: a branch's XA START, XA PREPARE, XA COMMIT (ONE PHASE as well) and
	// rollback, by a verb, by the end of its session, or by a restart. Where XID is zero Committed is a local
	// transaction with changes, and RolledBack one that was undone.
	Started
	Prepared
	Committed
	RolledBack
	// Detached: a prepared branch is no longer held by a session.
	Detached
	// Stopped and Booted: the server is down, and up again.
	Stopped
	Booted
	// Lost: a restart forgot a prepared branch (server-facts 0.4).
	Lost
	// Limbo: a COMMIT was answered OK and did nothing; the branch is in no list (server-facts 0.3).
	Limbo
	// TakenBack: a restart undid what had been acknowledged: Undid says what.
	TakenBack
	// Faulted: a fault of [Server.Inject] acted on a statement.
	Faulted
)

var eventNames = [...]string{
	Connected: "connected", Ended: "ended", Started: "started", Prepared: "prepared", Committed: "committed",
	RolledBack: "rolled back", Detached: "detached", Stopped: "stopped", Booted: "booted", Lost: "lost", Limbo: "limbo",
	TakenBack: "taken back", Faulted: "faulted",
}

func (k EventKind) String() string {
	if int(k) < len(eventNames) && eventNames[k] != "" {
		return eventNames[k]
	}
	return fmt.Sprintf("event(%d)", uint8(k))
}

// XID names a branch.
type XID = xa.XID

// Event is one thing that the server did, with what it had effect on.
type Event struct {
	Kind      EventKind
	At        time.Time
	Session   uint64   // connection id of the session that did it, 0 for the server itself
	XID       XID      // zero where it is about no branch
	Rows      int      // rows that a transaction changes
	Tables    []string // of Prepared: the tables, as database.name, in which it changes rows, in the order in which it met them
	Statement string   // of Faulted
	Undid     EventKind
}

// String is one line for people.
func (e Event) String() string {
	s := e.Kind.String()
	if e.Kind == TakenBack {
		s += " (" + e.Undid.String() + ")"
	}
	if e.XID != (XID{}) {
		s += " " + e.XID.String()
	}
	if e.Rows > 0 {
		s += fmt.Sprintf(", %d rows", e.Rows)
	}
	if e.Session != 0 {
		s += fmt.Sprintf(", session %d", e.Session)
	}
	if e.Statement != "" {
		s += ": " + e.Statement
	}
	return s
}

// log adds an event. The server's mutex is held.
func (srv *Server) log(e Event) {
	e.At = time.Now()
	srv.events = append(srv.events, e)
}

// logBranch is log for what becomes of a transaction. One without a branch is told only if it changed something.
func (srv *Server) logBranch(kind EventKind, t *transaction, by *session) {
	if t.state == plain && len(t.changes) == 0 {
		return
	}
	e := Event{Kind: kind, XID: t.xid, Rows: t.rows()}
	if by != nil {
		e.Session = by.id
	}
	if kind == Prepared {
		e.Tables = t.changed()
	}
	srv.log(e)
}

// Events is everything that the server did so far, the oldest first.
func (srv *Server) Events() []Event {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return slices.Clone(srv.events)
}

// EventsSince is Events without the first n.
func (srv *Server) EventsSince(n int) []Event {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return slices.Clone(srv.events[min(n, len(srv.events)):])
}
