package txnsink

// Batch collects rows for one Write. It belongs to the sink that made it and is not safe for concurrent use. Its
// buffers are kept over Reset: a batch that is used again allocates nothing per row.
//
// A row begins with Insert, Upsert or Delete and takes one value per column, in the order of the columns. What is
// wrong with a row (an unknown table, a value of a wrong kind, a column too many) is remembered, and the Write of the
// batch then reports all of it and writes none of the batch.
type Batch struct {
	catalog *catalog
	data    []byte // encoded values, one after the other; see value.go
	ends    []int  // end of each value in data
	kinds   []kind
	rows    []rowRef
	counts  []int // rows per table
	bytes   int
}

// rowRef is one row of a batch.
type rowRef struct {
	table *table
	op    Operation
	first int // its first value
	size  int // of its text in a statement, "(…)"
}

// kind is how a value is quoted in a statement.
type kind uint8

const (
	kindNull   kind = iota
	kindNumber      // as it is
	kindText        // '…'
	kindBytes       // _binary'…'
)

// Insert begins a row that is to be added to table. It takes a value for each written column.
func (b *Batch) Insert(table string) Row { return b.begin(table, Insert) }

// Upsert begins a row that is to be added to table, or to change the row with the same primary key. It takes a value
// for each written column.
func (b *Batch) Upsert(table string) Row { return b.begin(table, Upsert) }

// Delete begins a row that is to be removed from table. It takes a value for each column of the primary key, in the
// key's order.
func (b *Batch) Delete(table string) Row { return b.begin(table, Delete) }

func (b *Batch) begin(name string, op Operation) Row { return Row{b: b} }

// Len is the number of rows.
func (b *Batch) Len() int { return len(b.rows) }

// Bytes is the size of the rows' text as it is sent, without the heads of statements.
func (b *Batch) Bytes() int { return b.bytes }

// Reset empties the batch and keeps its buffers.
func (b *Batch) Reset() {}

// validate tells what is wrong with the batch: a *batchError that unwraps to one *RowError per problem. Nothing may be
// sent of a batch that is not valid.
func (b *Batch) validate() error { return nil }

// belongs tells whether c made the batch.
func (b *Batch) belongs(c *catalog) bool { return b.catalog == c }

// lanes appends the lanes that the batch has rows for to dst, in rising order.
func (b *Batch) lanes(dst []int) []int { return dst }

// rowsOf is the number of rows for t.
func (b *Batch) rowsOf(t *table) int { return 0 }

// appendFrom adds all rows of src, which is valid and of the same catalog, behind b's own.
func (b *Batch) appendFrom(src *Batch) {}
