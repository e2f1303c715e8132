package xasim

import (
	"slices"
	"strings"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

// begin opens a local transaction.
func (s *session) begin() { s.transaction = s.server.newTransaction(s) }

// implicitCommit commits the local transaction, if there is one.
func (s *session) implicitCommit() error {
	t := s.transaction
	if t == nil {
		return nil
	}
	if len(t.changes) > 0 {
		if err := s.awaitWritable(); err != nil {
			if s.over == 0 {
				// What cannot be committed in time is rolled back.
				s.server.logBranch(RolledBack, t, s)
				s.server.rollback(t)
			}
			return err
		}
	}
	s.server.logBranch(Committed, t, s)
	s.server.commit(t)
	return nil
}

// rollbackLocal is ROLLBACK, or ROLLBACK TO SAVEPOINT in a branch as well.
func (s *session) rollbackLocal(to string) error {
	t := s.transaction
	if to == "" {
		if t != nil {
			s.server.logBranch(RolledBack, t, s)
			s.server.rollback(t)
		}
		return nil
	}
	if t == nil {
		return errNoSavepoint(to)
	}
	i := t.mark(to)
	if i < 0 {
		return errNoSavepoint(to)
	}
	t.marks = t.marks[:i+1]
	s.server.undoTo(t, t.marks[i].changes)
	return nil
}

func errNoSavepoint(name string) error {
	return failure(1305, "42000", "SAVEPOINT %s does not exist", name)
}

func (t *transaction) mark(name string) int {
	return slices.IndexFunc(t.marks, func(m savepoint) bool { return strings.EqualFold(m.name, name) })
}

// savepoint sets or moves a savepoint. Outside of a transaction it is forgotten at once.
func (s *session) savepoint(name string) {
	t := s.transaction
	if t == nil {
		return
	}
	if i := t.mark(name); i >= 0 {
		t.marks = slices.Delete(t.marks, i, i+1)
	}
	t.marks = append(t.marks, savepoint{name, len(t.changes)})
}

func (s *session) release(name string) error {
	t := s.transaction
	if t == nil || t.mark(name) < 0 {
		return errNoSavepoint(name)
	}
	t.marks = t.marks[:t.mark(name)]
	return nil
}

func (s *session) set(x *syntax.Set, c *command) error {
	for _, v := range x.Variables {
		if err := s.setOne(v, c); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) setOne(v syntax.SetVariable, c *command) error {
	if _, unset := v.X.(syntax.Default); unset {
		return s.assign(v.Scope, v.Name, datum.Value{}, true)
	}
	sc := &scope{session: s, clause: "field list", text: c.text}
	value, err := sc.constant(v.X, c.args)
	if err != nil {
		return err
	}
	if v.Name != "autocommit" || v.Scope == "GLOBAL" {
		return s.assign(v.Scope, v.Name, value, false)
	}
	before := s.variables.on("autocommit")
	on, err := normal(kindBool, v.Name, value)
	if err != nil {
		return err
	}
	if !before && on == "1" {
		if s.inBranch() {
			return errState(s.word())
		}
		if err := s.implicitCommit(); err != nil {
			return err
		}
	}
	return s.assign(v.Scope, v.Name, value, false)
}

// setTransaction checks the level; every transaction reads at READ COMMITTED.
func (s *session) setTransaction(x *syntax.SetTransaction) error {
	if x.Scope == "" && s.transaction != nil {
		return failure(1568, "25001", "Transaction characteristics can't be changed while a transaction is in progress")
	}
	if x.Access == "READ ONLY" {
		return unsupported("READ ONLY", "SET TRANSACTION READ ONLY")
	}
	if x.Level == "" {
		return nil
	}
	if err := checkLevel(x.Level); err != nil {
		return err
	}
	if x.Scope == "" {
		return nil
	}
	level := datum.String(strings.ReplaceAll(x.Level, " ", "-"))
	for _, name := range []string{"transaction_isolation", "tx_isolation"} {
		if _, known := s.server.globals[name]; known {
			if err := s.assign(x.Scope, name, level, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// lockTables is LOCK TABLES; only WRITE is known.
func (s *session) lockTables(x *syntax.LockTables) error {
	s.unlockTables()
	for i, n := range x.Tables {
		if !x.Write[i] {
			return unsupported("LOCK TABLES … READ", "LOCK TABLES "+n.Name)
		}
		t, err := s.find(n)
		if err != nil {
			return err
		}
		if err := s.own(t); err != nil {
			return err
		}
		s.tables = append(s.tables, lockedTable{t})
	}
	return nil
}

// flush is FLUSH TABLES WITH READ LOCK, which keeps every commit and write waiting until UNLOCK TABLES.
func (s *session) flush(x *syntax.Flush, c *command) error {
	if x.What != "TABLES WITH READ LOCK" && x.What != "TABLE WITH READ LOCK" {
		return unsupported("FLUSH "+x.What, c.text)
	}
	if s.lacks(Reload) {
		return errNeeds("RELOAD")
	}
	s.server.readLock = s
	return nil
}

// kill is KILL QUERY and KILL CONNECTION.
func (s *session) kill(x *syntax.Kill, c *command) error {
	sc := &scope{session: s, clause: "field list", text: c.text}
	v, err := sc.constant(x.ID, c.args)
	if err != nil {
		return err
	}
	id := uint64(v.AsInt())
	other := s.server.sessions[id]
	switch {
	case other == nil:
		return failure(1094, "HY000", "Unknown thread id: %d", id)
	case other.account.User != s.account.User && s.lacks(KillOthers):
		return failure(1095, "HY000", "You are not owner of thread %d", id)
	case x.Query:
		if other.waiting != nil {
			other.waiting.wake(errInterrupted())
		}
		return nil
	}
	other.end(killed)
	if other == s {
		return errInterrupted()
	}
	return nil
}
