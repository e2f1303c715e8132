package xasim

import (
	"errors"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

// ping is the command that is no SQL: it is answered in any state.
const ping = "\x00ping"

// execute executes one statement. The server's mutex is held, but not while it waits.
func (s *session) execute(c *command) (*result, error) {
	if c.text == ping {
		return &result{}, nil
	}
	statement, err := syntax.Parse(c.text)
	if err != nil {
		return nil, s.server.kind.parseError(err, c.text)
	}
	if err := s.allowed(statement); err != nil {
		return nil, err
	}
	r, err := s.dispatch(statement, c)
	if r == nil {
		r = &result{}
	}
	return r, err
}

// parseError is the server's answer to what cannot be read.
func (k Kind) parseError(err error, statement string) error {
	var e *syntax.Error
	switch {
	case !errors.As(err, &e):
		return err
	case e.Unsupported:
		return unsupported(e.What, statement)
	}
	return k.errSyntax(e.Near)
}

func (s *session) dispatch(statement syntax.Statement, c *command) (*result, error) {
	switch x := statement.(type) {
	case *syntax.Select:
		return s.rows(c, false, func(t *transaction) (*result, error) { return s.query(t, x, c) }, x.Lock != syntax.NoLock)
	case *syntax.Insert:
		return s.rows(c, true, func(t *transaction) (*result, error) { return s.insert(t, x, c) }, true)
	case *syntax.Update:
		return s.rows(c, true, func(t *transaction) (*result, error) { return s.update(t, x, c) }, true)
	case *syntax.Delete:
		return s.rows(c, true, func(t *transaction) (*result, error) { return s.delete(t, x, c) }, true)
	case *syntax.Explain:
		return s.explain(x, c)
	case *syntax.Do:
		sc := &scope{session: s, clause: "field list", text: c.text}
		for _, e := range x.X {
			if _, err := sc.constant(e, c.args); err != nil {
				return nil, err
			}
		}
		return nil, nil
	case *syntax.XA:
		return nil, s.branchVerb(x)
	case *syntax.Recover:
		return s.recoverBranches(x)
	case *syntax.Show:
		return s.show(x)
	case *syntax.Kill:
		return nil, s.kill(x, c)
	}
	if r, known, err := s.settings(statement, c); known {
		return r, err
	}
	return s.define(statement, c)
}

// settings executes what is about the session and its local transaction.
func (s *session) settings(statement syntax.Statement, c *command) (*result, bool, error) {
	switch x := statement.(type) {
	case *syntax.Begin:
		s.unlockTables()
		if err := s.implicitCommit(); err != nil {
			return nil, true, err
		}
		s.begin()
		return nil, true, nil
	case *syntax.Commit:
		return nil, true, s.implicitCommit()
	case *syntax.Rollback:
		return nil, true, s.rollbackLocal(x.To)
	case *syntax.Savepoint:
		s.savepoint(x.Name)
		return nil, true, nil
	case *syntax.Release:
		return nil, true, s.release(x.Name)
	case *syntax.Set:
		return nil, true, s.set(x, c)
	case *syntax.SetNames:
		return nil, true, s.check("character_set_client", x.Charset)
	case *syntax.SetTransaction:
		return nil, true, s.setTransaction(x)
	case *syntax.Use:
		if s.server.databases[x.Database] == nil {
			return nil, true, errNoDatabase(x.Database)
		}
		s.database = x.Database
		return nil, true, nil
	case *syntax.UnlockTables:
		s.unlockTables()
		if s.server.readLock == s {
			s.server.readLock = nil
			s.server.wakeAll(&s.server.writers)
		}
		return nil, true, nil
	}
	return nil, false, nil
}

// define executes what changes tables, after an implicit COMMIT.
func (s *session) define(statement syntax.Statement, c *command) (*result, error) {
	if x, ok := statement.(*syntax.Other); ok {
		return nil, unsupported(x.What, c.text)
	}
	if err := s.implicitCommit(); err != nil {
		return nil, err
	}
	if err := s.awaitWritable(); err != nil {
		return nil, err
	}
	switch x := statement.(type) {
	case *syntax.CreateDatabase:
		return &result{affected: 1}, s.createDatabase(x)
	case *syntax.DropDatabase:
		n, err := s.dropDatabase(x)
		return &result{affected: n}, err
	case *syntax.CreateTable:
		return nil, s.createTable(x)
	case *syntax.DropTable:
		return nil, s.dropTable(x)
	case *syntax.TruncateTable:
		return nil, s.truncate(x)
	case *syntax.AlterTable:
		return nil, s.alterTable(x)
	case *syntax.LockTables:
		return nil, s.lockTables(x)
	case *syntax.Flush:
		return nil, s.flush(x, c)
	}
	return nil, unsupported("this statement", c.text)
}

// rows executes a statement that reads or writes rows: in the transaction that is open, else in one of its own. When
// it fails its changes are undone, and with a deadlock the whole transaction.
func (s *session) rows(c *command, writes bool, do func(*transaction) (*result, error), locks bool) (*result, error) {
	srv := s.server
	if writes {
		if err := s.mayWrite(c); err != nil {
			return nil, err
		}
	}
	t := s.transaction
	alone := t == nil
	if alone {
		t = srv.newTransaction(s)
		if !s.variables.on("autocommit") && (writes || locks || reads(c)) {
			s.transaction, alone = t, false
		}
	}
	mark := len(t.changes)
	r, err := do(t)
	switch {
	case err == errGone: //nolint:errorlint // never wrapped
		if s.over == 0 { // killed, and not the server crashed
			srv.undoTo(t, mark)
			if alone {
				srv.finish(t)
			}
		}
	case errorNumber(err) == 1213:
		s.victim(t)
	case err != nil:
		srv.undoTo(t, mark)
		if alone {
			srv.rollback(t)
		}
	case alone && len(t.changes) > 0:
		if err = s.awaitWritable(); err != nil {
			srv.rollback(t)
			break
		}
		srv.logBranch(Committed, t, s)
		srv.commit(t)
	case alone:
		srv.finish(t)
	}
	return r, err
}

// reads tells whether a statement is a query with tables, which begins a transaction where autocommit is off.
func reads(c *command) bool {
	x, err := syntax.Parse(c.text)
	q, ok := x.(*syntax.Select)
	return err == nil && ok && len(q.From) > 0
}

// victim rolls back a transaction that a deadlock chose. A branch is still there afterwards, without changes.
func (s *session) victim(t *transaction) {
	srv := s.server
	if t.state == plain {
		srv.logBranch(RolledBack, t, s)
		srv.rollback(t)
		return
	}
	srv.undoTo(t, 0)
	srv.releaseLocks(t, nil)
	srv.releaseTables(t)
	t.deadlock = true
	if srv.kind.mariadb {
		t.state = rollbackOnly
	}
}

// mayWrite checks what stands against every write.
func (s *session) mayWrite(c *command) error {
	if s.server.globals.on("read_only") && s.lacks(KillOthers) {
		if s.server.kind.mariadb {
			return failure(1290, "HY000", "The MariaDB server is running with the --read-only option so it cannot execute this statement")
		}
		return failure(1290, "HY000", "The MySQL server is running with the --read-only option so it cannot execute this statement")
	}
	return s.awaitWritable()
}

// awaitWritable waits while another session holds FLUSH TABLES WITH READ LOCK, up to lock_wait_timeout: 1205.
func (s *session) awaitWritable() error {
	srv := s.server
	if srv.readLock == s {
		return failure(1223, "HY000", "Can't execute the query because you have a conflicting read lock")
	}
	for srv.readLock != nil {
		w := newWaiter()
		srv.writers = append(srv.writers, w)
		if err := s.wait(w, s.variables.seconds("lock_wait_timeout"), errLockWait()); err != nil {
			return err
		}
	}
	return nil
}

// explain checks a statement as executing it would, and says nothing of a plan.
func (s *session) explain(x *syntax.Explain, c *command) (*result, error) {
	var err error
	switch of := x.Of.(type) {
	case *syntax.Insert:
		_, err = s.prepareInsert(of, c)
	case *syntax.Update:
		_, _, err = s.prepareUpdate(of, c)
	case *syntax.Delete:
		_, err = s.prepareDelete(of, c)
	default:
		return nil, unsupported("EXPLAIN of a query", c.text)
	}
	if err != nil {
		return nil, err
	}
	return &result{columns: []string{"EXPLAIN"}, rows: [][]datum.Value{{datum.String("-> no plan\n")}}}, nil
}
