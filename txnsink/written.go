package txnsink

import (
	"errors"
	"fmt"
)

// WrittenRow is one row of a batch, as a [Writer] of one's own reads it.
type WrittenRow struct {
	Row       int    // position in the batch, from 0, as in [RowError]
	Table     string // as declared
	FullName  string // with its database, as proof rows and decisions name it
	Lane      int    // position in [Schema.Lanes]
	Operation Operation
	// Values are those of the written columns in the order of the declaration, of a Delete those of the primary key in
	// the key's order. They may be kept.
	Values []WrittenValue
	Size   int // bytes of the row in a statement, as MaxSegmentBytes counts them

	batch *Batch
}

// WrittenValue is the value that a row has for one column.
type WrittenValue struct {
	Column string // as the layout spells it
	// Text is the value as the server is given it: a number's digits, those of a DECIMAL with all digits behind the
	// point; text and bytes as they are; times in the time zone of the sessions. It is "" for NULL.
	Text string
	Null bool
	// Add: an upsert that finds the row adds the number to what is there, where it else overwrites.
	Add bool
}

// Each calls fn for every row of b, in the order of the batch. Before the first call it checks b as every writer has to:
// a batch that is not of this schema, has problems (then the error unwraps to one *RowError a problem) or is larger
// than MaxBatchBytes is refused whole. The first error of fn ends it and is returned as it is. b is not changed.
func (s *Schema) Each(b *Batch, fn func(WrittenRow) error) error {
	if err := checkBatch(b, s.catalog, s.cfg.MaxBatchBytes); err != nil {
		return err
	}
	for i := range b.rows {
		if err := fn(b.written(i)); err != nil {
			return err
		}
	}
	return nil
}

// written is row i of a valid batch.
func (b *Batch) written(i int) WrittenRow {
	r := b.rows[i]
	given := r.table.given(r.op)
	w := WrittenRow{
		Row: i, Table: r.table.name, FullName: r.table.fullName(), Lane: r.table.lane, Operation: r.op, Size: r.size, batch: b,
		Values: make([]WrittenValue, len(given)),
	}
	for n := range given {
		c, v := &given[n], r.first+n
		value := WrittenValue{Column: c.name, Null: b.kinds[v] == kindNull, Add: r.op == Upsert && c.adds}
		if !value.Null {
			value.Text = b.text(v, c)
		}
		w.Values[n] = value
	}
	return w
}

// text is value v of column c, which is not NULL.
func (b *Batch) text(v int, c *column) string {
	if b.kinds[v] == kindNumber {
		return c.shown(string(b.stored(v)))
	}
	return unescape(b.stored(v))
}

// Failed is the error for a row that a server refuses with the given number: errors name table, row and key, and say
// what is to be done where the number is known. column may be "". It must be called before the batch is used again.
func (r WrittenRow) Failed(code uint16, column string, err error) *RowError {
	return &RowError{Table: r.Table, Row: r.Row, Column: column, Key: r.batch.keyOf(r.Row), Code: code, Err: err}
}

// Key is the row's primary key for people, "id=7, part='a'", shortened; "" for a table without one. It must be called
// before the batch is used again.
func (r WrittenRow) Key() string { return r.batch.keyOf(r.Row) }

// checkBatch refuses a batch of which nothing may be sent.
func checkBatch(b *Batch, c *catalog, maxBytes int) error {
	if b == nil || !b.belongs(c) {
		return errors.New("write: the batch was made by another sink; take one from Batch")
	}
	if err := b.validate(); err != nil {
		return err
	}
	if b.Bytes() > maxBytes {
		return fmt.Errorf("write: the batch holds %d bytes in %d rows, MaxBatchBytes is %d: write it in smaller parts", b.Bytes(), b.Len(), maxBytes)
	}
	return nil
}
