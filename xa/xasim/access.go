package xasim

import (
	"strings"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

// span is a part of the primary key's order: from low to below high.
type span struct{ low, high string }

// access is how a statement finds rows: by spans of the primary key, by keys of another unique key, or all.
type access struct {
	whole  bool
	point  bool // spans are whole keys
	spans  []span
	unique *index
	keys   []string
}

// accessFor is the way to the rows that where can hold for. As on a real server it decides which locks are met: rows
// that are not looked at are not waited for.
func (sc *scope) accessFor(t *table, where syntax.Expr, args []datum.Value) access {
	if l, ok := where.(syntax.Literal); ok && l.Value == datum.Bool(false) {
		return access{} // an impossible WHERE: the table is not looked at
	}
	p := &planner{sc: sc, table: t, args: args}
	if len(t.primary.at) > 0 {
		if spans, ok := p.spans(where); ok {
			return access{spans: spans, point: !p.wide}
		}
	}
	for _, i := range t.unique {
		if keys, ok := p.exact(i, where); ok {
			return access{unique: i, keys: keys}
		}
	}
	return access{whole: true}
}

// planner reads conditions on keys out of a WHERE.
type planner struct {
	sc    *scope
	table *table
	args  []datum.Value
	wide  bool // a span is no whole key
}

// bounds is what a condition says of one column. Expressions are constants.
type bounds struct {
	equal     []syntax.Expr // one of these
	low, high syntax.Expr   // nil: none; both inclusive, which may be too wide by one
}

// spans are those of the primary key, if where says enough of its first columns.
func (p *planner) spans(where syntax.Expr) ([]span, bool) {
	if b, ok := where.(syntax.Binary); ok && b.Op == "OR" {
		left, ok1 := p.spans(b.L)
		right, ok2 := p.spans(b.R)
		return append(left, right...), ok1 && ok2
	}
	conditions := map[int]bounds{}
	p.collect(where, conditions)
	prefixes := []string{""}
	for n, at := range p.table.primary.at {
		b, known := conditions[at]
		switch {
		case known && len(b.equal) > 0:
			var next []string
			for _, prefix := range prefixes {
				for _, x := range b.equal {
					key, ok := p.append(prefix, at, x)
					if ok {
						next = append(next, key)
					}
				}
			}
			prefixes = next
			continue
		case known:
			p.wide = true
			return p.ranges(prefixes, at, b), true
		case n == 0:
			return nil, false
		}
		p.wide = true
		return p.whole(prefixes), true
	}
	return p.whole(prefixes), true
}

// whole are the spans of all keys that begin with one of prefixes.
func (p *planner) whole(prefixes []string) []span {
	list := make([]span, len(prefixes))
	for i, prefix := range prefixes {
		list[i] = span{prefix, above(prefix)}
	}
	return list
}

func (p *planner) ranges(prefixes []string, at int, b bounds) []span {
	var list []span
	for _, prefix := range prefixes {
		s := span{prefix, above(prefix)}
		if b.low != nil {
			if key, ok := p.append(prefix, at, b.low); ok {
				s.low = key
			}
		}
		if b.high != nil {
			if key, ok := p.append(prefix, at, b.high); ok {
				s.high = above(key)
			}
		}
		list = append(list, s)
	}
	return list
}

// above is the first key behind all that begin with prefix; "" if there is no bound.
func above(prefix string) string {
	b := []byte(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return string(b[:i+1])
		}
	}
	return ""
}

// append adds the constant x, as column at stores it. ok is false where the column can hold no such value.
func (p *planner) append(key string, at int, x syntax.Expr) (string, bool) {
	v, err := p.sc.constant(x, p.args)
	if err != nil || v.IsNull() {
		return "", false
	}
	kind := p.table.columns[at].kind
	stored, problem := kind.Store(p.sc.session.incoming(kind, v), p.sc.session.server.kind.storing(""))
	if problem != nil || kind.Integer() && datum.Compare(stored, v, true) != 0 {
		return "", false
	}
	return string(kind.AppendKey([]byte(key), stored)), true
}

