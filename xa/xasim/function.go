package xasim

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

// function evaluates one call. Arguments are evaluated before.
type function struct {
	least, most int // number of arguments; most -1: any
	strict      bool
	call        func(f *frame, args []datum.Value) (datum.Value, error)
}

// functions are those that the simulated server has, by name. A strict one gives NULL as soon as an argument is NULL.
var functions map[string]function

func init() {
	functions = map[string]function{
		"CONNECTION_ID":     {call: func(f *frame, _ []datum.Value) (datum.Value, error) { return datum.Uint64(f.session.id), nil }},
		"VERSION":           {call: text(func(s *session) string { return s.server.globals["version"] })},
		"CURRENT_USER":      {call: text(func(s *session) string { return s.account.User + "@%" })},
		"USER":              {call: text(func(s *session) string { return s.account.User + "@localhost" })},
		"DATABASE":          {call: currentDatabase},
		"SCHEMA":            {call: currentDatabase},
		"LAST_INSERT_ID":    {call: func(f *frame, _ []datum.Value) (datum.Value, error) { return datum.Uint64(f.session.insertID), nil }},
		"UTC_TIMESTAMP":     {most: 1, call: clock(false)},
		"NOW":               {most: 1, call: clock(true)},
		"CURRENT_TIMESTAMP": {most: 1, call: clock(true)},
		"LOCALTIMESTAMP":    {most: 1, call: clock(true)},
		"SYSDATE":           {most: 1, call: clock(true)},
		"UNIX_TIMESTAMP":    {most: 1, strict: true, call: unixTimestamp},
		"DATE_FORMAT":       {least: 2, most: 2, strict: true, call: dateFormat},
		"COALESCE":          {least: 1, most: -1, call: coalesce},
		"IFNULL":            {least: 2, most: 2, call: coalesce},
		"GREATEST":          {least: 2, most: -1, strict: true, call: extreme(1)},
		"LEAST":             {least: 2, most: -1, strict: true, call: extreme(-1)},
		"IF":                {least: 3, most: 3, call: choose},
		"ABS":               {least: 1, most: 1, strict: true, call: absolute},
		"CONCAT":            {least: 1, most: -1, strict: true, call: concat},
		"HEX":               {least: 1, most: 1, strict: true, call: toHex},
		"LOWER":             {least: 1, most: 1, strict: true, call: mapText(strings.ToLower)},
		"UPPER":             {least: 1, most: 1, strict: true, call: mapText(strings.ToUpper)},
		"LENGTH":            {least: 1, most: 1, strict: true, call: length},
		"SLEEP":             {least: 1, most: 1, call: sleep},
		"GET_LOCK":          {least: 2, most: 2, strict: true, call: getLock},
		"RELEASE_LOCK":      {least: 1, most: 1, strict: true, call: releaseLock},
		"IS_USED_LOCK":      {least: 1, most: 1, strict: true, call: isUsedLock},
		"IS_FREE_LOCK":      {least: 1, most: 1, strict: true, call: isFreeLock},
		"RELEASE_ALL_LOCKS": {call: releaseAllLocks},
	}
}

// call compiles a function, or an aggregate where one is allowed.
func (sc *scope) call(x syntax.Call) (compiled, error) {
	if x.Name == "VALUES" || x.Name == "VALUE" {
		return sc.given(x)
	}
	if isAggregate(x.Name) {
		return sc.aggregate(x)
	}
	fn, known := functions[x.Name]
	if !known {
		return compiled{}, unsupported("the function "+x.Name, sc.text)
	}
	if len(x.Args) < fn.least || fn.most >= 0 && len(x.Args) > max(fn.most, fn.least) {
		return compiled{}, failure(1582, "42000", "Incorrect parameter count in the call to native function '%s'", x.Name)
	}
	args, err := sc.all(x.Args)
	if err != nil {
		return compiled{}, err
	}
	return compiled{eval: func(f *frame) (datum.Value, error) {
		values := make([]datum.Value, len(args))
		for i, a := range args {
			v, err := a.eval(f)
			if err != nil || fn.strict && v.IsNull() {
				return datum.Value{}, err
			}
			values[i] = v
		}
		return fn.call(f, values)
	}}, nil
}

// given is VALUES(column) behind ON DUPLICATE KEY UPDATE.
func (sc *scope) given(x syntax.Call) (compiled, error) {
	if sc.table == nil || len(x.Args) != 1 {
		return compiled{}, unsupported("VALUES() outside of ON DUPLICATE KEY UPDATE", sc.text)
	}
	c, ok := x.Args[0].(syntax.Column)
	if !ok {
		return compiled{}, unsupported("VALUES() of anything but a column", sc.text)
	}
	at := sc.table.column(c.Name)
	if at < 0 {
		return compiled{}, sc.session.server.kind.errNoColumn(c.Name, "field list")
	}
	kind := sc.table.columns[at].kind
	return compiled{kind: kind, eval: func(f *frame) (datum.Value, error) {
		if kind.IsTimestamp() {
			return f.session.shown(f.given[at]), nil
		}
		return f.given[at], nil
	}}, nil
}

