package xasim

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

// identity is what tells two branches apart: the bytes of both parts. The format id is none of it, at START on MySQL
// and everywhere on MariaDB (server-facts 2).
type identity struct{ gtrid, bqual string }

func identityOf(x XID) identity { return identity{x.GTRID, x.BQUAL} }

const (
	longestPart      = 64
	mariadbMaxFormat = 1<<31 - 1
	// MySQL was seen to take numbers far above 32 bits.
	mysqlMaxFormat = 1<<63 - 1
)

// xidOf is the name in a statement, or why the server does not take it.
func (k Kind) xidOf(x syntax.XID) (XID, error) {
	most := uint64(mysqlMaxFormat)
	if k.mariadb {
		most = mariadbMaxFormat
	}
	switch {
	case x.Format > most:
		return XID{}, k.errSyntax("")
	case x.GTRID == "" && k.mariadb:
		return XID{}, errInval()
	}
	return XID{Format: int64(x.Format), GTRID: x.GTRID, BQUAL: x.BQUAL}, nil
}

// branchVerb executes an XA statement other than XA RECOVER.
func (s *session) branchVerb(x *syntax.XA) error {
	name, err := s.server.kind.xidOf(x.XID)
	if err != nil {
		return err
	}
	switch x.Verb {
	case "START":
		return s.startBranch(x, name)
	case "END":
		return s.endBranch(x, name)
	case "PREPARE":
		return s.prepareBranch(name)
	case "COMMIT":
		return s.commitBranch(name, x.OnePhase)
	default:
		return s.rollbackBranch(name)
	}
}

func (s *session) startBranch(x *syntax.XA, name XID) error {
	srv := s.server
	t := s.transaction
	switch {
	case x.Join:
		return errInval()
	case x.Resume:
		if t == nil || t.state != idle {
			return errInval()
		}
		if identityOf(t.xid) != identityOf(name) {
			return errNota()
		}
		t.state = active
		return nil
	case s.inBranch():
		return errState(s.word())
	case t != nil || len(s.tables) > 0:
		return errOutside()
	case srv.branches[identityOf(name)] != nil:
		return errDuplicateXID()
	}
	t = srv.newTransaction(s)
	t.state, t.xid = active, name
	s.transaction = t
	srv.branches[identityOf(name)] = t
	srv.logBranch(Started, t, s)
	return nil
}

func (s *session) endBranch(x *syntax.XA, name XID) error {
	t := s.transaction
	switch {
	case x.Suspend:
		return errInval()
	case t == nil || t.state == plain:
		return errState(wordNone)
	case s.names(t, name) && s.doomed():
		return errBranchDeadlock()
	case t.state != active:
		return errState(s.word())
	case !s.names(t, name):
		return errNota()
	}
	t.state = idle
	return nil
}

// doomed tells whether MySQL has 1614 for a verb or statement, because a deadlock rolled the branch back. From the
// first time on the branch is in state ROLLBACK ONLY.
func (s *session) doomed() bool {
	t := s.transaction
	if s.server.kind.mariadb || !t.deadlock {
		return false
	}
	t.state = rollbackOnly
	return true
}

// names tells whether name is t's, as the verbs of the own session compare it.
func (s *session) names(t *transaction, name XID) bool {
	return identityOf(t.xid) == identityOf(name) && (s.server.kind.mariadb || t.xid.Format == name.Format)
}

func (s *session) prepareBranch(name XID) error {
	srv := s.server
	t := s.transaction
	switch {
	case t == nil || t.state != idle:
		return errState(s.word())
	case !s.names(t, name):
		return errNota()
	}
	if err := s.awaitWritable(); err != nil {
		if err == errGone { //nolint:errorlint // never wrapped
			return err
		}
		// What cannot be prepared in time is rolled back (server-facts 3).
		srv.logBranch(RolledBack, t, s)
		srv.rollback(t)
		return err
	}
	t.state = prepared
	srv.releaseAtPrepare(t)
	srv.logBranch(Prepared, t, s)
	srv.noteJournal(Prepared, t)
	if s.detaches() {
		srv.detach(t)
	}
	return nil
}

