package txnsink

import "fmt"

const (
	defaultStatementRows  = 1000
	defaultStatementBytes = 1 << 20
	// maxDeleteValues keeps an IN list below MariaDB's in_predicate_conversion_threshold (1000), from which on the
	// list becomes a subquery that a DELETE cannot use an index for.
	maxDeleteValues = 999
)

// encoder turns the rows of batches into statements. It is not safe for concurrent use.
type encoder struct {
	batchRows int
	maxBytes  int
	buf       []byte
	rows      []int
}

// statement is one statement with rows of one table and operation. Its rows are good until the callback that got it
// returns; its text stays good.
type statement struct {
	table *table
	op    Operation
	rows  []int // positions in the batch, rising
	sql   string
}

// newEncoder makes an encoder whose statements hold at most batchRows rows (0: 1000), and at most 1 MiB where one row
// alone is not larger.
func newEncoder(c *catalog, batchRows int) *encoder {
	return &encoder{batchRows: or(batchRows, defaultStatementRows), maxBytes: min(defaultStatementBytes, c.maxStatement())}
}

// statements calls fn for each statement of the rows that b has for lane, in source order: maximal runs of one table
// and operation, cut where a statement would grow too large. b must be valid. The first error of fn ends it and is
// returned as it is.
func (e *encoder) statements(b *Batch, lane int, fn func(statement) error) error {
	var s statement
	most := 0
	e.rows = e.rows[:0]
	send := func() error {
		if len(e.rows) == 0 {
			return nil
		}
		s.rows = e.rows
		s.sql = e.finish(s)
		err := fn(s)
		e.rows = e.rows[:0]
		return err
	}
	for i := range b.rows {
		r := &b.rows[i]
		if r.table.lane != lane {
			continue
		}
		same := r.table == s.table && r.op == s.op
		room := len(e.rows) < most && len(e.buf)+len(s.gap())+r.size+s.tailSize() <= e.maxBytes
		if !same || !room {
			if err := send(); err != nil {
				return err
			}
			s.table, s.op = r.table, r.op
			most = e.mostRows(s)
			e.buf = append(e.buf[:0], s.head()...)
		} else if len(e.rows) > 0 {
			e.buf = append(e.buf, s.gap()...)
		}
		e.buf = b.appendRow(e.buf, *r)
		e.rows = append(e.rows, i)
	}
	return send()
}

func (e *encoder) mostRows(s statement) int {
	if s.op == Delete {
		return max(1, min(e.batchRows, maxDeleteValues/len(s.table.key)))
	}
	return e.batchRows
}

func (e *encoder) finish(s statement) string {
	switch s.op {
	case Upsert:
		e.buf = append(e.buf, s.table.upsertTail...)
	case Delete:
		e.buf = append(e.buf, s.table.deleteTail...)
	case Insert:
	}
	return string(e.buf)
}

func (s statement) head() string {
	if s.op == Delete {
		return s.table.deleteHead
	}
	return s.table.insertHead
}

// gap is what stands between two rows.
func (s statement) gap() string {
	if s.op == Delete {
		return s.table.deleteGap
	}
	return ","
}

func (s statement) tailSize() int {
	if s.table == nil {
		return 0
	}
	return s.table.overhead(s.op) - len(s.head())
}

// appendRow adds r as a statement has it: (v,…), but (`a`=v AND …) for a delete by several columns.
func (b *Batch) appendRow(dst []byte, r rowRef) []byte {
	given := r.table.given(r.op)
	named := r.op == Delete && len(given) > 1
	dst = append(dst, '(')
	for i := range given {
		switch {
		case i == 0:
		case named:
			dst = append(dst, " AND "...)
		default:
			dst = append(dst, ',')
		}
		if named {
			dst = append(dst, given[i].quoted...)
			dst = append(dst, '=')
		}
		v := r.first + i
		dst = appendLiteral(dst, b.kinds[v], b.stored(v))
	}
	return append(dst, ')')
}

// rowSize is what appendRow adds besides literals.
func (t *table) rowSize(op Operation) int {
	given := t.given(op)
	size := len("()") + max(len(given)-1, 0)*len(",")
	if op == Delete && len(given) > 1 {
		size += (len(given) - 1) * (len(" AND ") - len(","))
		for _, c := range given {
			size += len(c.quoted) + len("=")
		}
	}
	return size
}

// checkAffected tells whether n, the server's number of affected rows, is possible for s.
func (s statement) checkAffected(n int64) error {
	rows := int64(len(s.rows))
	least, most := rows, rows
	switch s.op {
	case Insert:
	case Upsert:
		least, most = 0, 2*rows // 1 for a row that was added, 2 for one that was changed, 0 or 1 for one that was not
	case Delete:
		least = 0
	}
	if n < least || n > most {
		return fmt.Errorf("%s of %d rows of table %s: the server counted %d affected rows, where %d to %d are possible; the branch is not to be prepared, look for what else acts on the table",
			s.op, rows, s.table.name, n, least, most)
	}
	return nil
}

// prepare writes the constant parts of t's statements.
func (t *table) prepare(add map[string]bool) {
	names, updates := "", ""
	for i := range t.columns {
		c := &t.columns[i]
		c.adds = add[c.name]
		if i > 0 {
			names += ","
		}
		names += c.quoted
	}
	t.insertHead = "INSERT INTO " + t.quoted + " (" + names + ") VALUES "
	if t.operations&Upsert != 0 {
		isKey := map[string]bool{}
		for _, k := range t.key {
			isKey[k.name] = true
		}
		for _, c := range t.columns {
			switch {
			case isKey[c.name]:
				continue
			case c.adds:
				updates += "," + c.quoted + "=" + c.quoted + "+VALUES(" + c.quoted + ")"
			default:
				updates += "," + c.quoted + "=VALUES(" + c.quoted + ")"
			}
		}
		if updates == "" { // all columns are key: a duplicate changes nothing
			updates = "," + t.key[0].quoted + "=" + t.key[0].quoted
		}
		t.upsertTail = " ON DUPLICATE KEY UPDATE " + updates[1:]
	}
	switch {
	case t.operations&Delete == 0:
	case len(t.key) == 1:
		t.deleteHead = "DELETE FROM " + t.quoted + " WHERE " + t.key[0].quoted + " IN ("
		t.deleteGap, t.deleteTail = ",", ")"
	default:
		// Not (a,b) IN ((…),(…)): MariaDB 11.8 finds no row by such a list when a column's character set is not the
		// connection's (TestT66_T79 tries it).
		t.deleteHead = "DELETE FROM " + t.quoted + " WHERE "
		t.deleteGap = " OR "
	}
}
