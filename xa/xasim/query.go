package xasim

import (
	"slices"
	"strings"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

// source is one part of FROM with its rows.
type source struct {
	slots []slot
	rows  [][]datum.Value
	on    value
	left  bool
}

// query executes a SELECT. t is the transaction in which it reads and locks.
func (s *session) query(t *transaction, q *syntax.Select, c *command) (*result, error) {
	sc := &scope{session: s, clause: "field list", text: c.text}
	sources, err := s.sources(t, q, c, sc)
	if err != nil {
		return nil, err
	}
	totals := []aggregate{}
	sc.totals = &totals
	fields, columns, err := s.fields(q, sc)
	if err != nil {
		return nil, err
	}
	order, err := s.order(q, sc, fields)
	if err != nil {
		return nil, err
	}
	sc.totals = nil
	where, err := sc.where(q.Where)
	if err != nil {
		return nil, err
	}
	sc.clause = "group statement"
	group, err := sc.all(q.Group)
	if err != nil {
		return nil, err
	}
	f := &frame{session: s, args: c.args}
	found, err := join(f, sources, where)
	if err != nil {
		return nil, err
	}
	frames := make([]frame, 0, len(found))
	if len(totals) > 0 || len(group) > 0 {
		if frames, err = s.grouped(f, found, group, totals, len(sc.slots)); err != nil {
			return nil, err
		}
	} else {
		for _, values := range found {
			frames = append(frames, frame{session: s, args: c.args, values: values})
		}
	}
	out, err := project(frames, fields, order)
	if err != nil {
		return nil, err
	}
	if q.Distinct {
		out = distinct(out)
	}
	if out, err = s.cut(q, out, c); err != nil {
		return nil, err
	}
	return &result{columns: columns, rows: out}, nil
}

// where compiles a condition; none is always true.
func (sc *scope) where(x syntax.Expr) (value, error) {
	if x == nil {
		return nil, nil
	}
	before := sc.clause
	defer func() { sc.clause = before }()
	sc.clause = "where clause"
	w, err := sc.compile(x)
	return w.eval, err
}

// sources reads FROM into rows, and its columns into sc.
func (s *session) sources(t *transaction, q *syntax.Select, c *command, sc *scope) ([]source, error) {
	var list []source
	for _, from := range q.From {
		src, err := s.source(t, q, from, c)
		if err != nil {
			return nil, err
		}
		sc.slots = append(sc.slots, src.slots...)
		src.left = from.Left
		if from.On != nil {
			sc.clause = "on clause"
			on, err := sc.compile(from.On)
			if err != nil {
				return nil, err
			}
			src.on = on.eval
			sc.clause = "field list"
		}
		list = append(list, src)
	}
	return list, nil
}

func (s *session) source(t *transaction, q *syntax.Select, from syntax.Source, c *command) (source, error) {
	if from.Query != nil {
		r, err := s.query(t, from.Query, c)
		if err != nil {
			return source{}, err
		}
		src := source{rows: r.rows}
		for _, name := range r.columns {
			src.slots = append(src.slots, slot{table: from.As, name: name})
		}
		return src, nil
	}
	if virtual, known, err := s.virtual(from.Table, c); known || err != nil {
		if err != nil {
			return source{}, err
		}
		for i := range virtual.slots {
			virtual.slots[i].table = or(from.As, from.Table.Name)
		}
		return virtual, nil
	}
	tbl, err := s.find(from.Table)
	if err != nil {
		return source{}, err
	}
	if s.lacks(SelectRows) {
		return source{}, s.errDenied("SELECT", tbl)
	}
	if err := s.use(t, tbl); err != nil {
		return source{}, err
	}
	src := source{slots: tbl.slots(from.As)}
	var where syntax.Expr
	if len(q.From) == 1 {
		where = q.Where
	}
	scan, err := s.scan(t, tbl, src.slots, where, c)
	if err != nil {
		return source{}, err
	}
	for {
		v, err := scan.next(q.Lock)
		if err != nil || v == nil {
			return src, err
		}
		src.rows = append(src.rows, *v)
	}
}

// slots are tbl's columns, under the name that the statement gives it.
func (t *table) slots(as string) []slot {
	list := make([]slot, len(t.columns))
	for i, c := range t.columns {
		list[i] = slot{database: t.database, table: or(as, t.name), name: c.name, kind: c.kind, known: true}
	}
	return list
}

// join combines the rows of all sources, and keeps those that where holds for.
func join(f *frame, sources []source, where value) ([][]datum.Value, error) {
	found := [][]datum.Value{nil}
	for _, src := range sources {
		var next [][]datum.Value
		for _, left := range found {
			matched := false
			for _, right := range src.rows {
				both := right
				if len(left) > 0 {
					both = slices.Concat(left, right)
				}
				ok, err := holdsFor(f, both, src.on)
				if err != nil {
					return nil, err
				}
				if ok {
					next, matched = append(next, both), true
				}
			}
			if src.left && !matched {
				next = append(next, slices.Concat(left, make([]datum.Value, len(src.slots))))
			}
		}
		found = next
	}
	kept := found[:0]
	for _, values := range found {
		ok, err := holdsFor(f, values, where)
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, values)
		}
	}
	return kept, nil
}

