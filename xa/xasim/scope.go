package xasim

import (
	"strings"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

// slot is a column that an expression can name, with its place in the frame.
type slot struct {
	database, table, name string
	kind                  *datum.Type // a column's type, nil for anything else
}

// frame is what an expression is evaluated on.
type frame struct {
	session *session
	args    []datum.Value
	values  []datum.Value // one a slot
	given   []datum.Value // the row that an INSERT gives, for VALUES(column); by column of the table
	totals  []datum.Value // one an aggregate
}

// value evaluates a compiled expression.
type value func(*frame) (datum.Value, error)

// scope compiles expressions: names become places in a frame, and everything that a real server refuses without
// reading a row is refused.
type scope struct {
	session *session
	slots   []slot
	clause  string // for messages: field list, where clause, …
	text    string // of the statement, for messages
	table   *table // whose columns VALUES() names; nil where VALUES is not known
	// totals collects aggregates; nil where there can be none.
	totals *[]aggregate
}

// compiled is an expression and what is known of its values.
type compiled struct {
	eval value
	kind *datum.Type // of the column that it is, nil if it is none
}

// resolve is the place of a column.
func (sc *scope) resolve(c syntax.Column) (int, error) {
	found := -1
	for i := range sc.slots {
		s := &sc.slots[i]
		if !strings.EqualFold(s.name, c.Name) || c.Table != "" && !strings.EqualFold(s.table, c.Table) ||
			c.Database != "" && !strings.EqualFold(s.database, c.Database) {
			continue
		}
		if found >= 0 {
			return 0, failure(1052, "23000", "Column '%s' in %s is ambiguous", c.Name, sc.session.server.kind.clause(sc.clause))
		}
		found = i
	}
	if found < 0 {
		name := c.Name
		if c.Table != "" {
			name = c.Table + "." + name
		}
		return 0, sc.session.server.kind.errNoColumn(name, sc.clause)
	}
	return found, nil
}

func (sc *scope) compile(x syntax.Expr) (compiled, error) {
	switch x := x.(type) {
	case syntax.Literal:
		v := x.Value
		return compiled{eval: func(*frame) (datum.Value, error) { return v, nil }}, nil
	case syntax.Argument:
		n := x.N
		return compiled{eval: func(f *frame) (datum.Value, error) {
			if n >= len(f.args) {
				return datum.Value{}, failure(1210, "HY000", "Incorrect arguments to EXECUTE")
			}
			return f.args[n], nil
		}}, nil
	case syntax.Column:
		return sc.column(x)
	case syntax.Variable:
		if _, err := sc.session.read(x.Scope, x.Name); err != nil {
			return compiled{}, err
		}
		return compiled{eval: func(f *frame) (datum.Value, error) { return f.session.read(x.Scope, x.Name) }}, nil
	case syntax.Unary:
		return sc.unary(x)
	case syntax.Binary:
		return sc.binary(x)
	case syntax.In:
		return sc.in(x)
	case syntax.Between:
		return sc.between(x)
	case syntax.IsNull:
		inner, err := sc.compile(x.X)
		return compiled{eval: func(f *frame) (datum.Value, error) {
			v, err := inner.eval(f)
			return datum.Bool(v.IsNull() != x.Not), err
		}}, err
	case syntax.Cast:
		return sc.cast(x)
	case syntax.Call:
		return sc.call(x)
	}
	return compiled{}, unsupported("DEFAULT in an expression", sc.text)
}

// all compiles several expressions.
func (sc *scope) all(list []syntax.Expr) ([]compiled, error) {
	out := make([]compiled, len(list))
	for i, x := range list {
		var err error
		if out[i], err = sc.compile(x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (sc *scope) column(x syntax.Column) (compiled, error) {
	at, err := sc.resolve(x)
	if err != nil {
		return compiled{}, err
	}
	s := &sc.slots[at]
	if s.kind != nil && s.kind.IsTimestamp() {
		return compiled{kind: s.kind, eval: func(f *frame) (datum.Value, error) {
			return f.session.shown(f.values[at]), nil
		}}, nil
	}
	return compiled{kind: s.kind, eval: func(f *frame) (datum.Value, error) { return f.values[at], nil }}, nil
}

// shown is a stored TIMESTAMP in the session's time zone.
func (s *session) shown(v datum.Value) datum.Value {
	by, _ := offset(s.variables["time_zone"])
	if by == 0 || v.IsNull() {
		return v
	}
	return datum.String(datum.Shift(v.Text(), by))
}

func (sc *scope) unary(x syntax.Unary) (compiled, error) {
	inner, err := sc.compile(x.X)
	if err != nil {
		return compiled{}, err
	}
	return compiled{eval: func(f *frame) (datum.Value, error) {
		v, err := inner.eval(f)
		if err != nil || v.IsNull() {
			return datum.Value{}, err
		}
		if x.Op == "NOT" {
			return datum.Bool(!v.True()), nil
		}
		v, err = datum.Neg(v)
		return v, sc.rangeError(err)
	}}, nil
}

func (sc *scope) rangeError(err error) error {
	if err == nil {
		return nil
	}
	return failure(1690, "22003", "BIGINT value is out of range in '%s'", sc.clause)
}

func (sc *scope) binary(x syntax.Binary) (compiled, error) {
	left, err := sc.compile(x.L)
	if err != nil {
		return compiled{}, err
	}
	right, err := sc.compile(x.R)
	if err != nil {
		return compiled{}, err
	}
	both := func(f *frame) (l, r datum.Value, err error) {
		if l, err = left.eval(f); err == nil {
			r, err = right.eval(f)
		}
		return l, r, err
	}
	switch x.Op {
	case "AND", "OR", "XOR":
		return compiled{eval: logic(x.Op, left.eval, right.eval)}, nil
	case "+", "-", "*", "/", "%":
		return compiled{eval: func(f *frame) (datum.Value, error) {
			l, r, err := both(f)
			if err != nil {
				return datum.Value{}, err
			}
			v, err := datum.Arith(x.Op[0], l, r)
			return v, sc.rangeError(err)
		}}, nil
	case "LIKE":
		return compiled{eval: func(f *frame) (datum.Value, error) {
			l, r, err := both(f)
			if err != nil || l.IsNull() || r.IsNull() {
				return datum.Value{}, err
			}
			return datum.Bool(like(datum.Fold(l.Text()), datum.Fold(r.Text()))), nil
		}}, nil
	}
	compare := comparer(left, right)
	return compiled{eval: func(f *frame) (datum.Value, error) {
		l, r, err := both(f)
		if err != nil {
			return datum.Value{}, err
		}
		if x.Op == "<=>" {
			return datum.Bool(l.IsNull() && r.IsNull() || !l.IsNull() && !r.IsNull() && compare(l, r) == 0), nil
		}
		if l.IsNull() || r.IsNull() {
			return datum.Value{}, nil
		}
		return datum.Bool(holds(x.Op, compare(l, r))), nil
	}}, nil
}

func holds(op string, order int) bool {
	switch op {
	case "=":
		return order == 0
	case "<>":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default:
		return order >= 0
	}
}

// comparer orders values of a and b as the type of the column does that one of them is. Values are not NULL.
func comparer(a, b compiled) func(l, r datum.Value) int {
	kind := a.kind
	if kind == nil {
		kind = b.kind
	}
	fold := kind == nil || kind.IgnoresCase()
	return func(l, r datum.Value) int {
		if kind != nil {
			l, r = asColumn(kind, l), asColumn(kind, r)
		}
		return datum.Compare(l, r, fold)
	}
}

// asColumn is v in the notation of a column that it is compared with.
func asColumn(kind *datum.Type, v datum.Value) datum.Value {
	switch {
	case kind.Temporal() && !v.IsNumber():
		if stored, problem := kind.Store(v, datum.Options{}); problem == nil {
			return stored
		}
	case kind.Textual() && kind.Pads() && !v.IsNumber():
		return datum.String(strings.TrimRight(v.Text(), " "))
	}
	return v
}

// logic is AND, OR and XOR with NULL as unknown.
func logic(op string, left, right value) value {
	return func(f *frame) (datum.Value, error) {
		l, err := left(f)
		if err != nil {
			return datum.Value{}, err
		}
		decided := op == "AND" && !l.IsNull() && !l.True() || op == "OR" && l.True()
		if decided {
			return datum.Bool(op == "OR"), nil
		}
		r, err := right(f)
		if err != nil {
			return datum.Value{}, err
		}
		switch {
		case op == "AND" && !r.IsNull() && !r.True(), op == "OR" && r.True():
			return datum.Bool(op == "OR"), nil
		case l.IsNull() || r.IsNull():
			return datum.Value{}, nil
		case op == "XOR":
			return datum.Bool(l.True() != r.True()), nil
		}
		return datum.Bool(op == "AND"), nil
	}
}

func (sc *scope) in(x syntax.In) (compiled, error) {
	left, err := sc.compile(x.X)
	if err != nil {
		return compiled{}, err
	}
	list, err := sc.all(x.List)
	if err != nil {
		return compiled{}, err
	}
	return compiled{eval: func(f *frame) (datum.Value, error) {
		v, err := left.eval(f)
		if err != nil || v.IsNull() {
			return datum.Value{}, err
		}
		unknown := false
		for _, c := range list {
			o, err := c.eval(f)
			if err != nil {
				return datum.Value{}, err
			}
			if o.IsNull() {
				unknown = true
				continue
			}
			if comparer(left, c)(v, o) == 0 {
				return datum.Bool(!x.Not), nil
			}
		}
		if unknown {
			return datum.Value{}, nil
		}
		return datum.Bool(x.Not), nil
	}}, nil
}

func (sc *scope) between(x syntax.Between) (compiled, error) {
	both := syntax.Binary{Op: "AND", L: syntax.Binary{Op: ">=", L: x.X, R: x.Low}, R: syntax.Binary{Op: "<=", L: x.X, R: x.High}}
	if x.Not {
		return sc.compile(syntax.Unary{Op: "NOT", X: both})
	}
	return sc.compile(both)
}

// like matches text with a pattern of LIKE.
func like(text, pattern string) bool {
	for pattern != "" {
		switch c := pattern[0]; {
		case c == '%':
			for i := 0; i <= len(text); i++ {
				if like(text[i:], pattern[1:]) {
					return true
				}
			}
			return false
		case text == "":
			return false
		case c == '_':
		case c == '\\' && len(pattern) > 1:
			pattern = pattern[1:]
			if text[0] != pattern[0] {
				return false
			}
		case text[0] != c:
			return false
		}
		text, pattern = text[1:], pattern[1:]
	}
	return text == ""
}
