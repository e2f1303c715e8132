package xasim

import "errors"

// clash is a row that a new one cannot stand beside.
type clash struct {
	key string
	in  *index
}

func (c *clash) duplicate(k Kind, t *table, r row) error {
	text := ""
	for i, at := range c.in.at {
		if i > 0 {
			text += "-"
		}
		text += r[at].Text()
	}
	name := t.name + "." + c.in.name
	if k.mariadb {
		name = c.in.name
	}
	return failure(1062, "23000", "Duplicate entry '%s' for key '%s'", text, name)
}

// conflict looks for the first unique key in which r is a duplicate. What it finds is locked with mode, also where it
// turns out to be no duplicate. own, if it is not nil, is the row that r replaces.
func (s *session) conflict(t *transaction, tbl *table, key string, r row, mode lockMode, own *string) (*clash, error) {
	if own == nil || *own != key {
		if v := tbl.rows.get(key); v != nil {
			if err := s.acquire(t, lockKey{tbl.rows, key}, mode); err != nil {
				return nil, err
			}
			if v = tbl.rows.get(key); v != nil && v.seen(t) != nil {
				return &clash{key, tbl.primary}, nil
			}
		}
	}
	for _, i := range tbl.unique {
		name, null := tbl.key(i, r)
		e := i.entries.get(name)
		if null || e == nil {
			continue
		}
		if err := s.acquire(t, lockKey{i.entries, name}, mode); err != nil {
			return nil, err
		}
		e = i.entries.get(name)
		if e == nil {
			continue
		}
		if entry := e.seen(t); entry != nil && (own == nil || *entry != *own) {
			if mode == exclusive {
				if err := s.acquire(t, lockKey{tbl.rows, *entry}, exclusive); err != nil {
					return nil, err
				}
			}
			return &clash{*entry, i}, nil
		}
	}
	return nil, nil
}

// lockNew takes the locks of a row that is about to be inserted.
func (s *session) lockNew(t *transaction, tbl *table, key string, r row) error {
	if err := s.acquire(t, lockKey{tbl.rows, key}, exclusive); err != nil {
		return err
	}
	for _, i := range tbl.unique {
		if name, null := tbl.key(i, r); !null {
			if err := s.acquire(t, lockKey{i.entries, name}, exclusive); err != nil {
				return err
			}
		}
	}
	return nil
}

// place puts a new row into the table and its unique keys. Nothing stands in its way, and its locks are held.
func (s *session) place(t *transaction, tbl *table, key string, r row) {
	write(t, tbl.rows, tbl.rows.at(key), &r)
	for _, i := range tbl.unique {
		if name, null := tbl.key(i, r); !null {
			write(t, i.entries, i.entries.at(name), &key)
		}
	}
}

// leave makes i name the row no more.
func (s *session) leave(t *transaction, i *index, tbl *table, r row) error {
	name, null := tbl.key(i, r)
	if null {
		return nil
	}
	if err := s.acquire(t, lockKey{i.entries, name}, exclusive); err != nil {
		return err
	}
	write(t, i.entries, i.entries.at(name), nil)
	return nil
}

// remove deletes the row of key, which t has locked.
func (s *session) remove(t *transaction, tbl *table, key string) error {
	if err := s.acquire(t, lockKey{tbl.rows, key}, exclusive); err != nil {
		return err
	}
	v := tbl.rows.get(key)
	if v == nil || v.seen(t) == nil {
		return errors.New("xasim: a row to delete is gone")
	}
	r := *v.seen(t)
	for _, i := range tbl.unique {
		if err := s.leave(t, i, tbl, r); err != nil {
			return err
		}
	}
	write(t, tbl.rows, v, nil)
	return nil
}
