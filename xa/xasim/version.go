package xasim

import "slices"

// version is one row, or one entry of a unique key, as it is committed and as an open transaction wants it. At most one
// transaction has changed it, which holds the exclusive lock of its key.
type version[V any] struct {
	key       string
	committed *V // nil: there is none
	pending   *V // of writer; nil: it was deleted
	writer    *transaction
}

// seen is what t reads: its own change, else what is committed.
func (v *version[V]) seen(t *transaction) *V {
	if v.writer != nil && v.writer == t {
		return v.pending
	}
	return v.committed
}

// latest is the newest state, committed or not.
func (v *version[V]) latest() *V {
	if v.writer != nil {
		return v.pending
	}
	return v.committed
}

// tree holds versions by key, in the order of keys.
type tree[V any] struct {
	byKey map[string]*version[V]
	keys  []string
}

func newTree[V any]() *tree[V] { return &tree[V]{byKey: map[string]*version[V]{}} }

func (t *tree[V]) get(key string) *version[V] { return t.byKey[key] }

// at is the version of key, made where there is none.
func (t *tree[V]) at(key string) *version[V] {
	if v := t.byKey[key]; v != nil {
		return v
	}
	v := &version[V]{key: key}
	t.byKey[key] = v
	if n := len(t.keys); n == 0 || t.keys[n-1] < key {
		t.keys = append(t.keys, key)
		return v
	}
	i, _ := slices.BinarySearch(t.keys, key)
	t.keys = slices.Insert(t.keys, i, key)
	return v
}

// tidy forgets v if there is nothing in it.
func (t *tree[V]) tidy(v *version[V]) {
	if v.writer != nil || v.committed != nil {
		return
	}
	delete(t.byKey, v.key)
	if i, found := slices.BinarySearch(t.keys, v.key); found {
		t.keys = slices.Delete(t.keys, i, i+1)
	}
}

// between are the keys from low to below high, in order; high "" is no bound. The slice is a copy.
func (t *tree[V]) between(low, high string) []string {
	from, _ := slices.BinarySearch(t.keys, low)
	to := len(t.keys)
	if high != "" {
		to, _ = slices.BinarySearch(t.keys, high)
	}
	if from >= to {
		return nil
	}
	return slices.Clone(t.keys[from:to])
}

// change is one write of a transaction.
type change interface {
	// undo makes the version what it was before this write. Changes are undone in the reverse of their order.
	undo()
	// commit makes the version's newest state the committed one and gives what takes that back.
	commit(t *transaction) (back func(t *transaction), done bool)
	// again is what makes the change once more, for another transaction, after it was undone.
	again() func(t *transaction)
	// lock is the name of the version's lock.
	lock() lockKey
	// vanished tells whether nothing is left of the version.
	vanished() bool
}

type changeOf[V any] struct {
	tree   *tree[V]
	at     *version[V]
	before *V
	was    *transaction // the writer before: nil or the same transaction
}

// write is the change that makes v the transaction's state of the version, nil for none.
func write[V any](t *transaction, in *tree[V], at *version[V], v *V) {
	t.changes = append(t.changes, &changeOf[V]{in, at, at.pending, at.writer})
	at.pending, at.writer = v, t
}

func (c *changeOf[V]) undo() {
	c.at.pending, c.at.writer = c.before, c.was
	c.tree.tidy(c.at)
}

func (c *changeOf[V]) commit(t *transaction) (func(*transaction), bool) {
	v := c.at
	if v.writer != t {
		return nil, false // an earlier change of the same version did it
	}
	key, before, after := v.key, v.committed, v.pending
	v.committed, v.pending, v.writer = after, nil, nil
	c.tree.tidy(v)
	in := c.tree
	return func(again *transaction) {
		at := in.at(key)
		at.committed = before
		if again == nil {
			in.tidy(at)
			return
		}
		write(again, in, at, after)
	}, true
}

func (c *changeOf[V]) again() func(*transaction) {
	in, key, value := c.tree, c.at.key, c.at.pending
	return func(t *transaction) {
		if at := in.at(key); at.writer != t {
			write(t, in, at, value)
		}
	}
}

func (c *changeOf[V]) lock() lockKey { return lockKey{c.tree, c.at.key} }

func (c *changeOf[V]) vanished() bool { return c.tree.byKey[c.at.key] != c.at }