// detaches tells whether PREPARE frees the session.
func (s *session) detaches() bool {
	return !s.server.kind.mariadb && s.variables.on("xa_detach_on_prepare")
}

// detach takes a prepared branch from its session.
func (srv *Server) detach(t *transaction) {
	s := t.session
	if s != nil && s.transaction == t {
		s.transaction = nil
	}
	release := func() {
		t.session = nil
		srv.log(Event{Kind: Detached, XID: t.xid})
		if t.real() == 0 {
			// InnoDB forgets a transaction that changed nothing as soon as no session has it.
			srv.releaseLocks(t, nil)
		}
		if srv.kind.mariadb {
			// The metadata locks go with the session (server-facts 5).
			srv.releaseTables(t)
		}
	}
	if s != nil && s.over != 0 && srv.detachDelay > 0 {
		time.AfterFunc(srv.detachDelay, func() {
			srv.mu.Lock()
			defer srv.mu.Unlock()
			if t.session == s {
				release()
			}
		})
		return
	}
	release()
}

// findPrepared is the prepared branch that a COMMIT or ROLLBACK from outside means: one that no session holds.
func (s *session) findPrepared(name XID) (*transaction, error) {
	srv := s.server
	for {
		t := srv.branches[identityOf(name)]
		switch {
		case t == nil || t.state != prepared || t.limbo:
			return nil, errNota()
		case !srv.kind.mariadb && t.xid.Format != name.Format:
			return nil, errNota()
		case t.session != nil && t.session != s:
			return nil, errNota()
		case t.busy == nil:
			return t, nil
		case srv.kind.mariadb:
			return nil, errNota()
		}
		// MySQL waits for the other one to end, whatever the time limits are (server-facts 3).
		w := newWaiter()
		t.behind = append(t.behind, w)
		if err := s.wait(w, forever, nil); err != nil {
			return nil, err
		}
	}
}

// outside checks that the session may commit or roll back a branch that is not its own.
func (s *session) outside() error {
	t := s.transaction
	switch {
	case t == nil:
		return nil
	case s.server.kind.mariadb:
		return errOutside()
	default:
		return errState(s.word())
	}
}

func (s *session) commitBranch(name XID, onePhase bool) error {
	srv := s.server
	t := s.transaction
	if t != nil && t.state != plain && s.names(t, name) {
		switch {
		case t.state == prepared && !onePhase:
			return s.settle(t, Committed)
		case t.state == idle && onePhase:
			return s.settle(t, Committed)
		case t.state == rollbackOnly, t.deadlock:
			srv.logBranch(RolledBack, t, s)
			srv.rollback(t)
			return errBranchDeadlock()
		case t.state == prepared && srv.kind.mariadb:
			return errInval()
		}
		return errState(s.word())
	}
	if err := s.outside(); err != nil {
		return err
	}
	if onePhase && srv.kind.mariadb {
		return errInval()
	}
	t, err := s.findPrepared(name)
	if err != nil {
		return err
	}
	return s.settle(t, Committed)
}

func (s *session) rollbackBranch(name XID) error {
	t := s.transaction
	if t != nil && t.state != plain && s.names(t, name) {
		switch t.state {
		case idle, prepared, rollbackOnly:
			return s.settle(t, RolledBack)
		default:
			return errState(s.word())
		}
	}
	if err := s.outside(); err != nil {
		return err
	}
	t, err := s.findPrepared(name)
	if err != nil {
		return err
	}
	return s.settle(t, RolledBack)
}