func holdsFor(f *frame, values []datum.Value, condition value) (bool, error) {
	if condition == nil {
		return true, nil
	}
	f.values = values
	v, err := condition(f)
	return v.True(), err
}

// field is one column of the result.
type field struct {
	compiled
	as string // its alias
}

func (s *session) fields(q *syntax.Select, sc *scope) ([]field, []string, error) {
	var list []field
	var columns []string
	for _, f := range q.Fields {
		if !f.Star {
			x, err := sc.compile(f.X)
			if err != nil {
				return nil, nil, err
			}
			list = append(list, field{x, f.As})
			columns = append(columns, or(f.As, nameOf(f)))
			continue
		}
		n := len(list)
		for _, slot := range sc.slots {
			if f.Table == "" || strings.EqualFold(f.Table, slot.table) {
				x, err := sc.column(syntax.Column{Table: slot.table, Name: slot.name})
				if err != nil {
					return nil, nil, err
				}
				list, columns = append(list, field{x, ""}), append(columns, slot.name)
			}
		}
		if len(list) == n {
			return nil, nil, failure(1051, "42S02", "Unknown table '%s'", f.Table)
		}
	}
	return list, columns, nil
}

// nameOf is the name of a column of the result without an alias: the column's, else the expression as it was written.
func nameOf(f syntax.Field) string {
	if c, ok := f.X.(syntax.Column); ok {
		return c.Name
	}
	return f.Text
}

// orderBy is one part of ORDER BY.
type orderBy struct {
	compiled
	desc bool
}

// order compiles ORDER BY: a number is a column of the result, and so is the name of an alias.
func (s *session) order(q *syntax.Select, sc *scope, fields []field) ([]orderBy, error) {
	sc.clause = "order clause"
	defer func() { sc.clause = "field list" }()
	var list []orderBy
	for _, o := range q.Order {
		x, found := compiled{}, false
		switch by := o.X.(type) {
		case syntax.Literal:
			n := by.Value.AsInt()
			if by.Value.Kind == datum.Int {
				if n < 1 || n > int64(len(fields)) {
					return nil, errNoColumn(by.Value.Text(), "order clause")
				}
				x, found = fields[n-1].compiled, true
			}
		case syntax.Column:
			for _, f := range fields {
				if by.Table == "" && f.as != "" && strings.EqualFold(f.as, by.Name) {
					x, found = f.compiled, true
				}
			}
		}
		if !found {
			var err error
			if x, err = sc.compile(o.X); err != nil {
				return nil, err
			}
		}
		list = append(list, orderBy{x, o.Desc})
	}
	return list, nil
}