func (sc *scope) cast(x syntax.Cast) (compiled, error) {
	inner, err := sc.compile(x.X)
	if err != nil {
		return compiled{}, err
	}
	var to func(datum.Value) datum.Value
	switch x.Type {
	case "CHAR", "NCHAR":
		to = func(v datum.Value) datum.Value { return datum.String(v.Text()) }
	case "BINARY":
		to = func(v datum.Value) datum.Value { return datum.Binary(v.Text()) }
	case "SIGNED":
		to = func(v datum.Value) datum.Value { return datum.Int64(v.AsInt()) }
	case "UNSIGNED":
		to = func(v datum.Value) datum.Value { return datum.Uint64(uint64(v.AsInt())) }
	default:
		return compiled{}, unsupported("CAST to "+x.Type, sc.text)
	}
	return compiled{eval: func(f *frame) (datum.Value, error) {
		v, err := inner.eval(f)
		if err != nil || v.IsNull() {
			return datum.Value{}, err
		}
		return to(v), nil
	}}, nil
}

func text(of func(*session) string) func(*frame, []datum.Value) (datum.Value, error) {
	return func(f *frame, _ []datum.Value) (datum.Value, error) { return datum.String(of(f.session)), nil }
}

func mapText(of func(string) string) func(*frame, []datum.Value) (datum.Value, error) {
	return func(_ *frame, args []datum.Value) (datum.Value, error) { return datum.String(of(args[0].Text())), nil }
}

func currentDatabase(f *frame, _ []datum.Value) (datum.Value, error) {
	if f.session.database == "" {
		return datum.Value{}, nil
	}
	return datum.String(f.session.database), nil
}

// now is the time in UTC as a column of type t has it.
func (s *session) now(t *datum.Type) string { return datum.FormatTime(time.Now().UTC(), t.Fraction) }

func clock(local bool) func(*frame, []datum.Value) (datum.Value, error) {
	return func(f *frame, args []datum.Value) (datum.Value, error) {
		at, digits := time.Now().UTC(), 0
		if len(args) > 0 {
			digits = int(args[0].AsInt())
		}
		if local {
			by, _ := offset(f.session.variables["time_zone"])
			at = at.Add(by)
		}
		return datum.String(datum.FormatTime(at, min(max(digits, 0), 6))), nil
	}
}

func unixTimestamp(f *frame, args []datum.Value) (datum.Value, error) {
	if len(args) == 0 {
		return datum.Int64(time.Now().Unix()), nil
	}
	at, ok := datum.ParseTime(args[0].Text())
	if !ok {
		return datum.Value{}, nil
	}
	by, _ := offset(f.session.variables["time_zone"])
	return datum.Int64(at.Add(-by).Unix()), nil
}

func dateFormat(_ *frame, args []datum.Value) (datum.Value, error) {
	at, ok := datum.ParseTime(args[0].Text())
	if !ok {
		return datum.Value{}, nil
	}
	var b strings.Builder
	format := args[1].Text()
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		layout, known := map[byte]string{
			'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'i': "04", 's': "05", 'S': "05", 'T': "15:04:05",
		}[format[i]]
		switch {
		case known:
			b.WriteString(at.Format(layout))
		case format[i] == 'f':
			fmt.Fprintf(&b, "%06d", at.Nanosecond()/1000)
		default:
			return datum.Value{}, unsupported("%"+string(format[i])+" in DATE_FORMAT", format)
		}
	}
	return datum.String(b.String()), nil
}

func coalesce(_ *frame, args []datum.Value) (datum.Value, error) {
	for _, v := range args {
		if !v.IsNull() {
			return v, nil
		}
	}
	return datum.Value{}, nil
}

func extreme(sign int) func(*frame, []datum.Value) (datum.Value, error) {
	return func(_ *frame, args []datum.Value) (datum.Value, error) {
		best := args[0]
		for _, v := range args[1:] {
			if datum.Compare(v, best, true)*sign > 0 {
				best = v
			}
		}
		return best, nil
	}
}

func choose(_ *frame, args []datum.Value) (datum.Value, error) {
	if args[0].True() {
		return args[1], nil
	}
	return args[2], nil
}

func absolute(_ *frame, args []datum.Value) (datum.Value, error) {
	if args[0].AsFloat() < 0 {
		return datum.Neg(args[0])
	}
	return args[0], nil
}

func concat(_ *frame, args []datum.Value) (datum.Value, error) {
	var b strings.Builder
	for _, v := range args {
		b.WriteString(v.Text())
	}
	return datum.String(b.String()), nil
}

func toHex(_ *frame, args []datum.Value) (datum.Value, error) {
	if v := args[0]; v.Kind == datum.Int || v.Kind == datum.Uint {
		return datum.String(fmt.Sprintf("%X", uint64(v.AsInt()))), nil
	}
	return datum.String(strings.ToUpper(hex.EncodeToString([]byte(args[0].Text())))), nil
}

func length(_ *frame, args []datum.Value) (datum.Value, error) {
	return datum.Int64(int64(len(args[0].Text()))), nil
}

// sleep waits, or is cut short by KILL QUERY, and gives 1 then.
func sleep(f *frame, args []datum.Value) (datum.Value, error) {
	d := time.Duration(args[0].AsFloat() * float64(time.Second))
	switch err := f.session.wait(newWaiter(), max(d, 0), nil); {
	case errorNumber(err) == 1317:
		return datum.Int64(1), nil
	default:
		return datum.Int64(0), err
	}
}