// exact are the keys of i that where asks for, if it names all its columns.
func (p *planner) exact(i *index, where syntax.Expr) ([]string, bool) {
	if where == nil {
		return nil, false
	}
	conditions := map[int]bounds{}
	p.collect(where, conditions)
	keys := []string{""}
	for _, at := range i.at {
		b := conditions[at]
		if len(b.equal) == 0 {
			return nil, false
		}
		var next []string
		for _, key := range keys {
			for _, x := range b.equal {
				if longer, ok := p.append(key, at, x); ok {
					next = append(next, longer)
				}
			}
		}
		keys = next
	}
	return keys, true
}

// collect notes what the parts of an AND say of columns.
func (p *planner) collect(x syntax.Expr, into map[int]bounds) {
	switch x := x.(type) {
	case syntax.Binary:
		switch x.Op {
		case "AND":
			p.collect(x.L, into)
			p.collect(x.R, into)
			return
		case "=":
			if at, constant, ok := p.sides(x.L, x.R); ok && p.usable(at, constant) {
				p.note(into, at, bounds{equal: []syntax.Expr{constant}})
			}
		case "<", "<=", ">", ">=":
			at, constant, ok := p.sides(x.L, x.R)
			if !ok || !p.usable(at, constant) {
				return
			}
			_, columnFirst := x.L.(syntax.Column)
			if (x.Op[0] == '>') == columnFirst {
				p.note(into, at, bounds{low: constant})
			} else {
				p.note(into, at, bounds{high: constant})
			}
		}
	case syntax.Between:
		if at, ok := p.columnOf(x.X); ok && !x.Not && p.usable(at, x.Low, x.High) {
			p.note(into, at, bounds{low: x.Low, high: x.High})
		}
	case syntax.In:
		if at, ok := p.columnOf(x.X); ok && !x.Not && p.usable(at, x.List...) {
			p.note(into, at, bounds{equal: x.List})
		}
	}
}

func (p *planner) note(into map[int]bounds, at int, b bounds) {
	have, known := into[at]
	switch {
	case !known:
		into[at] = b
	case len(have.equal) > 0:
	case len(b.equal) > 0:
		into[at] = b
	default:
		if b.low != nil {
			have.low = b.low
		}
		if b.high != nil {
			have.high = b.high
		}
		into[at] = have
	}
}

// sides tells which of two is a column of the table and which a constant.
func (p *planner) sides(a, b syntax.Expr) (at int, constant syntax.Expr, ok bool) {
	if at, ok = p.columnOf(a); ok && isConstant(b) {
		return at, b, true
	}
	if at, ok = p.columnOf(b); ok && isConstant(a) {
		return at, a, true
	}
	return 0, nil, false
}

func (p *planner) columnOf(x syntax.Expr) (int, bool) {
	c, ok := x.(syntax.Column)
	if !ok || c.Table != "" && !strings.EqualFold(c.Table, p.table.name) && !p.aliased(c.Table) {
		return 0, false
	}
	at := p.table.column(c.Name)
	return at, at >= 0
}

func (p *planner) aliased(name string) bool {
	return len(p.sc.slots) > 0 && strings.EqualFold(p.sc.slots[0].table, name)
}

// usable tells whether a column can be compared with constants by its key: not where the server would convert the
// column instead.
func (p *planner) usable(at int, list ...syntax.Expr) bool {
	kind := p.table.columns[at].kind
	for _, x := range list {
		if !isConstant(x) {
			return false
		}
		v, err := p.sc.constant(x, p.args)
		if err != nil || kind.Textual() && v.IsNumber() {
			return false
		}
		if !kind.Textual() && !kind.Temporal() && !v.IsNumber() {
			if _, problem := kind.Store(v, datum.Options{}); problem != nil {
				return false
			}
		}
	}
	return true
}

func isConstant(x syntax.Expr) bool {
	switch x.(type) {
	case syntax.Literal, syntax.Argument:
		return true
	}
	return false
}
