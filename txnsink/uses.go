package txnsink

// uses counts the rows of an open branch by table and operation, for its proof row. The zero value is empty. It is a
// plain value to its holder: snapshot before a savepoint, restore after going back to it.
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
func (u *uses) add(t *table, op Operation, rows int) {}

// total is the number of all rows.
func (u *uses) total() int64 { return 0 }

// of is the number of t's rows.
func (u *uses) of(t *table) int64 { return 0 }

// all is the count of each table and operation, in the order of their first rows. It is good until the next add.
func (u *uses) all() []use { return u.rows }

// snapshot is a copy to restore.
func (u *uses) snapshot() uses { return uses{} }

// restore makes u what it was at the snapshot.
func (u *uses) restore(s uses) {}

// reset empties u.
func (u *uses) reset() {}
