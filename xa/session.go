package xa

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/xasink/xasink/fault"
)

// savepointName is the one savepoint that a branch has; setting it again moves it.
const savepointName = "xasink"

// Session is one connection that holds an owner mark and at most one branch. It has one owner at a time, who calls it
// from one goroutine; it comes from a [Pool] and goes back there.
//
// A verb that the state does not allow gives a [*StateError], and nothing is sent. Every other error is an [*Error];
// its Outcome says what became of the effect, and State afterwards says what is left to do: Stalled (the same Exec
// again, RollbackTo or Abort), Poisoned (Abort), Broken (Pool.Discard), or the state before.
//
// A context that has ended before anything was sent is an Error with Outcome Refused, and the state stays; but a
// statement that belongs into a branch and was not sent poisons the branch, which lacks it. Once a verb is being sent
// the caller's context no longer counts, since to stop waiting would leave the outcome in doubt: the verb runs under
// Config.VerbTimeout. Exec, LedgerExec and plain statements end with the caller's context or with
// Config.StatementTimeout; the session is Broken then, because the server goes on with the statement.
type Session struct {
	server *Server
	conn   *sql.Conn
	id     uint64
	mark   Mark

	mu      sync.Mutex // held during a call; only the pool's Close ever waits for it
	state   State
	branch  ID
	open    bool   // branch names the branch that this session has, or had when it broke
	saved   bool   // the branch has its savepoint
	stalled uint64 // hash of the statement that met the lock wait

	running     atomic.Pointer[context.CancelFunc] // ends the statement being executed
	interrupted atomic.Bool
}

// Start begins branch id: XA START. Allowed in state None. id is of the mark's job and lane, was never used before
// (rule 7), and has epoch and seq from 1. When the server refuses it the session is Broken, because it would go on in
// autocommit (server-facts.md, 0.5).
func (s *Session) Start(ctx context.Context, id ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkBranch(id); err != nil {
		return &Error{Verb: VerbStart, Outcome: Refused, Server: s.server.address, Err: err}
	}
	x := id.XID()
	if err := s.allow(VerbStart, x, None); err != nil {
		return err
	}
	s.branch, s.open, s.saved = id, true, false
	if _, err := s.send(ctx, call{VerbStart, fault.Start, x, "XA START " + x.SQL()}); err != nil {
		s.open = s.state == Broken
		return err
	}
	s.state = Active
	return nil
}

func (s *Session) checkBranch(id ID) error {
	if err := CheckJob(id.Job); err != nil {
		return err
	}
	switch {
	case id.Job != s.mark.Job || id.Lane != s.mark.Lane:
		return fmt.Errorf("branch %s is not of the session's owner mark %s", id, s.mark)
	case id.Epoch == 0 || id.Seq == 0:
		return fmt.Errorf("branch %s: epoch and seq count from 1", id)
	}
	return nil
}

// Exec runs one statement in the branch: rows. Allowed in state Active, and in state Stalled for the statement that met
// the lock wait. affected is the server's count of rows. The query is read until Exec returns and not kept.
//
// 1205 gives an error that matches [ErrLockWait]; the server undid this statement alone, and the session is Stalled.
// Any other error of the server poisons the branch, whose other rows it would still prepare (rule 3).
func (s *Session) Exec(ctx context.Context, query string) (affected int64, err error) {
	return s.exec(ctx, fault.Batch, query)
}

// LedgerExec is Exec for the branch's proof row; it differs by its fault point only.
func (s *Session) LedgerExec(ctx context.Context, query string) (affected int64, err error) {
	return s.exec(ctx, fault.LedgerRow, query)
}

var stallSeed = maphash.MakeSeed()

func (s *Session) exec(ctx context.Context, op fault.Op, query string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.current()
	if err := s.allow(VerbExec, x, Active, Stalled); err != nil {
		return 0, err
	}
	if s.state == Stalled && maphash.String(stallSeed, query) != s.stalled {
		return 0, &StateError{Verb: VerbExec, Have: Stalled, ID: x,
			Reason: "another statement met a lock wait and was undone: repeat that one first"}
	}
	result, err := s.send(ctx, call{VerbExec, op, x, query})
	if err != nil {
		s.poisonUnsent(err)
		if s.state == Stalled {
			s.stalled = maphash.String(stallSeed, query)
		}
		return 0, err
	}
	s.state = Active
	// The driver has the count already, so there is no error to lose.
	affected, _ := result.RowsAffected()
	return affected, nil
}

