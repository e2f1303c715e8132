package txnsinktest

import (
	"errors"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/xa"
)

// branch is an XA branch with the rows that it changed and that nobody else may change until it has ended.
type branch struct {
	id      xa.ID
	changes map[slot]row // nil: deleted
	undo    []change     // since mark, the newest last
	proof   ledger.Proof // written before PREPARE
}

// change is what a branch held of a slot before a change.
type change struct {
	slot slot
	row  row
	held bool
}

// errLocked is a row that another branch has changed and not ended yet. A server answers 1205 after a second.
var errLocked = errors.New("another branch holds a lock of the row")

func newBranch(id xa.ID) *branch { return &branch{id: id, changes: map[slot]row{}} }

// mark makes what the branch holds now the state that back returns to.
func (b *branch) mark() { b.undo = b.undo[:0] }

// back undoes all changes since mark.
func (b *branch) back() {
	for i := len(b.undo) - 1; i >= 0; i-- {
		c := b.undo[i]
		if c.held {
			b.changes[c.slot] = c.row
			continue
		}
		delete(b.changes, c.slot)
		delete(c.slot.table.locks, c.slot.name)
	}
	b.mark()
}

// end frees the branch's locks, after what it changed was made committed, or not.
func (b *branch) end(commit bool) {
	for s, r := range b.changes {
		delete(s.table.locks, s.name)
		switch {
		case !commit:
		case r == nil:
			delete(s.table.rows, s.name)
		default:
			s.table.rows[s.name] = r
		}
	}
	b.changes, b.undo = map[slot]row{}, nil
}

// set changes a slot that no other branch has locked.
func (b *branch) set(s slot, r row) {
	old, held := b.changes[s]
	b.undo = append(b.undo, change{slot: s, row: old, held: held})
	b.changes[s] = r
	s.table.locks[s.name] = b
}

// seen is the row in a slot as the branch sees it; nil: none.
func (b *branch) seen(s slot) row {
	if r, changed := b.changes[s]; changed {
		return r
	}
	return s.table.rows[s.name]
}

// locked tells whether another branch has changed the slot.
func (b *branch) locked(s slot) bool {
	holder := s.table.locks[s.name]
	return holder != nil && holder != b
}

// apply does to t what w says. Errors: errLocked; a *txnsink.RowError with the number that a server would answer.
func (b *branch) apply(t *table, w txnsink.WrittenRow) error {
	failed := func(wrong *refusal) error { return w.Failed(wrong.code, wrong.column, wrong) }
	given, wrong := t.filled(w.Values)
	if w.Operation == txnsink.Delete {
		if wrong != nil {
			return nil //nolint:nilerr // No row can have such a value, so there is none to delete.
		}
		s := slot{t, t.name(given)}
		if b.locked(s) {
			return errLocked
		}
		if b.seen(s) != nil {
			b.set(s, nil)
		}
		return nil
	}
	if wrong != nil {
		return failed(wrong)
	}
	s := slot{t, t.name(given)}
	if b.locked(s) {
		return errLocked
	}
	old := b.seen(s)
	if w.Operation == txnsink.Upsert && old != nil {
		changed, wrong := t.overwritten(old, w.Values)
		if wrong != nil {
			return failed(wrong)
		}
		b.set(s, changed)
		return nil
	}
	key, err := b.duplicate(t, s, given)
	if err != nil {
		return err
	}
	if key != "" {
		return failed(refuse(codeDuplicate, "duplicate entry for key %s", key))
	}
	b.set(s, given)
	return nil
}

// duplicate names the unique key in which r, to be put into s, meets a row that is there; "" for none.
func (b *branch) duplicate(t *table, s slot, r row) (key string, err error) {
	for _, u := range t.unique {
		if u.name == primary {
			if b.seen(s) != nil {
				return u.name, nil
			}
			continue
		}
		entry, null := r.entry(u.columns)
		if null {
			continue
		}
		meets := func(other row) bool {
			if other == nil {
				return false
			}
			e, null := other.entry(u.columns)
			return !null && e == entry
		}
		for name, holder := range t.locks {
			o := slot{t, name}
			if holder != b && (meets(holder.changes[o]) || meets(t.rows[name])) {
				return "", errLocked
			}
			if holder == b && meets(b.changes[o]) {
				return u.name, nil
			}
		}
		for name, other := range t.rows {
			if t.locks[name] == nil && meets(other) {
				return u.name, nil
			}
		}
	}
	return "", nil
}
