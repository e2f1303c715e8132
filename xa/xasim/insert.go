package xasim

import (
	"slices"
	"strings"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

// inserting is one INSERT or REPLACE under way.
type inserting struct {
	session *session
	t       *transaction
	table   *table
	insert  *syntax.Insert
	args    []datum.Value
	at      []int // the columns that are given
	updates []assigning
	first   uint64 // the first AUTO_INCREMENT value made
	given   uint64 // the last one that was given, or that of a row that was updated instead
	next    uint64 // the next one to make, of those that the statement has reserved
	end     uint64 // behind the last one reserved
	// reserved is how many were reserved the last time.
	reserved uint64
	// zeroMakes: 0 asks for an AUTO_INCREMENT value, as NULL does.
	zeroMakes bool
	made      bool // the row at hand has a value that was made
}

// assigning is column = value.
type assigning struct {
	at int
	x  compiled
}

// prepareInsert checks an INSERT without executing it.
func (s *session) prepareInsert(n *syntax.Insert, c *command) (*inserting, error) {
	tbl, err := s.find(n.Table)
	if err != nil {
		return nil, err
	}
	switch {
	case s.lacks(InsertRows):
		return nil, s.errDenied("INSERT", tbl)
	case len(n.Update) > 0 && s.lacks(UpdateRows):
		return nil, s.errDenied("UPDATE", tbl)
	case n.Replace && s.lacks(DeleteRows):
		return nil, s.errDenied("DELETE", tbl)
	case n.Ignore && (len(n.Update) > 0 || n.Query != nil):
		return nil, unsupported("this kind of INSERT IGNORE", c.text)
	}
	in := &inserting{session: s, table: tbl, insert: n, args: c.args,
		zeroMakes: !strings.Contains(s.variables["sql_mode"], "NO_AUTO_VALUE_ON_ZERO")}
	for _, name := range n.Columns {
		at := tbl.column(name)
		if at < 0 {
			return nil, s.server.kind.errNoColumn(name, "insert list")
		}
		if slices.Contains(in.at, at) {
			return nil, failure(1110, "42000", "Column '%s' specified twice", name)
		}
		in.at = append(in.at, at)
	}
	if n.Columns == nil && (len(n.Rows) == 0 || len(n.Rows[0]) > 0) {
		for i := range tbl.columns {
			in.at = append(in.at, i)
		}
	}
	for i, r := range n.Rows {
		if len(r) != len(in.at) {
			return nil, failure(1136, "21S01", "Column count doesn't match value count at row %d", i+1)
		}
	}
	sc := &scope{session: s, slots: tbl.slots(""), clause: "field list", text: c.text, table: tbl}
	in.updates, err = sc.assignments(tbl, n.Update, "duplicate list")
	return in, err
}

// assignments compiles SET or ON DUPLICATE KEY UPDATE; clause is what messages call the list of its columns.
func (sc *scope) assignments(tbl *table, list []syntax.Assignment, clause string) ([]assigning, error) {
	var out []assigning
	for _, a := range list {
		at := tbl.column(a.Column)
		if at < 0 {
			return nil, sc.session.server.kind.errNoColumn(a.Column, clause)
		}
		x, err := sc.compile(a.X)
		if err != nil {
			return nil, err
		}
		out = append(out, assigning{at, x})
	}
	return out, nil
}

// insert executes an INSERT or REPLACE.
func (s *session) insert(t *transaction, n *syntax.Insert, c *command) (*result, error) {
	in, err := s.prepareInsert(n, c)
	if err != nil {
		return nil, err
	}
	in.t = t
	if err := s.use(t, in.table); err != nil {
		return nil, err
	}
	out := &result{}
	add := func(i int, values []datum.Value) error {
		r, err := in.row(values, i+1)
		if err != nil {
			return err
		}
		affected, err := in.one(r, i+1)
		out.affected += affected
		return err
	}
	if n.Query != nil {
		r, err := s.query(t, n.Query, c)
		if err != nil {
			return nil, err
		}
		if len(r.columns) != len(in.at) {
			return nil, failure(1136, "21S01", "Column count doesn't match value count at row 1")
		}
		for i, values := range r.rows {
			if err := add(i, values); err != nil {
				return nil, err
			}
		}
	} else {
		sc := &scope{session: s, clause: "field list", text: c.text}
		for i, list := range n.Rows {
			values, err := in.evaluate(sc, list)
			if err != nil {
				return nil, err
			}
			if err := add(i, values); err != nil {
				return nil, err
			}
		}
	}
	if in.first > 0 {
		s.insertID = in.first
	}
	if out.insertID = in.first; in.first == 0 {
		out.insertID = in.given
	}
	return out, nil
}

// evaluate computes the values of one row; DEFAULT is the column's default.
func (in *inserting) evaluate(sc *scope, list []syntax.Expr) ([]datum.Value, error) {
	values := make([]datum.Value, len(list))
	for i, x := range list {
		switch x := x.(type) {
		case syntax.Literal:
			values[i] = x.Value
		case syntax.Default:
			v, err := in.missing(in.at[i])
			if err != nil {
				return nil, err
			}
			values[i] = v
		default:
			v, err := sc.constant(x, in.args)
			if err != nil {
				return nil, err
			}
			values[i] = v
		}
	}
	return values, nil
}

// missing is the value of a column that is not given.
func (in *inserting) missing(at int) (datum.Value, error) {
	c := &in.table.columns[at]
	switch {
	case c.now:
		return in.session.shown(datum.String(in.session.now(c.kind))), nil
	case c.hasDefault && c.kind.IsTimestamp():
		return in.session.shown(c.value), nil
	case c.hasDefault, c.nullable, c.auto:
		return c.value, nil
	}
	return datum.Value{}, failure(1364, "HY000", "Field '%s' doesn't have a default value", c.name)
}

// met notes the AUTO_INCREMENT value of a row that is updated instead.
func (in *inserting) met(key string) {
	v := in.table.rows.get(key)
	if v == nil || v.seen(in.t) == nil {
		return
	}
	for at, c := range in.table.columns {
		if c.auto {
			in.given = uint64((*v.seen(in.t))[at].AsInt())
		}
	}
}

// row is the new row as the table stores it. number counts the rows of the statement from 1.
func (in *inserting) row(given []datum.Value, number int) (row, error) {
	tbl := in.table
	r := make(row, len(tbl.columns))
	set := make([]bool, len(tbl.columns))
	for i, at := range in.at {
		r[at], set[at] = given[i], true
	}
	for at := range tbl.columns {
		c := &tbl.columns[at]
		if !set[at] {
			v, err := in.missing(at)
			if err != nil {
				return nil, err
			}
			r[at] = v
		}
		if c.auto && (r[at].IsNull() || in.zeroMakes && r[at].IsNumber() && r[at].AsInt() == 0) {
			r[at] = datum.Uint64(in.count())
			in.made = true
		} else if c.auto {
			in.given = uint64(r[at].AsInt())
			in.made = false
		}
		stored, err := in.session.store(tbl, c, r[at], number)
		if err != nil {
			return nil, err
		}
		r[at] = stored
		if c.auto {
			tbl.nextAuto = max(tbl.nextAuto, uint64(stored.AsInt())+1)
		}
	}
	return r, nil
}

// count makes the next AUTO_INCREMENT value. They are reserved in runs: one for each row of the statement, or where
// their number is not known 1, 2, 4 and so on.
func (in *inserting) count() uint64 {
	tbl := in.table
	if in.next == in.end {
		in.next = tbl.nextAuto
		in.reserved = max(2*in.reserved, uint64(len(in.insert.Rows)), 1)
		in.end = in.next + in.reserved
		tbl.nextAuto = in.end
	}
	n := in.next
	in.next++
	if in.first == 0 {
		in.first = n
	}
	return n
}

// unused gives the value of a row back that was not inserted, for the next one.
func (in *inserting) unused() {
	if in.made {
		in.next--
		if in.first == in.next {
			in.first = 0
		}
	}
}

// store is what column c keeps of v.
func (s *session) store(tbl *table, c *column, v datum.Value, number int) (datum.Value, error) {
	if v.IsNull() {
		if !c.nullable {
			return v, failure(1048, "23000", "Column '%s' cannot be null", c.name)
		}
		return v, nil
	}
	stored, problem := c.kind.Store(s.incoming(c.kind, v), s.server.kind.storing(s.variables["sql_mode"]))
	if problem == nil {
		return stored, nil
	}
	name := c.name
	switch {
	case problem.Number == 3140:
		name = tbl.name + "." + c.name
	case problem.Number == 4025:
		return v, failure(4025, "23000", "CONSTRAINT `%s.%s` failed for `%s`.`%s`", tbl.name, c.name, tbl.database, tbl.name)
	}
	state := map[uint16]string{1264: "22003", 1406: "22001", 1292: "22007", 1265: "01000", 3140: "22032", 3144: "22032", 1366: "HY000"}[problem.Number]
	if s.server.kind.mariadb && (problem.Number == 1366 || problem.Number == 1292) {
		// MariaDB quotes these columns with their tables.
		text := problem.In("\x00", number)
		text = strings.ReplaceAll(text, "'\x00'", "`"+tbl.database+"`.`"+tbl.name+"`.`"+c.name+"`")
		if problem.Number == 1366 {
			state = "22007"
		}
		return v, failure(problem.Number, state, "%s", text)
	}
	return v, failure(problem.Number, state, "%s", problem.In(name, number))
}

// incoming is v as it is stored: a TIMESTAMP comes in the session's time zone.
func (s *session) incoming(kind *datum.Type, v datum.Value) datum.Value {
	if !kind.IsTimestamp() || v.IsNull() || v.IsNumber() {
		return v
	}
	by, _ := offset(s.variables["time_zone"])
	if by == 0 {
		return v
	}
	return datum.String(datum.Shift(v.Text(), -by))
}

// one inserts one row, and gives the number of rows that the server counts for it.
func (in *inserting) one(r row, number int) (int64, error) {
	mode := shared
	if in.insert.Replace || len(in.updates) > 0 {
		mode = exclusive
	}
	counted := int64(1)
	key := in.table.rowKey(r)
	for {
		at, err := in.session.conflict(in.t, in.table, key, r, mode, nil)
		if err != nil {
			return 0, err
		}
		if at == nil {
			if err := in.session.lockNew(in.t, in.table, key, r); err != nil {
				return 0, err
			}
			// The wait for a lock may have let somebody else in.
			if at, err = in.session.conflict(in.t, in.table, key, r, mode, nil); err != nil {
				return 0, err
			}
		}
		switch {
		case at == nil:
			in.session.place(in.t, in.table, key, r)
			return counted, nil
		case in.insert.Ignore:
			in.unused()
			in.t.changes = append(in.t.changes, met{})
			in.session.warnings++
			return 0, nil
		case len(in.updates) > 0:
			in.unused()
			changed, err := in.session.change(in.t, in.table, at.key, in.updates, &frame{session: in.session, args: in.args, given: r}, number, 2)
			in.given = 0
			if err == nil && changed > 0 {
				in.met(at.key)
			}
			return changed, err
		case in.insert.Replace:
			// The row that stands in the way goes; there may be another one.
			if err := in.session.remove(in.t, in.table, at.key); err != nil {
				return 0, err
			}
			counted++
		default:
			return 0, at.duplicate(in.session.server.kind, in.table, r)
		}
	}
}