// Savepoint sets the branch's savepoint, or moves it here. Allowed in state Active.
func (s *Session) Savepoint(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.current()
	if err := s.allow(VerbSavepoint, x, Active); err != nil {
		return err
	}
	if _, err := s.send(ctx, call{VerbSavepoint, fault.Savepoint, x, "SAVEPOINT " + savepointName}); err != nil {
		s.poisonUnsent(err)
		return err
	}
	s.saved = true
	return nil
}

// RollbackTo undoes what the branch did since its savepoint, which stays where it is. Allowed in states Active and
// Stalled, once Savepoint was called in this branch.
func (s *Session) RollbackTo(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.current()
	if err := s.allow(VerbRollbackTo, x, Active, Stalled); err != nil {
		return err
	}
	if !s.saved {
		return &StateError{Verb: VerbRollbackTo, Have: s.state, ID: x, Reason: "the branch has no savepoint"}
	}
	if _, err := s.send(ctx, call{VerbRollbackTo, fault.RollbackTo, x, "ROLLBACK TO SAVEPOINT " + savepointName}); err != nil {
		s.poisonUnsent(err)
		return err
	}
	s.state = Active
	return nil
}

// End ends the branch's work: XA END. Allowed in state Active.
func (s *Session) End(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.current()
	if err := s.allow(VerbEnd, x, Active); err != nil {
		return err
	}
	if _, err := s.send(ctx, call{VerbEnd, fault.End, x, "XA END " + x.SQL()}); err != nil {
		return err
	}
	s.state = Ended
	return nil
}

// Prepare makes the branch durable: XA PREPARE. Allowed in state Ended. Afterwards a detached server's session is in
// state None, free for the next branch, and an attached server's in state Prepared.
//
// Refused means that nothing is prepared and nothing ever will be. An error that matches [ErrLockWait] is the server's
// 1205: it rolled the branch back, and the session is in state None (server-facts.md, 3); it is never retried.
func (s *Session) Prepare(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.current()
	if err := s.allow(VerbPrepare, x, Ended); err != nil {
		return err
	}
	_, err := s.send(ctx, call{VerbPrepare, fault.Prepare, x, "XA PREPARE " + x.SQL()})
	switch {
	case err == nil && s.server.can.Detached:
		s.state, s.open = None, false
	case err == nil:
		s.state = Prepared
	case s.state == None:
		s.open = false
	}
	return err
}

// Commit makes prepared branch x visible: XA COMMIT. Allowed in state Prepared for the branch that the session holds,
// and in state None for any other. On an attached server OK to a session other than the one that prepared is no proof;
// the ledger is (server-facts.md, 0.3).
//
// Refused: x stays prepared and the same Commit may be sent again, unless the error matches [ErrRolledBack]. InDoubt:
// among others when the server does not know x ([ErrUnknownID]), which proves nothing.
func (s *Session) Commit(ctx context.Context, x XID) error {
	return s.settle(ctx, VerbCommit, fault.Commit, x, "XA COMMIT ")
}

// Rollback undoes prepared branch x: XA ROLLBACK. It is allowed where Commit is; for a branch that is not prepared yet
// there is Abort. Refused: x stays prepared. InDoubt: among others when the server does not know x.
func (s *Session) Rollback(ctx context.Context, x XID) error {
	return s.settle(ctx, VerbRollback, fault.Rollback, x, "XA ROLLBACK ")
}

func (s *Session) settle(ctx context.Context, verb Verb, op fault.Op, x XID, statement string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.allow(verb, x, None, Prepared); err != nil {
		return err
	}
	if s.state == Prepared && x != s.branch.XID() {
		return &StateError{Verb: verb, Have: s.state, ID: x, Reason: "it holds branch " + s.branch.String()}
	}
	if err := checkXID(x); err != nil {
		return &Error{Verb: verb, ID: x, Outcome: Refused, Server: s.server.address, Err: err}
	}
	if _, err := s.send(ctx, call{verb, op, x, statement + x.SQL()}); err != nil {
		return err
	}
	s.state, s.open = None, false
	return nil
}

