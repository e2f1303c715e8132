package xasim

import (
	"maps"
	"slices"
	"time"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

// show is SHOW.
func (s *session) show(x *syntax.Show) (*result, error) {
	matches := func(name string) bool { return x.Like == "" || like(datum.Fold(name), datum.Fold(x.Like)) }
	switch x.What {
	case "STATUS":
		out := &result{columns: []string{"Variable_name", "Value"}}
		uptime := int64(time.Since(s.server.started) / time.Second)
		if matches("Uptime") {
			out.rows = append(out.rows, []datum.Value{datum.String("Uptime"), datum.String(datum.Int64(uptime).Text())})
		}
		return out, nil
	case "VARIABLES":
		out := &result{columns: []string{"Variable_name", "Value"}}
		for _, name := range slices.Sorted(maps.Keys(s.server.globals)) {
			value := or(s.variables[name], s.server.globals[name])
			if variables[name].kind == kindBool {
				value = map[string]string{"1": "ON", "0": "OFF"}[value]
			}
			if matches(name) {
				out.rows = append(out.rows, []datum.Value{datum.String(name), datum.String(value)})
			}
		}
		return out, nil
	case "PROCESSLIST":
		out := &result{columns: []string{"Id", "User", "Host", "db", "Command", "Time", "State", "Info"}}
		v := s.processView()
		for _, r := range v.rows {
			if info := r[7].Text(); !x.Full && len(info) > 100 {
				r[7] = datum.String(info[:100])
			}
			if s.server.kind.mariadb {
				r[8] = datum.Dec("0.000")
			}
			out.rows = append(out.rows, r)
		}
		if s.server.kind.mariadb {
			out.columns = append(out.columns, "Progress")
		}
		return out, nil
	case "DATABASES":
		out := &result{columns: []string{"Database"}}
		for _, name := range s.databaseNames() {
			if matches(name) {
				out.rows = append(out.rows, []datum.Value{datum.String(name)})
			}
		}
		return out, nil
	case "TABLES", "TABLE STATUS":
		return s.showTables(x, matches)
	case "WARNINGS":
		return nil, unsupported("SHOW WARNINGS", "SHOW WARNINGS")
	}
	return nil, unsupported("SHOW "+x.What, "SHOW "+x.What)
}

func (s *session) showTables(x *syntax.Show, matches func(string) bool) (*result, error) {
	name := or(x.From, s.database)
	if name == "" {
		return nil, errNoDatabaseSelected()
	}
	d := s.server.databases[name]
	if d == nil {
		return nil, errNoDatabase(name)
	}
	out := &result{columns: []string{"Name", "Engine", "Collation", "Comment"}}
	if x.What == "TABLES" {
		out.columns = []string{"Tables_in_" + name}
	}
	for _, n := range slices.Sorted(maps.Keys(d.tables)) {
		t := d.tables[n]
		switch {
		case !matches(n):
		case x.What == "TABLES":
			out.rows = append(out.rows, []datum.Value{datum.String(n)})
		default:
			out.rows = append(out.rows, []datum.Value{datum.String(n), datum.String("InnoDB"), datum.String(t.collate), datum.String(t.comment)})
		}
	}
	return out, nil
}
