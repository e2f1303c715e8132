package txnsink

import "slices"

// uses counts the rows of an open branch by table and operation, for its proof row. The zero value is empty. Take a
// snapshot before a savepoint, and restore it after going back there.
type uses struct {
	rows []use
}

// use is rows of one table and operation.
type use struct {
	table *table
	op    Operation
	rows  int64
}

// add counts rows that were sent.
func (u *uses) add(t *table, op Operation, rows int) {
	for i := range u.rows {
		if u.rows[i].table == t && u.rows[i].op == op {
			u.rows[i].rows += int64(rows)
			return
		}
	}
	u.rows = append(u.rows, use{table: t, op: op, rows: int64(rows)})
}

// total is the number of all rows.
func (u *uses) total() int64 {
	var n int64
	for _, s := range u.rows {
		n += s.rows
	}
	return n
}

// of is the number of t's rows.
func (u *uses) of(t *table) int64 {
	var n int64
	for _, s := range u.rows {
		if s.table == t {
			n += s.rows
		}
	}
	return n
}

// all is the count of each table and operation, in the order of their first rows. It is good until the next change.
func (u *uses) all() []use { return u.rows }

// snapshot is a copy to restore.
func (u *uses) snapshot() uses { return uses{rows: slices.Clone(u.rows)} }

// restore makes u what it was at the snapshot, which stays good.
func (u *uses) restore(s uses) { u.rows = append(u.rows[:0], s.rows...) }

// reset empties u.
func (u *uses) reset() { u.rows = u.rows[:0] }
