package xasim

import (
	"slices"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

// scan goes over the rows of a table that a WHERE may hold for.
type scan struct {
	session *session
	t       *transaction
	table   *table
	access  access
	keys    []string // of rows, or of access.unique
	next0   int
	where   value
	frame   frame
	key     string // of the row that next gave
	// semi: a locked row that WHERE does not hold for as it is committed is passed without waiting.
	semi bool
}

func (s *session) scan(t *transaction, tbl *table, slots []slot, where syntax.Expr, c *command) (*scan, error) {
	sc := &scope{session: s, slots: slots, text: c.text}
	x := &scan{session: s, t: t, table: tbl, frame: frame{session: s, args: c.args}, access: access{whole: true}}
	if where != nil {
		var err error
		if x.where, err = sc.where(where); err != nil {
			return nil, err
		}
		x.access = sc.accessFor(tbl, where, c.args)
	}
	switch {
	case x.access.whole:
		x.keys = slices.Clone(tbl.rows.keys)
	case x.access.unique != nil:
		x.keys = x.access.keys
	default:
		for _, p := range x.access.spans {
			x.keys = append(x.keys, tbl.rows.between(p.low, p.high)...)
		}
		slices.Sort(x.keys)
		x.keys = slices.Compact(x.keys)
	}
	return x, nil
}

// next is the next row; nil at the end. Without a lock it is as the transaction reads it, and WHERE is for the caller;
// with one it is the newest, WHERE holds for it, and it is locked.
func (x *scan) next(lock syntax.LockMode) (*[]datum.Value, error) {
	for x.next0 < len(x.keys) {
		key := x.keys[x.next0]
		x.next0++
		if x.access.unique != nil {
			found, err := x.throughIndex(key, lock)
			if err != nil {
				return nil, err
			}
			if found == "" {
				continue
			}
			key = found
		}
		r, err := x.read(key, lock)
		if err != nil || r != nil {
			x.key = key
			return r, err
		}
	}
	return nil, nil
}

// throughIndex is the key of the row that an entry of a unique key names, "" if there is none.
func (x *scan) throughIndex(key string, lock syntax.LockMode) (string, error) {
	entries := x.access.unique.entries
	e := entries.get(key)
	if e == nil {
		return "", nil
	}
	if lock != syntax.NoLock {
		if err := x.lock(lockKey{entries, key}, lock); err != nil {
			return "", skipped(err)
		}
		e = entries.get(key)
	}
	if e == nil {
		return "", nil
	}
	if name := e.seen(x.t); name != nil {
		return *name, nil
	}
	return "", nil
}

// read is the row of key, nil if there is none for this statement.
func (x *scan) read(key string, lock syntax.LockMode) (*[]datum.Value, error) {
	rows := x.table.rows
	v := rows.get(key)
	if v == nil {
		return nil, nil
	}
	if lock == syntax.NoLock {
		return asValues(v.seen(x.t)), nil
	}
	if x.semi && v.writer != nil && v.writer != x.t && !x.holds(v.committed) {
		return nil, nil
	}
	name := lockKey{rows, key}
	had := x.session.server.locks[name].held(x.t) != 0
	if err := x.lock(name, lock); err != nil {
		return nil, skipped(err)
	}
	if v = rows.get(key); v != nil && x.holds(v.seen(x.t)) {
		return asValues(v.seen(x.t)), nil
	}
	// At READ COMMITTED a row that the statement does not want is free again.
	if !had {
		x.session.server.releaseOne(x.t, name)
	}
	return nil, nil
}

func asValues(r *row) *[]datum.Value {
	if r == nil {
		return nil
	}
	v := []datum.Value(*r)
	return &v
}

func (x *scan) holds(r *row) bool {
	if r == nil {
		return false
	}
	if x.where == nil {
		return true
	}
	ok, err := holdsFor(&x.frame, *r, x.where)
	return ok && err == nil
}

// errSkipped passes a row that SKIP LOCKED does not wait for.
var errSkipped = failure(0, "", "skipped")

func skipped(err error) error {
	if err == errSkipped { //nolint:errorlint // never wrapped
		return nil
	}
	return err
}

func (x *scan) lock(key lockKey, mode syntax.LockMode) error {
	switch mode {
	case syntax.ShareLock:
		return x.session.acquire(x.t, key, shared)
	case syntax.UpdateSkipLocked:
		if x.session.acquireWithin(x.t, key, exclusive, 0) != nil {
			return errSkipped
		}
		return nil
	case syntax.UpdateNoWait:
		if x.session.acquireWithin(x.t, key, exclusive, 0) != nil {
			if x.session.server.kind.mariadb {
				return errLockWait()
			}
			return failure(3572, "HY000", "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.")
		}
		return nil
	default:
		return x.session.acquire(x.t, key, exclusive)
	}
}

// releaseOne frees t's lock of one key.
func (srv *Server) releaseOne(t *transaction, key lockKey) {
	q := slices.DeleteFunc(srv.locks[key], func(r *request) bool { return r.t == t })
	t.locks = slices.DeleteFunc(t.locks, func(k lockKey) bool { return k == key })
	srv.settleQueue(key, q)
}
