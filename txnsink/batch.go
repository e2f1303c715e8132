package txnsink

import (
	"fmt"
	"strings"
)

// Batch collects rows for one Write. It belongs to the sink that made it and is not safe for concurrent use. A batch
// that was written is the sink's again, empty: ask the sink for the next one. Buffers are kept over Reset and over
// Writes: a batch that is used again allocates nothing per row.
//
// A row begins with Insert, Upsert or Delete and takes one value per column, in the order of the columns. What is
// wrong with a row (an unknown table, a value of a wrong kind, a column too many) is remembered, and the Write of the
// batch then reports it, up to ten of such problems, and writes nothing of the batch.
type Batch struct {
	catalog *catalog

	data  []byte // stored values, one after the other
	ends  []int  // end of each value in data
	kinds []kind
	rows  []rowRef
	sizes int   // of all closed rows
	count []int // rows per table of the catalog

	seq  uint64 // of the newest row handed out, over the batch's life
	open bool   // the last row still takes values

	last     *table // of the last row, to save a look-up
	problems []*RowError
	more     int // problems that were not kept
	plans    map[planKey]plan
}

// rowRef is one row of a batch.
type rowRef struct {
	table *table // nil: unknown
	op    Operation
	first int // its first value
	size  int // of its text in a statement, "(…)"
}

const (
	maxProblems = 10
	// packetSlack is kept free of max_allowed_packet for the packet's own bytes.
	packetSlack = 64
)

// Insert begins a row that is to be added to table. It takes a value for each written column.
func (b *Batch) Insert(table string) Row { return b.begin(table, Insert) }

// Upsert begins a row that is to be added to table, or to change the row with the same primary key. It takes a value
// for each written column.
func (b *Batch) Upsert(table string) Row { return b.begin(table, Upsert) }

// Delete begins a row that is to be removed from table. It takes a value for each column of the primary key, in the
// key's order.
func (b *Batch) Delete(table string) Row { return b.begin(table, Delete) }

func (b *Batch) begin(name string, op Operation) Row {
	b.closeRow()
	t := b.last
	if t == nil || t.name != name {
		t = b.catalog.byName[name]
		b.last = t
	}
	b.rows = append(b.rows, rowRef{table: t, op: op, first: len(b.ends)})
	b.seq++
	b.open = true
	switch {
	case t == nil:
		b.problem(name, "", fmt.Errorf("the sink has no table of this name: list it in Tables (there are %s)", b.catalog.names()))
	case t.operations&op == 0:
		b.problem(name, "", fmt.Errorf("%s is not declared for this table, only %s: add it to Operations", op, t.operations))
	default:
		b.count[t.index]++
	}
	return Row{b: b, seq: b.seq}
}

// closeRow ends the last row: it has a value for each column now, and fits into a packet.
func (b *Batch) closeRow() {
	if !b.open {
		return
	}
	b.open = false
	r := &b.rows[len(b.rows)-1]
	if r.table == nil {
		return
	}
	given := r.table.given(r.op)
	n := len(b.ends) - r.first
	switch {
	case n < len(given):
		b.problem(r.table.name, given[n].name, fmt.Errorf("the row has %d of %d values: this column's and all after it are missing", n, len(given)))
	case n > len(given):
		b.problem(r.table.name, "", fmt.Errorf("the row has %d values for %d columns (%s)", n, len(given), columnNames(given)))
	}
	r.size = r.table.rowSize(r.op)
	for i := r.first; i < len(b.ends); i++ {
		r.size += b.kinds[i].literalSize(len(b.stored(i)))
	}
	b.sizes += r.size
	if r.size+r.table.overhead(r.op) > b.catalog.maxStatement() {
		b.problem(r.table.name, b.largest(*r), fmt.Errorf("the row is %d bytes as a statement, the server's max_allowed_packet is %d: raise it, or make the row smaller (the column named is its largest)",
			r.size+r.table.overhead(r.op)+packetSlack, b.catalog.maxPacket))
	}
}

