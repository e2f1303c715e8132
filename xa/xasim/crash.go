package xasim

import (
	"slices"
	"time"
)

// Crash is what a start after a crash does besides what it has to. The zero value loses nothing.
type Crash struct {
	// Lose tells which prepared branches are rolled back by the start, as MySQL does where its binary log holds XIDs with
	// other format ids (server-facts 0.4). nil: none.
	Lose func(XID) bool
	// TakeBack is how many of the newest acknowledged PREPAREs, COMMITs and ROLLBACKs, and local transactions, are undone,
	// the newest first, as after a power loss without durable settings: what was committed or rolled back is prepared
	// again, what was prepared is gone, a local transaction is undone. A definition of a table is never undone, nor is
	// what was before it.
	TakeBack int
}

// entry is one line of the redo log.
type entry struct {
	kind  EventKind
	xid   XID
	local bool // it never was prepared
	back  []func(*transaction)
}

// longestJournal is how many entries are kept to be taken back.
const longestJournal = 256

// noteJournal adds a PREPARE, or the ROLLBACK of a prepared branch. Commits are added by remember.
func (srv *Server) noteJournal(kind EventKind, t *transaction) {
	e := entry{kind: kind, xid: t.xid}
	if kind == Committed || t.state != prepared {
		return
	}
	if kind == RolledBack {
		for _, c := range t.changes {
			e.back = append(e.back, c.again())
		}
	}
	srv.addJournal(e)
}

// remember adds a COMMIT.
func (srv *Server) remember(t *transaction, back []func(*transaction)) {
	if len(back) == 0 && t.state == plain {
		return
	}
	srv.addJournal(entry{kind: Committed, xid: t.xid, local: t.state != prepared, back: back})
}

func (srv *Server) addJournal(e entry) {
	if len(srv.journal) == longestJournal {
		srv.journal = slices.Delete(srv.journal, 0, 1)
	}
	srv.journal = append(srv.journal, e)
}

// redefined is for a change of a table's definition: nothing from before it can be taken back, and views are read anew.
func (srv *Server) redefined() { srv.journal, srv.views = nil, nil }

// Kill ends the server at once, as by SIGKILL: every session is gone, open branches are rolled back, what is prepared
// or committed stays.
func (srv *Server) Kill() {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.kill()
}

// Boot starts a server that was killed.
func (srv *Server) Boot(c Crash) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.boot(c)
}

// Restart is Kill and Boot.
func (srv *Server) Restart(c Crash) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.kill()
	srv.boot(c)
}

// crashFor is the crash of a fault.
func (srv *Server) crashFor(f *Fault) {
	srv.kill()
	switch {
	case f.Delay == 0:
		srv.boot(f.Crash)
	case f.Delay > 0:
		time.AfterFunc(f.Delay, func() { srv.Boot(f.Crash) })
	}
}

func (srv *Server) kill() {
	if !srv.up {
		return
	}
	srv.up = false
	srv.log(Event{Kind: Stopped})
	for _, s := range srv.sessions {
		s.over = crashed
		if s.waiting != nil {
			s.waiting.wake(errGone)
		}
		close(s.gone)
	}
	clear(srv.sessions)
	srv.locks = map[lockKey]queue{}
	srv.tableWaits = nil
	srv.named = map[string]*namedLock{}
	srv.readLock, srv.writers = nil, nil
	for _, t := range slices.Backward(srv.transactions) {
		t.locks, t.tables, t.waiting, t.behind, t.marks, t.busy = nil, nil, nil, nil, nil, nil
		t.session = nil
		if t.done {
			srv.finish(t)
			continue
		}
		if t.state == prepared && t.kept(srv.kind) {
			continue
		}
		srv.logBranch(RolledBack, t, nil)
		srv.rollback(t)
	}
	for _, d := range srv.databases {
		for _, t := range d.tables {
			t.writer = nil
		}
	}
}

// kept tells whether a start finds the prepared branch again: one that changed nothing it does not (server-facts 4).
func (t *transaction) kept(k Kind) bool {
	if t.real() > 0 {
		return true
	}
	if k.mariadb || k.binlog {
		return false
	}
	return slices.ContainsFunc(t.changes, func(c change) bool { m, ok := c.(met); return ok && m.update })
}

func (srv *Server) boot(c Crash) {
	if srv.up {
		return
	}
	srv.takeBack(c.TakeBack)
	for _, t := range slices.Clone(srv.transactions) {
		t.limbo = false
		if c.Lose != nil && c.Lose(t.xid) {
			srv.log(Event{Kind: Lost, XID: t.xid, Rows: t.rows()})
			srv.rollback(t)
		}
	}
	for _, t := range srv.transactions {
		srv.lockChanges(t)
	}
	srv.journal = nil
	srv.up = true
	srv.started = time.Now().Truncate(time.Second)
	srv.lastSession = firstSession
	srv.log(Event{Kind: Booted})
}

// lockChanges gives a recovered branch the locks of what it changed, and no other (server-facts 5).
func (srv *Server) lockChanges(t *transaction) {
	for _, c := range t.changes {
		key := c.lock()
		if key.tree == nil || srv.locks[key].held(t) != 0 {
			continue
		}
		srv.locks[key] = append(srv.locks[key], &request{t: t, mode: exclusive})
		t.locks = append(t.locks, key)
	}
	if srv.kind.mariadb {
		return
	}
	for _, d := range srv.databases {
		for _, tbl := range d.tables {
			if slices.ContainsFunc(t.changes, func(c change) bool { return c.lock().tree == tbl.rows }) {
				t.tables = append(t.tables, tbl)
			}
		}
	}
}

// takeBack undoes the newest n entries of the redo log.
func (srv *Server) takeBack(n int) {
	for ; n > 0 && len(srv.journal) > 0; n-- {
		e := srv.journal[len(srv.journal)-1]
		srv.journal = srv.journal[:len(srv.journal)-1]
		srv.log(Event{Kind: TakenBack, XID: e.xid, Undid: e.kind})
		switch {
		case e.kind == Prepared:
			if t := srv.branches[identityOf(e.xid)]; t != nil {
				srv.rollback(t)
			}
		case e.local:
			for _, back := range slices.Backward(e.back) {
				back(nil)
			}
		default:
			t := srv.newTransaction(nil)
			t.state, t.xid = prepared, e.xid
			srv.branches[identityOf(e.xid)] = t
			for _, back := range e.back {
				back(t)
			}
		}
	}
}
