package xasim

import (
	"fmt"
	"strings"
	"time"
)

// Act is what a [Fault] does.
type Act uint8

// The acts. An effect is done or not as each one says, and the client sees what it would see of a real server.
const (
	// LoseRequest breaks the connection before the statement arrives: it is not executed, and the session ends.
	LoseRequest Act = iota + 1
	// LoseAnswer executes the statement and breaks the connection before the answer: the session ends, an open branch is
	// rolled back, and a prepared one stays.
	LoseAnswer
	// FreezeRequest swallows the statement, and everything after it, in silence: the client waits until its context ends,
	// and the session stays on the server, with its locks, until it is killed or wait_timeout is over.
	FreezeRequest
	// FreezeAnswer executes the statement and swallows the answer. The session stays as with FreezeRequest.
	FreezeAnswer
	// Refuse answers Err and executes nothing.
	Refuse
	// Swallow answers OK with no rows affected and executes nothing, as something between client and server may.
	Swallow
	// FalseOK answers OK to an XA COMMIT or XA ROLLBACK and does nothing: the branch is in no list, its locks are held, and
	// it comes back with the next start (server-facts 0.3). Real servers were seen to do that only where they keep
	// branches attached, and only to another session than the one that prepared. A sink believes OK everywhere else, so
	// that what is injected there is a server that loses what it has acknowledged.
	FalseOK
	// Slow waits for Delay before it executes the statement. The client's context does not end it; KILL does.
	Slow
	// SlowAnswer executes the statement and waits for Delay before it answers.
	SlowAnswer
	// SlowCommit executes an XA COMMIT, or any other statement, and waits for Delay before it is wholly done: the rows are
	// visible and free, and XA RECOVER still lists the branch, as it was seen to on both servers (docs/facts.md).
	SlowCommit
	// CrashBefore ends the server as by SIGKILL before the statement is executed, and CrashAfter behind it, before the
	// answer. It starts again after Delay, with Crash; a negative Delay leaves it down.
	CrashBefore
	CrashAfter
)

var actNames = [...]string{
	LoseRequest: "lose request", LoseAnswer: "lose answer", FreezeRequest: "freeze request", FreezeAnswer: "freeze answer",
	Refuse: "refuse", Swallow: "swallow", FalseOK: "false OK", Slow: "slow", SlowAnswer: "slow answer", SlowCommit: "slow commit", CrashBefore: "crash before",
	CrashAfter: "crash after",
}

func (a Act) String() string {
	if int(a) < len(actNames) && actNames[a] != "" {
		return actNames[a]
	}
	return fmt.Sprintf("act(%d)", uint8(a))
}

// Fault acts on statements that the server receives. It may not be changed after [Server.Inject].
type Fault struct {
	// Statement is how a statement has to begin, without regard to capitals: "XA PREPARE". "" is any.
	Statement string
	// Contains has to be somewhere in the statement, as it is: a table's name, or the SQL form of an XID.
	Contains string
	// Session, if it is not 0, is the connection id that has to send it.
	Session uint64
	// User, if it is not "", is whose session has to send it.
	User string
	// Nth is which of the statements that fit is the first to be acted on, from 1; 0 is 1.
	Nth int
	// Times is how many are acted on, from there; 0 is 1, negative all.
	Times int
	Act   Act
	Err   error         // of Refuse
	Delay time.Duration // of Slow, SlowAnswer, SlowCommit, CrashBefore and CrashAfter
	Crash Crash         // of CrashBefore and CrashAfter

	seen, fired int
}

// Inject lets f act from now on. Of several faults that fit the one that was injected first acts. The function that
// it returns tells how often f has acted.
func (srv *Server) Inject(f Fault) (fired func() int) {
	own := &f
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.faults = append(srv.faults, own)
	return func() int {
		srv.mu.Lock()
		defer srv.mu.Unlock()
		return own.fired
	}
}

// ClearFaults ends all faults. Sessions that are frozen stay so.
func (srv *Server) ClearFaults() {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.faults = nil
}

// Freeze cuts a session off in silence, as FreezeRequest does from its next statement on. A session that executes one
// is cut off from its answer. It is an error when there is no such session.
func (srv *Server) Freeze(session uint64) error {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	s := srv.sessions[session]
	if s == nil {
		return fmt.Errorf("xasim: there is no session %d to freeze", session)
	}
	s.frozen = true
	return nil
}

// fits counts a statement, and tells whether f acts on it.
func (f *Fault) fits(s *session, text string) bool {
	switch {
	case f.Session != 0 && f.Session != s.id, f.User != "" && f.User != s.account.User,
		len(text) < len(f.Statement) || !strings.EqualFold(text[:len(f.Statement)], f.Statement),
		!strings.Contains(text, f.Contains):
		return false
	}
	f.seen++
	first := max(f.Nth, 1)
	return f.seen >= first && (f.Times < 0 || f.seen < first+max(f.Times, 1))
}

func (srv *Server) fault(s *session, text string) *Fault {
	if text == ping {
		return nil
	}
	for _, f := range srv.faults {
		if f.fits(s, text) {
			f.fired++
			srv.log(Event{Kind: Faulted, Session: s.id, Statement: f.Act.String() + " " + shorten(text)})
			return f
		}
	}
	return nil
}

func shorten(text string) string {
	if len(text) > 200 {
		return text[:200] + "…"
	}
	return text
}

// perform executes a statement as the faults have it. answered is false where the client is to see no answer.
func (s *session) perform(c *command) (r reply, answered bool) {
	srv := s.server
	if s.frozen {
		return reply{}, false
	}
	f := srv.fault(s, c.text)
	if f == nil {
		f = &Fault{}
	}
	switch f.Act {
	case LoseRequest:
		s.ending = quit
		return reply{}, false
	case FreezeRequest:
		s.frozen = true
		return reply{}, false
	case Refuse:
		return reply{err: f.Err}, true
	case Swallow:
		return reply{result: &result{}}, true
	case FalseOK:
		r.result, r.err = s.limbo(c)
		return r, true
	case Slow:
		if err := s.pass(f.Delay); err != nil {
			return reply{err: err}, true
		}
	case SlowCommit:
		s.linger = f.Delay
		defer func() { s.linger = 0 }()
	case CrashBefore:
		srv.crashFor(f)
		return reply{}, false
	default: // the others act on the answer
	}
	r.result, r.err = s.execute(c)
	if s.over != 0 {
		return reply{}, false
	}
	switch f.Act {
	case LoseAnswer:
		s.ending = quit
		return reply{}, false
	case FreezeAnswer:
		s.frozen = true
		return reply{}, false
	case SlowAnswer:
		if err := s.pass(f.Delay); err != nil {
			return reply{}, false
		}
	case CrashAfter:
		srv.crashFor(f)
		return reply{}, false
	default: // the others acted before
	}
	return r, !s.frozen
}

// pass waits for d, unless the session ends.
func (s *session) pass(d time.Duration) error { return s.wait(newWaiter(), d, nil) }