// grouped makes one frame a group: the values of its first row, and the aggregates of all.
func (s *session) grouped(f *frame, found [][]datum.Value, group []compiled, totals []aggregate, width int) ([]frame, error) {
	groups := map[string][][]datum.Value{}
	var names []string
	if len(group) == 0 {
		names, groups[""] = []string{""}, found
	}
	for _, values := range found {
		if len(group) == 0 {
			break
		}
		var key []byte
		for _, g := range group {
			f.values = values
			v, err := g.eval(f)
			if err != nil {
				return nil, err
			}
			text := v.Text()
			if !g.col || g.kind.IgnoresCase() {
				text = datum.Fold(text)
			}
			key = append(append(key, byte(v.Kind)), text...)
			key = append(key, 0)
		}
		if _, known := groups[string(key)]; !known {
			names = append(names, string(key))
		}
		groups[string(key)] = append(groups[string(key)], values)
	}
	var frames []frame
	for _, name := range names {
		rows := groups[name]
		g := frame{session: s, args: f.args, totals: make([]datum.Value, len(totals))}
		for i, a := range totals {
			v, err := a.over(&g, rows)
			if err != nil {
				return nil, err
			}
			g.totals[i] = v
		}
		g.values = make([]datum.Value, width)
		if len(rows) > 0 {
			g.values = rows[0]
		}
		frames = append(frames, g)
	}
	return frames, nil
}

// project computes the columns of the result, in order.
func project(frames []frame, fields []field, order []orderBy) ([][]datum.Value, error) {
	type line struct{ out, by []datum.Value }
	lines := make([]line, len(frames))
	for i := range frames {
		f := &frames[i]
		l := line{out: make([]datum.Value, len(fields)), by: make([]datum.Value, len(order))}
		for n, x := range fields {
			v, err := x.eval(f)
			if err != nil {
				return nil, err
			}
			l.out[n] = v
		}
		for n, x := range order {
			v, err := x.eval(f)
			if err != nil {
				return nil, err
			}
			l.by[n] = v
		}
		lines[i] = l
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		for n, o := range order {
			c := compareNulls(a.by[n], b.by[n], !o.col || o.kind.IgnoresCase())
			if o.desc {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	out := make([][]datum.Value, len(lines))
	for i := range lines {
		out[i] = lines[i].out
	}
	return out, nil
}

// compareNulls orders NULL first.
func compareNulls(a, b datum.Value, fold bool) int {
	switch {
	case a.IsNull() && b.IsNull():
		return 0
	case a.IsNull():
		return -1
	case b.IsNull():
		return 1
	}
	return datum.Compare(a, b, fold)
}

func distinct(rows [][]datum.Value) [][]datum.Value {
	var out [][]datum.Value
	for _, r := range rows {
		if !slices.ContainsFunc(out, func(o []datum.Value) bool { return slices.Equal(o, r) }) {
			out = append(out, r)
		}
	}
	return out
}

// cut is LIMIT.
func (s *session) cut(q *syntax.Select, rows [][]datum.Value, c *command) ([][]datum.Value, error) {
	number := func(x syntax.Expr, standard int) (int, error) {
		if x == nil {
			return standard, nil
		}
		sc := &scope{session: s, clause: "limit", text: c.text}
		v, err := sc.constant(x, c.args)
		return int(v.AsInt()), err
	}
	skip, err := number(q.Offset, 0)
	if err != nil {
		return nil, err
	}
	limit, err := number(q.Limit, len(rows))
	if err != nil {
		return nil, err
	}
	skip = min(max(skip, 0), len(rows))
	return rows[skip:min(skip+max(limit, 0), len(rows))], nil
}

// constant evaluates an expression that reads no row.
func (sc *scope) constant(x syntax.Expr, args []datum.Value) (datum.Value, error) {
	v, err := sc.compile(x)
	if err != nil {
		return datum.Value{}, err
	}
	return v.eval(&frame{session: sc.session, args: args})
}