func checkXID(x XID) error {
	if x.Format < 0 || x.GTRID == "" || len(x.GTRID) > partSize || len(x.BQUAL) > partSize {
		return fmt.Errorf("this is not the name of a branch: want 1 to %d bytes, 0 to %d bytes and a format id from 0", partSize, partSize)
	}
	return nil
}

// Abort rolls the session's own open branch back: XA END unless that was done, then XA ROLLBACK. Allowed in states
// Active, Stalled, Ended and Poisoned; in state None there is nothing to do. What the server answers to XA END is not
// looked at, because a branch that it rolled back itself (deadlock) is refused there and still needs the XA ROLLBACK.
// After an error the session is Broken, unless nothing was sent.
func (s *Session) Abort(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == None {
		return nil
	}
	x := s.current()
	if err := s.allow(VerbRollback, x, Active, Stalled, Ended, Poisoned); err != nil {
		return err
	}
	if s.state != Ended {
		_, err := s.send(ctx, call{VerbEnd, fault.End, x, "XA END " + x.SQL()})
		var e *Error
		if errors.As(err, &e) && (e.Number == 0 || endsSession(e.Number)) {
			return err
		}
		s.state = Poisoned
	}
	if _, err := s.send(ctx, call{VerbRollback, fault.Rollback, x, "XA ROLLBACK " + x.SQL()}); err != nil {
		return err
	}
	s.state, s.open = None, false
	return nil
}

// State is where the session stands.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Branch is the branch that the session has, from Start until it is prepared on a detached server, settled or aborted.
// A Broken session still names the branch that it had.
func (s *Session) Branch() (ID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open {
		return ID{}, false
	}
	return s.branch, true
}

// ConnectionID is the session's number on the server, in its process list.
func (s *Session) ConnectionID() uint64 { return s.id }

// Mark is the owner mark that the session holds for as long as it lives.
func (s *Session) Mark() Mark { return s.mark }

// Server is where the session is.
func (s *Session) Server() *Server { return s.server }

// current is the name of the session's branch, zero if it has none.
func (s *Session) current() XID {
	if !s.open {
		return XID{}
	}
	return s.branch.XID()
}

// allow refuses verb unless the session is in one of states.
func (s *Session) allow(verb Verb, x XID, states ...State) error {
	for _, state := range states {
		if s.state == state {
			return nil
		}
	}
	return &StateError{Verb: verb, Have: s.state, ID: x}
}

// poisonUnsent: a statement of the branch that was not sent is missing in it.
func (s *Session) poisonUnsent(err error) {
	if s.state == Broken {
		return
	}
	var e *Error
	if errors.As(err, &e) && errors.Is(e.Err, errUnsent) {
		s.state = Poisoned
	}
}

// bound is the context that a statement runs under. done must be called when the answer is there.
func (s *Session) bound(ctx context.Context, verb Verb) (run context.Context, done func()) {
	var cancel context.CancelFunc
	if verb == VerbExec || verb == VerbQuery {
		limit := s.server.config.StatementTimeout
		run, cancel = context.WithTimeoutCause(ctx, limit, &noAnswerError{after: limit, limit: "StatementTimeout"})
	} else {
		run, cancel = s.server.within(context.WithoutCancel(ctx))
	}
	s.track(&cancel)
	return run, func() {
		s.track(nil)
		cancel()
	}
}

// track remembers how to end what is being executed, and forgets and ends what was before: a result set that was left
// open would make the next statement fail.
func (s *Session) track(cancel *context.CancelFunc) {
	if before := s.running.Swap(cancel); before != nil {
		(*before)()
	}
	if cancel != nil && s.interrupted.Load() {
		(*cancel)()
	}
}

// interrupt ends the statement being executed, from any goroutine; the session is Broken then.
func (s *Session) interrupt() {
	s.interrupted.Store(true)
	if cancel := s.running.Load(); cancel != nil {
		(*cancel)()
	}
}

// shut closes the connection, which ends the session on the server: an open branch is rolled back, a prepared one
// stays. It waits for the call in flight.
func (s *Session) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = Broken
	s.track(nil)
	// The connection may be dead already, which is as good.
	_ = s.conn.Close()
}

// alive asks the server for a sign of life.
func (s *Session) alive(ctx context.Context) bool {
	ctx, cancel := s.server.within(ctx)
	defer cancel()
	return s.conn.PingContext(ctx) == nil
}
