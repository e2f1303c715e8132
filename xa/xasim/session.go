package xasim

import (
	"maps"
	"time"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
)

// session is one connection as the server has it. Its goroutine executes statements one after the other, whether or
// not a client still waits for the answer, and ends with it.
type session struct {
	server    *Server
	id        uint64
	account   Account
	requests  chan *command
	gone      chan struct{} // closed when nothing is left of the session
	connected time.Time

	// The rest is under the server's mutex.
	variables   settings
	database    string
	transaction *transaction
	locks       []string // named locks, once for each GET_LOCK
	tables      []lockedTable
	warnings    int
	insertID    uint64

	busy    *command      // being executed
	since   time.Time     // of busy, or idle since then
	waiting *waiter       // of busy, where it waits
	ending  endReason     // why it ends as soon as busy is through, 0: it does not
	over    endReason     // why it ended, 0: it lives
	linger  time.Duration // of SlowCommit
	frozen  bool          // the network is cut in silence: neither side sees the other go
}

// endReason is why a session ends.
type endReason uint8

const (
	quit endReason = iota + 1 // the client closed the connection, or lost it
	killed
	inactive
	crashed
)

// command is one statement on its way to a session and back.
type command struct {
	text  string
	args  []datum.Value
	reply chan reply
}

type reply struct {
	result *result
	err    error
}

// connect makes a session, or says why not.
func (srv *Server) connect(a Account) (*session, error) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if !srv.up {
		return nil, errRefused
	}
	if a.Database != "" && srv.databases[a.Database] == nil {
		return nil, errNoDatabase(a.Database)
	}
	if limit, _ := srv.globals.number("max_connections"); int64(len(srv.sessions)) >= limit {
		return nil, failure(1040, "08004", "Too many connections")
	}
	srv.lastSession++
	now := time.Now()
	s := &session{
		server: srv, id: srv.lastSession, account: a, requests: make(chan *command), gone: make(chan struct{}),
		connected: now, since: now, variables: maps.Clone(srv.globals), database: a.Database,
	}
	srv.sessions[s.id] = s
	srv.log(Event{Kind: Connected, Session: s.id})
	go s.run()
	return s, nil
}

// run executes what comes until the session ends.
func (s *session) run() {
	idle := time.NewTimer(s.server.patience(s))
	defer idle.Stop()
	for {
		select {
		case <-s.gone:
			return
		case c := <-s.requests:
			idle.Reset(s.serve(c))
		case <-idle.C:
			s.server.mu.Lock()
			s.end(inactive)
			s.server.mu.Unlock()
		}
	}
}

// patience is the session's wait_timeout.
func (srv *Server) patience(s *session) time.Duration {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return s.variables.seconds("wait_timeout")
}

// serve executes one statement and answers it, unless a fault has other plans. It gives the time that the session may
// be idle from now on.
func (s *session) serve(c *command) (patience time.Duration) {
	srv := s.server
	srv.mu.Lock()
	defer srv.mu.Unlock()
	defer func() { patience = s.variables.seconds("wait_timeout") }()
	if s.over != 0 {
		return 0
	}
	s.busy, s.since = c, time.Now()
	r, answered := s.perform(c)
	s.busy, s.since = nil, time.Now()
	switch {
	case s.over != 0: // the server crashed meanwhile
	case answered && s.ending == 0:
		c.reply <- r
	case s.ending != 0:
		reason := s.ending
		s.ending = 0
		s.end(reason)
	}
	return 0
}

// end ends the session: an open branch or transaction is rolled back, a prepared one stays, named locks are free. A
// session that executes a statement ends when that is through; what it waits for is cut short, but for the loss of a
// client, which the server does not see before it answers. The server's mutex is held.
func (s *session) end(reason endReason) {
	srv := s.server
	if s.over != 0 {
		return
	}
	if s.busy != nil {
		if s.ending == 0 || reason > s.ending {
			s.ending = reason
		}
		if reason != quit && s.waiting != nil {
			s.waiting.wake(errGone)
		}
		return
	}
	s.over = reason
	delete(srv.sessions, s.id)
	srv.log(Event{Kind: Ended, Session: s.id})
	s.unlockTables()
	if t := s.transaction; t != nil {
		s.transaction = nil
		if t.state == prepared {
			srv.detach(t)
		} else {
			srv.logBranch(RolledBack, t, s)
			srv.rollback(t)
		}
	}
	s.releaseNamed()
	if srv.readLock == s {
		srv.readLock = nil
		srv.wakeAll(&srv.writers)
	}
	close(s.gone)
}

// wait leaves the server to others until w is done, or limit is over, which ends it with late. The error is w's. The
// server's mutex is held before and after.
func (s *session) wait(w *waiter, limit time.Duration, late error) error {
	srv := s.server
	s.waiting = w
	if s.ending > quit {
		w.wake(errGone)
	}
	srv.mu.Unlock()
	var timer *time.Timer
	var expired <-chan time.Time
	if limit >= 0 {
		timer = time.NewTimer(limit)
		expired = timer.C
	}
	select {
	case <-w.done:
	case <-expired:
	}
	if timer != nil {
		timer.Stop()
	}
	srv.mu.Lock()
	w.wake(late)
	s.waiting = nil
	if s.over == crashed {
		return errGone
	}
	return w.err
}

// forever is a limit of wait that is none.
const forever = time.Duration(-1)

// lacks tells whether the session's user was denied a right.
func (s *session) lacks(r Rights) bool { return s.account.Denied&r != 0 }

// word is the state that errors of XA name.
func (s *session) word() string {
	t := s.transaction
	switch {
	case t == nil:
		return wordNone
	case t.state == active:
		return wordActive
	case t.state == idle:
		return wordIdle
	case t.state == prepared:
		return wordPrepared
	case t.state == rollbackOnly:
		return wordRollbackOnly
	}
	return wordNone
}

// inBranch tells whether the session has a branch of its own.
func (s *session) inBranch() bool { return s.transaction != nil && s.transaction.state != plain }
