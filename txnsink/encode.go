package txnsink

// encoder turns the rows of batches into statements. It is not safe for concurrent use.
type encoder struct {
	batchRows int
	maxBytes  int
	buf       []byte
	rows      []int
}

// statement is one statement with rows of one table and operation. It is good until the callback that got it returns;
// sql stays good.
type statement struct {
	table *table
	op    Operation
	rows  []int // positions in the batch, rising
	sql   string
}

// newEncoder makes an encoder whose statements hold at most batchRows rows (0: 1000).
func newEncoder(c *catalog, batchRows int) *encoder { return &encoder{} }

// statements calls fn for each statement of the rows that b has for lane, in source order: maximal runs of one table
// and operation, cut where a statement would grow too large. b must be valid. The first error of fn ends it and is
// returned as it is.
func (e *encoder) statements(b *Batch, lane int, fn func(statement) error) error { return nil }

// checkAffected tells whether n, the server's number of affected rows, is possible for s.
func (s statement) checkAffected(n int64) error { return nil }

// failed says which row of b made s fail, as far as the server's error tells: a *RowError where a row or its table is
// at fault. It keeps err in the chain. Errors that are not about rows (1205, 1213, a lost session) come back as they are.
func (s statement) failed(b *Batch, err error) error { return err }

// blocked names table and keys (the first few) of a statement that waited for a lock in vain.
func (s statement) blocked(b *Batch) (table, keys string) { return "", "" }
