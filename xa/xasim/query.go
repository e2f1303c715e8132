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
		if len(sc.slots) == 0 {
			sc.slots = slices.Clip(src.slots)
		} else {
			sc.slots = append(sc.slots, src.slots...)
		}
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
	list := make([]field, 0, len(q.Fields))
	columns := make([]string, 0, len(q.Fields))
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
	switch x := f.X.(type) {
	case syntax.Column:
		return x.Name
	case syntax.Literal:
		if f.Text != "" && (f.Text[0] == '\'' || f.Text[0] == '"') {
			return x.Value.Text()
		}
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
					return nil, s.server.kind.errNoColumn(by.Value.Text(), "order clause")
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
