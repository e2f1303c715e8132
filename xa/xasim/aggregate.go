package xasim

import (
	"slices"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

// aggregate is one function over the rows of a group. of is nil for COUNT(*).
type aggregate struct {
	name string
	of   value
	fold bool
}

var aggregates = []string{"COUNT", "SUM", "MIN", "MAX"}

func isAggregate(name string) bool { return slices.Contains(aggregates, name) || name == "AVG" }

// aggregate compiles a call of one: its value is read from the frame's totals.
func (sc *scope) aggregate(x syntax.Call) (compiled, error) {
	if sc.totals == nil {
		return compiled{}, failure(1111, "HY000", "Invalid use of group function")
	}
	if x.Name == "AVG" || !x.Star && len(x.Args) != 1 || x.Star && x.Name != "COUNT" {
		return compiled{}, unsupported("this use of "+x.Name, sc.text)
	}
	a := aggregate{name: x.Name}
	var out compiled
	if !x.Star {
		inner := *sc
		inner.totals = nil
		arg, err := inner.compile(x.Args[0])
		if err != nil {
			return compiled{}, err
		}
		a.of, a.fold = arg.eval, arg.kind == nil || arg.kind.IgnoresCase()
		if x.Name == "MIN" || x.Name == "MAX" {
			out.kind = arg.kind
		}
	}
	at := len(*sc.totals)
	*sc.totals = append(*sc.totals, a)
	out.eval = func(f *frame) (datum.Value, error) { return f.totals[at], nil }
	return out, nil
}

// over computes a over the frames of one group.
func (a aggregate) over(f *frame, group [][]datum.Value) (datum.Value, error) {
	if a.of == nil {
		return datum.Int64(int64(len(group))), nil
	}
	n := int64(0)
	var total datum.Value
	for _, values := range group {
		f.values = values
		v, err := a.of(f)
		if err != nil {
			return datum.Value{}, err
		}
		if v.IsNull() {
			continue
		}
		n++
		switch {
		case a.name == "SUM":
			if total.IsNull() {
				// A sum of whole numbers is a DECIMAL, too.
				total = datum.Dec("0")
			}
			if total, err = datum.Arith('+', total, v); err != nil {
				return datum.Value{}, err
			}
		case total.IsNull(),
			a.name == "MIN" && datum.Compare(v, total, a.fold) < 0,
			a.name == "MAX" && datum.Compare(v, total, a.fold) > 0:
			total = v
		}
	}
	if a.name == "COUNT" {
		return datum.Int64(n), nil
	}
	return total, nil
}
