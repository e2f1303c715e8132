package txnsink

import "strings"

// Operation is what is done with a row. In [Table] it is a set.
type Operation uint8

// The operations.
const (
	// Insert adds a row that is not there; a duplicate is an error.
	Insert Operation = 1 << iota
	// Upsert adds a row, or changes the one with the same primary key: columns in [Table].Add are added to, all other
	// written columns are overwritten.
	Upsert
	// Delete removes the row with the given primary key; a missing row is no error.
	Delete
)

const allOperations = Insert | Upsert | Delete

// String is the operations' names, "insert|upsert".
func (o Operation) String() string {
	var names []string
	for _, n := range []struct {
		o    Operation
		name string
	}{{Insert, "insert"}, {Upsert, "upsert"}, {Delete, "delete"}} {
		if o&n.o != 0 {
			names = append(names, n.name)
		}
	}
	if len(names) == 0 || o&^allOperations != 0 {
		names = append(names, "unknown")
	}
	return strings.Join(names, "|")
}

// Table declares a table that a sink writes. Everything else is read from the server when the sink is opened, and
// whatever does not fit is told then, all of it in one error.
type Table struct {
	// Name is "table", looked for in the connection's database, or "database.table". It is the name that rows are
	// added under. A dot in a name is not possible.
	Name string
	// Columns are written, in the order in which rows give values. nil: every column that is neither generated nor
	// invisible, in the table's order.
	Columns []string
	// Operations that will be used; 0 is Insert. A table that is only inserted into needs no index of prepared keys.
	Operations Operation
	// Add names the columns that an upsert adds to. They are exact numbers, not NULL, and not part of the primary key.
	Add []string
	// MaxSegmentRows closes the segment that holds this table's rows; 0 is the sink's own setting.
	MaxSegmentRows int64
}

// table is a declared table as the server has it.
type table struct {
	index          int    // position in the configuration
	name           string // as declared: what errors and rows call it
	database       string // as the server spells it
	base           string // the table's own name, as the server spells it
	quoted         string // `database`.`table`
	operations     Operation
	maxSegmentRows int64 // 0: the sink's
	lane           int   // set by lanesOf

	columns    []column // written ones, in the order of rows
	key        []column // primary key, in its own order; empty: none
	keyAt      []int    // for each key column its position in columns, -1 if it is not written
	uniqueKeys int      // the primary key included

	references []string // tables that foreign keys or triggers of either direction tie to it, directly or through others, as database.table
	foreign    bool     // it has a foreign key, of either direction, itself included, or a trigger of another table may write it
	triggers   bool     // it has triggers that this user may see
	insertOnly bool     // only Insert is declared
	splittable bool     // neither foreign nor triggers: what a row locks is known by its keys

	unique []uniqueKey

	insertHead string // INSERT … VALUES
	upsertTail string // ON DUPLICATE KEY UPDATE …; "" if upsert is not declared
	deleteHead string // DELETE … WHERE; "" if delete is not declared
	deleteGap  string // between two rows
	deleteTail string
}

// uniqueKey is a key that a row can be a duplicate in.
type uniqueKey struct {
	name string
	at   []int // for each of its columns the position in the table's columns, -1 if it is not written
}

// fullName is the table with its database, as the server spells them.
func (t *table) fullName() string { return t.database + "." + t.base }

// overhead is the length of a statement without its rows.
func (t *table) overhead(op Operation) int {
	switch op {
	case Upsert:
		return len(t.insertHead) + len(t.upsertTail)
	case Delete:
		return len(t.deleteHead) + len(t.deleteTail)
	case Insert:
	}
	return len(t.insertHead)
}

// given are the columns that a row of op gives values for, in order.
func (t *table) given(op Operation) []column {
	if op == Delete {
		return t.key
	}
	return t.columns
}
