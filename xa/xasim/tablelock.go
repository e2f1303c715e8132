package xasim

import "slices"

// tableWait is a session that waits for the metadata lock of a table.
type tableWait struct {
	table     *table
	session   *session
	t         *transaction // of a shared lock
	exclusive bool
	wait      *waiter
}

// lockedTable is a table that LOCK TABLES … WRITE keeps.
type lockedTable struct{ table *table }

// use gives transaction t the shared metadata lock of tbl, which it keeps to its end. It waits for definitions of the
// table that are executed or were asked for before, up to lock_wait_timeout: 1205.
func (s *session) use(t *transaction, tbl *table) error {
	srv := s.server
	if slices.Contains(t.tables, tbl) {
		return nil
	}
	w := &tableWait{table: tbl, session: s, t: t, wait: newWaiter()}
	srv.tableWaits = append(srv.tableWaits, w)
	srv.grantTables()
	return s.awaitTable(w)
}

func (s *session) awaitTable(w *tableWait) error {
	srv := s.server
	if w.wait.over {
		return w.wait.err
	}
	err := s.wait(w.wait, s.variables.seconds("lock_wait_timeout"), errLockWait())
	if err != nil {
		srv.tableWaits = slices.DeleteFunc(srv.tableWaits, func(o *tableWait) bool { return o == w })
		srv.grantTables()
	}
	return err
}

// grantTables gives the locks that can be given, in the order in which they were asked for.
func (srv *Server) grantTables() {
	kept := srv.tableWaits[:0]
	for i, w := range srv.tableWaits {
		if w.wait.over {
			continue
		}
		behind := slices.ContainsFunc(srv.tableWaits[:i], func(o *tableWait) bool {
			return o.table == w.table && !o.wait.over && (o.exclusive || w.exclusive)
		})
		if behind || !srv.tableFree(w) {
			kept = append(kept, w)
			continue
		}
		if w.exclusive {
			w.table.writer = w.session
		} else {
			w.t.tables = append(w.t.tables, w.table)
		}
		w.wait.wake(nil)
	}
	srv.tableWaits = kept
}

// tableFree tells whether nobody holds what stands against w.
func (srv *Server) tableFree(w *tableWait) bool {
	if o := w.table.writer; o != nil && o != w.session {
		return false
	}
	if !w.exclusive {
		return true
	}
	return !slices.ContainsFunc(srv.transactions, func(t *transaction) bool {
		return slices.Contains(t.tables, w.table) && (t.session != w.session || t.state == prepared)
	})
}

// releaseTables frees t's metadata locks.
func (srv *Server) releaseTables(t *transaction) {
	t.tables = nil
	srv.grantTables()
}

// own takes the exclusive metadata lock of tbl.
func (s *session) own(tbl *table) error {
	w := &tableWait{table: tbl, session: s, exclusive: true, wait: newWaiter()}
	s.server.tableWaits = append(s.server.tableWaits, w)
	s.server.grantTables()
	return s.awaitTable(w)
}

func (s *session) disown(tbl *table) {
	if tbl.writer == s {
		tbl.writer = nil
		s.server.grantTables()
	}
}

// alone runs do, which changes what tbl is, when nobody else uses it. On MariaDB a prepared branch without a session
// has no metadata lock any more, and its rows stop the change instead, for innodb_lock_wait_timeout (server-facts 5).
func (s *session) alone(tbl *table, do func() error) error {
	kept := tbl.writer == s
	if err := s.own(tbl); err != nil {
		return err
	}
	defer func() {
		if !kept {
			s.disown(tbl)
		}
	}()
	if err := s.awaitRows(tbl); err != nil {
		return err
	}
	return do()
}

// awaitRows waits until no transaction has changed rows of tbl.
func (s *session) awaitRows(tbl *table) error {
	scratch := s.server.newTransaction(s)
	defer s.server.finish(scratch)
	for _, key := range slices.Clone(tbl.rows.keys) {
		v := tbl.rows.get(key)
		if v == nil || v.writer == nil {
			continue
		}
		if err := s.acquire(scratch, lockKey{tbl.rows, key}, exclusive); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) unlockTables() {
	for _, l := range s.tables {
		s.disown(l.table)
	}
	s.tables = nil
}
