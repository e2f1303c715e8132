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
	table *table // nil for what is made anew for each statement
}

// query executes a SELECT. t is the transaction in which it reads and locks.
func (s *session) query(t *transaction, q *syntax.Select, c *command) (*result, error) {
	sources, err := s.sources(t, q, c)
	if err != nil {
		return nil, err
	}
	p, err := s.planFor(q, sources, c)
	if err != nil {
		return nil, err
	}
	f := &frame{session: s, args: c.args}
	found, err := join(f, q, sources, p)
	if err != nil {
		return nil, err
	}
	frames := make([]frame, 0, len(found))
	if len(p.totals) > 0 || len(p.group) > 0 {
		if frames, err = s.grouped(f, found, p.group, p.totals, p.width); err != nil {
			return nil, err
		}
	} else {
		for _, values := range found {
			frames = append(frames, frame{session: s, args: c.args, values: values})
		}
	}
	out, err := project(frames, p.fields, p.order)
	if err != nil {
		return nil, err
	}
	if q.Distinct {
		out = distinct(out)
	}
	if out, err = s.cut(q, out, c); err != nil {
		return nil, err
	}
	return &result{columns: p.columns, rows: out}, nil
}

// plan is a query whose names are places in a frame. It is never changed, and knows nothing of one session.
type plan struct {
	fields  []field
	columns []string // names of the fields
	on      []value  // one a source, nil where there is none
	where   value    // nil: none
	order   []orderBy
	group   []compiled
	totals  []aggregate
	width   int // slots of all sources
}

// planFor compiles q. A query without tables of users has the same plan on every server of a kind.
func (s *session) planFor(q *syntax.Select, sources []source, c *command) (*plan, error) {
	lasting := !slices.ContainsFunc(sources, func(src source) bool { return src.table != nil })
	if lasting {
		if known, ok := q.Plans.Load(s.server.kind); ok {
			return known.(*plan), nil
		}
	}
	p, err := s.compileQuery(q, sources, c)
	if err == nil && lasting {
		q.Plans.Store(s.server.kind, p)
	}
	return p, err
}

func (s *session) compileQuery(q *syntax.Select, sources []source, c *command) (*plan, error) {
	p := &plan{}
	sc := &scope{session: s, text: c.text}
	for i, src := range sources {
		if len(sc.slots) == 0 {
			sc.slots = slices.Clip(src.slots)
		} else {
			sc.slots = append(sc.slots, src.slots...)
		}
		var on value
		if x := q.From[i].On; x != nil {
			sc.clause = "on clause"
			compiled, err := sc.compile(x)
			if err != nil {
				return nil, err
			}
			on = compiled.eval
		}
		p.on = append(p.on, on)
	}
	sc.clause, sc.totals = "field list", &p.totals
	p.width = len(sc.slots)
	var err error
	if p.fields, p.columns, err = s.fields(q, sc); err != nil {
		return nil, err
	}
	if p.order, err = s.order(q, sc, p.fields); err != nil {
		return nil, err
	}
	sc.totals = nil
	if p.where, err = sc.where(q.Where); err != nil {
		return nil, err
	}
	sc.clause = "group statement"
	p.group, err = sc.all(q.Group)
	return p, err
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

// sources reads FROM into rows.
func (s *session) sources(t *transaction, q *syntax.Select, c *command) ([]source, error) {
	if len(q.From) == 0 {
		return nil, nil
	}
	list := make([]source, len(q.From))
	for i, from := range q.From {
		var err error
		if list[i], err = s.source(t, q, from, c); err != nil {
			return nil, err
		}
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
		virtual.slots = slices.Clone(virtual.slots)
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
	src := source{slots: tbl.slots(from.As), table: tbl}
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

// slots are tbl's columns, under the name that the statement gives it. They are not to be changed.
func (t *table) slots(as string) []slot {
	if as == "" && t.named != nil {
		return t.named
	}
	list := make([]slot, len(t.columns))
	for i := range t.columns {
		c := &t.columns[i]
		list[i] = slot{database: t.database, table: or(as, t.name), name: c.name, kind: c.kind}
	}
	if as == "" {
		t.named = list
	}
	return list
}

// join combines the rows of all sources, and keeps those that where holds for.
func join(f *frame, q *syntax.Select, sources []source, p *plan) ([][]datum.Value, error) {
	found := [][]datum.Value{nil}
	for i, src := range sources {
		var next [][]datum.Value
		for _, left := range found {
			matched := false
			for _, right := range src.rows {
				both := right
				if len(left) > 0 {
					both = slices.Concat(left, right)
				}
				ok, err := holdsFor(f, both, p.on[i])
				if err != nil {
					return nil, err
				}
				if ok {
					next, matched = append(next, both), true
				}
			}
			if q.From[i].Left && !matched {
				next = append(next, slices.Concat(left, make([]datum.Value, len(src.slots))))
			}
		}
		found = next
	}
	kept := found[:0]
	for _, values := range found {
		ok, err := holdsFor(f, values, p.where)
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
