package xasim

import (
	"slices"
	"time"
)

// branchState is where a branch stands.
type branchState uint8

const (
	plain        branchState = iota // no branch: BEGIN, autocommit=0, or one statement
	active                          // between XA START and XA END
	idle                            // after XA END
	prepared                        // after XA PREPARE
	rollbackOnly                    // rolled back by a deadlock, and told so
)

// transaction is what InnoDB calls one: changes, locks, and for a branch its name and state.
type transaction struct {
	id      uint64
	started time.Time
	session *session // nil: no session has it (a prepared branch that is detached)
	changes []change
	locks   []lockKey
	waiting []waiting // at most one
	tables  []*table  // metadata locks, shared
	marks   []savepoint

	state    branchState
	xid      XID
	deadlock bool      // rolled back as a victim
	done     bool      // committed, and still listed
	limbo    bool      // in no list, its locks held (server-facts 0.3)
	busy     *session  // is executing a COMMIT or ROLLBACK of the prepared branch
	behind   []*waiter // wait for that to end
}

// savepoint is a place to go back to.
type savepoint struct {
	name    string
	changes int
}

func (srv *Server) newTransaction(s *session) *transaction {
	srv.lastTransaction++
	t := &transaction{id: srv.lastTransaction, started: time.Now(), session: s}
	srv.transactions = append(srv.transactions, t)
	return t
}

// weight is what InnoDB compares when it chooses the victim of a deadlock.
func (t *transaction) weight() int { return len(t.changes) + len(t.locks) }

// rows is the number of rows that t changes.
func (t *transaction) rows() int {
	keys := map[lockKey]bool{}
	for _, c := range t.changes {
		if k := c.lock(); isRow(k) {
			keys[k] = true
		}
	}
	return len(keys)
}

// changed are the tables in which t changes rows.
func (t *transaction) changed() []string {
	var names []string
	for _, tbl := range t.tables {
		if slices.ContainsFunc(t.changes, func(c change) bool { return c.lock().tree == tbl.rows }) {
			names = append(names, tbl.database+"."+tbl.name)
		}
	}
	return names
}

// real is the number of changes that a restart would find in the undo log.
func (t *transaction) real() int {
	n := 0
	for _, c := range t.changes {
		if c.lock().tree != nil {
			n++
		}
	}
	return n
}

func isRow(k lockKey) bool { _, ok := k.tree.(*tree[row]); return ok }

// met is the change of a statement that found rows and changed none: a server counts it as work of the branch
// (server-facts 4).
type met struct{ update bool }

func (met) undo()                                          {}
func (met) commit(*transaction) (func(*transaction), bool) { return nil, false }
func (met) again() func(*transaction)                      { return func(*transaction) {} }
func (met) lock() lockKey                                  { return lockKey{} }
func (met) vanished() bool                                 { return false }

// undoTo takes back the changes behind the first n. Locks stay, but for those of keys that nothing is left of: InnoDB
// removes an inserted row when it is undone, and its lock with it.
func (srv *Server) undoTo(t *transaction, n int) {
	var gone []lockKey
	for i := len(t.changes) - 1; i >= n; i-- {
		c := t.changes[i]
		c.undo()
		if c.vanished() {
			gone = append(gone, c.lock())
		}
	}
	t.changes = t.changes[:n]
	t.marks = slices.DeleteFunc(t.marks, func(m savepoint) bool { return m.changes > n })
	if len(gone) > 0 {
		srv.releaseLocks(t, func(k lockKey, _ lockMode) bool { return !slices.Contains(gone, k) })
	}
}

// rollback takes back all of t and ends it.
func (srv *Server) rollback(t *transaction) {
	srv.undoTo(t, 0)
	srv.finish(t)
}

// commit makes all of t visible and ends it.
func (srv *Server) commit(t *transaction) {
	srv.expose(t)
	srv.finish(t)
}

// expose makes all of t visible, and frees its rows.
func (srv *Server) expose(t *transaction) {
	var back []func(*transaction)
	for _, c := range t.changes {
		if b, done := c.commit(t); done {
			back = append(back, b)
		}
	}
	srv.remember(t, back)
	t.changes, t.done = nil, true
	srv.releaseLocks(t, nil)
}

// finish frees what t holds and forgets it.
func (srv *Server) finish(t *transaction) {
	srv.releaseLocks(t, nil)
	srv.releaseTables(t)
	srv.transactions = slices.DeleteFunc(srv.transactions, func(o *transaction) bool { return o == t })
	if name := identityOf(t.xid); srv.branches[name] == t {
		delete(srv.branches, name)
	}
	if t.session != nil && t.session.transaction == t {
		t.session.transaction = nil
	}
	t.session = nil
	srv.wakeAll(&t.behind)
}