// settle commits or rolls back a branch. While it waits for a lock on the whole server the branch stays what it was.
func (s *session) settle(t *transaction, how EventKind) error {
	srv := s.server
	t.busy = s
	free := func() {
		if t.busy == s {
			t.busy = nil
			srv.wakeAll(&t.behind)
		}
	}
	if err := s.awaitWritable(); err != nil {
		free()
		if t.state != prepared && how == Committed && s.over == 0 {
			// In one phase there is nothing to come back to.
			srv.logBranch(RolledBack, t, s)
			srv.rollback(t)
		}
		return err
	}
	if t.session == nil && len(t.changes) == 0 && srv.kind.mariadb {
		srv.logBranch(RolledBack, t, s)
		srv.rollback(t)
		return errRolledBack()
	}
	if srv.kind.mariadb && srv.globals.on("read_only") && s.lacks(KillOthers) {
		free()
		return failure(1290, "HY000", "The MariaDB server is running with the --read-only option so it cannot execute this statement")
	}
	srv.logBranch(how, t, s)
	srv.noteJournal(how, t)
	if how == RolledBack {
		srv.rollback(t)
		return nil
	}
	if s.linger > 0 && t.state == prepared {
		srv.expose(t)
		if err := s.pass(s.linger); err != nil {
			if s.over == 0 {
				srv.finish(t)
			}
			return err
		}
		srv.finish(t)
		return nil
	}
	t.busy = nil
	srv.commit(t)
	return nil
}

// releaseAtPrepare frees the locks that PREPARE does not keep: shared ones on MariaDB (docs/facts.md).
func (srv *Server) releaseAtPrepare(t *transaction) {
	if srv.kind.mariadb {
		srv.releaseLocks(t, func(_ lockKey, m lockMode) bool { return m == exclusive })
	}
}

// limbo is an XA COMMIT or XA ROLLBACK that does nothing and is answered OK.
func (s *session) limbo(c *command) (*result, error) {
	srv := s.server
	statement, err := syntax.Parse(c.text)
	x, ok := statement.(*syntax.XA)
	if err != nil || !ok || x.Verb != "COMMIT" && x.Verb != "ROLLBACK" {
		return s.execute(c)
	}
	name, err := srv.kind.xidOf(x.XID)
	if err != nil {
		return nil, err
	}
	t := srv.branches[identityOf(name)]
	if t == nil || t.state != prepared || t.limbo || t.session != nil && t.session != s {
		return s.execute(c)
	}
	t.limbo = true
	if t.session == s {
		s.transaction = nil
	}
	t.session = nil
	srv.log(Event{Kind: Limbo, XID: name, Session: s.id, Rows: t.rows()})
	return &result{}, nil
}

// recoverBranches is XA RECOVER.
func (s *session) recoverBranches(r *syntax.Recover) (*result, error) {
	srv := s.server
	if srv.kind.mariadb && r.Convert {
		return nil, srv.kind.errSyntax("CONVERT XID")
	}
	if !srv.kind.mariadb && r.Format != "" {
		return nil, srv.kind.errSyntax("FORMAT='" + r.Format + "'")
	}
	if s.lacks(RecoverBranches) && !srv.kind.mariadb {
		return nil, errRMErr()
	}
	out := &result{columns: []string{"formatID", "gtrid_length", "bqual_length", "data"}}
	for _, t := range srv.transactions {
		if t.state != prepared || t.limbo {
			continue
		}
		data := t.xid.GTRID + t.xid.BQUAL
		switch {
		case r.Convert:
			data = "0x" + strings.ToUpper(hex.EncodeToString([]byte(data)))
		case r.Format == "SQL":
			data = fmt.Sprintf("X'%x',X'%x',%d", t.xid.GTRID, t.xid.BQUAL, t.xid.Format)
		}
		out.rows = append(out.rows, []datum.Value{
			datum.Int64(t.xid.Format), datum.Int64(int64(len(t.xid.GTRID))), datum.Int64(int64(len(t.xid.BQUAL))), datum.Binary(data),
		})
	}
	return out, nil
}