// largest is the column of r that takes most space.
func (b *Batch) largest(r rowRef) string {
	name, most := "", -1
	for i, c := range r.table.given(r.op) {
		if r.first+i >= len(b.ends) {
			break
		}
		if n := len(b.stored(r.first + i)); n > most {
			name, most = c.name, n
		}
	}
	return name
}

// stored is the text of value i as it is kept.
func (b *Batch) stored(i int) []byte {
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	return b.data[start:b.ends[i]]
}

// value ends a value whose text was just added to data.
func (b *Batch) value(k kind) {
	b.ends = append(b.ends, len(b.data))
	b.kinds = append(b.kinds, k)
}

// problem remembers what is wrong with the last row.
func (b *Batch) problem(table, column string, err error) {
	if len(b.problems) == maxProblems {
		b.more++
		return
	}
	b.problems = append(b.problems, &RowError{Table: table, Row: len(b.rows) - 1, Column: column, Err: err})
}

// Len is the number of rows.
func (b *Batch) Len() int { return len(b.rows) }

// Bytes is the size of the rows' text as it is sent, without the heads of statements. The last row counts once the
// next one begins, or the batch is written.
func (b *Batch) Bytes() int { return b.sizes }

// Reset empties the batch and keeps its buffers.
func (b *Batch) Reset() {
	clear(b.count)
	clear(b.problems)
	b.data, b.ends, b.kinds, b.rows = b.data[:0], b.ends[:0], b.kinds[:0], b.rows[:0]
	b.problems, b.more, b.sizes, b.open, b.last = b.problems[:0], 0, 0, false, nil
}

// validate ends the last row and tells what is wrong with the batch: an error that unwraps to one *RowError per
// problem. Nothing may be sent of a batch that is not valid.
func (b *Batch) validate() error {
	b.closeRow()
	if len(b.problems) == 0 {
		return nil
	}
	errs := make([]error, len(b.problems))
	for i, p := range b.problems {
		p.Key = b.keyOf(p.Row)
		errs[i] = p
	}
	return &batchError{problems: errs, more: b.more}
}

// batchError is every problem of a batch of which nothing was written.
type batchError struct {
	problems []error
	more     int
}

func (e *batchError) Error() string {
	if len(e.problems) == 1 && e.more == 0 {
		return "nothing of the batch was written: " + e.problems[0].Error()
	}
	var s strings.Builder
	fmt.Fprintf(&s, "nothing of the batch was written, it has %d problems:", len(e.problems)+e.more)
	for _, p := range e.problems {
		s.WriteString("\n\t" + p.Error())
	}
	if e.more > 0 {
		fmt.Fprintf(&s, "\n\tand %d more", e.more)
	}
	return s.String()
}

func (e *batchError) Unwrap() []error { return e.problems }

// belongs tells whether c made the batch.
func (b *Batch) belongs(c *catalog) bool { return b.catalog == c }

// lanes appends the lanes that the batch has rows for to dst, in rising order.
func (b *Batch) lanes(dst []int) []int {
	for i, tables := range b.catalog.lanes {
		for _, t := range tables {
			if b.count[t.index] > 0 {
				dst = append(dst, i)
				break
			}
		}
	}
	return dst
}

// rowsOf is the number of rows for t.
func (b *Batch) rowsOf(t *table) int { return b.count[t.index] }

// appendFrom adds all rows of src behind b's own. src is valid and of the same catalog; it is not changed.
func (b *Batch) appendFrom(src *Batch) {
	b.closeRow()
	values, bytes := len(b.ends), len(b.data)
	b.data = append(b.data, src.data...)
	b.kinds = append(b.kinds, src.kinds...)
	for _, end := range src.ends {
		b.ends = append(b.ends, end+bytes)
	}
	for _, r := range src.rows {
		r.first += values
		b.rows = append(b.rows, r)
	}
	for i, n := range src.count {
		b.count[i] += n
	}
	b.sizes += src.sizes
}
