package xasim

import (
	"slices"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

// update executes an UPDATE.
func (s *session) update(t *transaction, u *syntax.Update, c *command) (*result, error) {
	tbl, set, err := s.prepareUpdate(u, c)
	if err != nil {
		return nil, err
	}
	if err := s.use(t, tbl); err != nil {
		return nil, err
	}
	x, err := s.scan(t, tbl, tbl.slots(""), u.Where, c)
	if err != nil {
		return nil, err
	}
	x.semi = !s.server.kind.mariadb && x.access.unique == nil && !x.access.point
	out := &result{}
	for n := 1; ; n++ {
		r, err := x.next(syntax.UpdateLock)
		if err != nil {
			return nil, err
		}
		if r == nil {
			return out, nil
		}
		changed, err := s.change(t, tbl, x.key, set, &frame{session: s, args: c.args}, n, 1)
		if err != nil {
			return nil, err
		}
		out.affected += changed
	}
}

func (s *session) prepareUpdate(u *syntax.Update, c *command) (*table, []assigning, error) {
	tbl, err := s.find(u.Table)
	if err != nil {
		return nil, nil, err
	}
	if s.lacks(UpdateRows) {
		return nil, nil, s.errDenied("UPDATE", tbl)
	}
	sc := &scope{session: s, slots: tbl.slots(""), clause: "field list", text: c.text}
	set, err := sc.assignments(tbl, u.Set, "update list")
	if err != nil {
		return nil, nil, err
	}
	_, err = sc.where(u.Where)
	return tbl, set, err
}

// change assigns to the row of key, which t has locked. counted is what the server counts for a row that is changed.
func (s *session) change(t *transaction, tbl *table, key string, set []assigning, f *frame, number int, counted int64) (int64, error) {
	if err := s.acquire(t, lockKey{tbl.rows, key}, exclusive); err != nil {
		return 0, err
	}
	v := tbl.rows.get(key)
	before := *v.seen(t)
	after := slices.Clone(before)
	f.values = after // assignments see those before them
	assigned := map[int]bool{}
	for _, a := range set {
		value, err := a.x.eval(f)
		if err != nil {
			return 0, err
		}
		stored, err := s.store(tbl, &tbl.columns[a.at], value, number)
		if err != nil {
			return 0, err
		}
		after[a.at], assigned[a.at] = stored, true
	}
	if slices.EqualFunc(before, after, datum.Same) {
		t.changes = append(t.changes, met{update: true})
		return 0, nil
	}
	for i, c := range tbl.columns {
		if c.touched && !assigned[i] {
			after[i] = datum.String(s.now(c.kind))
		}
	}
	return counted, s.replace(t, tbl, key, before, after)
}

// replace makes a row another one, which may have another key.
func (s *session) replace(t *transaction, tbl *table, key string, before, after row) error {
	newKey := key
	if len(tbl.primary.at) > 0 {
		newKey = tbl.rowKey(after)
	}
	at, err := s.conflict(t, tbl, newKey, after, shared, &key)
	if err != nil {
		return err
	}
	if at != nil {
		return at.duplicate(s.server.kind, tbl, after)
	}
	if newKey != key {
		if err := s.remove(t, tbl, key); err != nil {
			return err
		}
		if err := s.lockNew(t, tbl, newKey, after); err != nil {
			return err
		}
		s.place(t, tbl, newKey, after)
		return nil
	}
	for _, i := range tbl.unique {
		was, _ := tbl.key(i, before)
		is, _ := tbl.key(i, after)
		if was == is {
			continue
		}
		if err := s.leave(t, i, tbl, before); err != nil {
			return err
		}
		if name, null := tbl.key(i, after); !null {
			if err := s.acquire(t, lockKey{i.entries, name}, exclusive); err != nil {
				return err
			}
			write(t, i.entries, i.entries.at(name), &key)
		}
	}
	write(t, tbl.rows, tbl.rows.get(key), &after)
	return nil
}

// delete executes a DELETE.
func (s *session) delete(t *transaction, d *syntax.Delete, c *command) (*result, error) {
	tbl, err := s.prepareDelete(d, c)
	if err != nil {
		return nil, err
	}
	if err := s.use(t, tbl); err != nil {
		return nil, err
	}
	x, err := s.scan(t, tbl, tbl.slots(""), d.Where, c)
	if err != nil {
		return nil, err
	}
	out := &result{}
	for {
		r, err := x.next(syntax.UpdateLock)
		if err != nil {
			return nil, err
		}
		if r == nil {
			return out, nil
		}
		if err := s.remove(t, tbl, x.key); err != nil {
			return nil, err
		}
		out.affected++
	}
}

func (s *session) prepareDelete(d *syntax.Delete, c *command) (*table, error) {
	tbl, err := s.find(d.Table)
	if err != nil {
		return nil, err
	}
	switch {
	case s.lacks(DeleteRows):
		return nil, s.errDenied("DELETE", tbl)
	case d.Where != nil && s.lacks(SelectRows):
		return nil, s.errDenied("SELECT", tbl)
	}
	sc := &scope{session: s, slots: tbl.slots(""), text: c.text}
	_, err = sc.where(d.Where)
	return tbl, err
}
