package xasim

import (
	"slices"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

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
			if g.kind == nil || g.kind.IgnoresCase() {
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
			c := compareNulls(a.by[n], b.by[n], o.kind == nil || o.kind.IgnoresCase())
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
