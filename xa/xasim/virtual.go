package xasim

import (
	"cmp"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

// virtual is a table of information_schema or performance_schema, made anew for each statement. known is false for
// tables of users.
func (s *session) virtual(n syntax.TableName, c *command) (source, bool, error) {
	database := strings.ToLower(or(n.Database, s.database))
	if database != "information_schema" && database != "performance_schema" {
		return source{}, false, nil
	}
	var v source
	switch name := database + "." + strings.ToUpper(n.Name); name {
	case "information_schema.TABLES":
		v = s.definitions(name, s.tablesView)
	case "information_schema.COLUMNS":
		v = s.definitions(name, s.columnsView)
	case "information_schema.STATISTICS":
		v = s.definitions(name, s.statisticsView)
	case "information_schema.SCHEMATA":
		v = view("SCHEMA_NAME")
		for _, name := range s.databaseNames() {
			v.add(datum.String(name))
		}
	case "information_schema.TRIGGERS":
		v = view("TRIGGER_SCHEMA", "TRIGGER_NAME", "EVENT_MANIPULATION", "EVENT_OBJECT_SCHEMA", "EVENT_OBJECT_TABLE", "ACTION_STATEMENT",
			"ACTION_TIMING")
	case "information_schema.REFERENTIAL_CONSTRAINTS":
		v = view("CONSTRAINT_SCHEMA", "CONSTRAINT_NAME", "TABLE_NAME", "UNIQUE_CONSTRAINT_SCHEMA", "REFERENCED_TABLE_NAME")
	case "information_schema.PROCESSLIST", "performance_schema.PROCESSLIST":
		v = s.processView()
	case "information_schema.INNODB_TRX":
		if s.lacks(Process) {
			return v, true, errNeeds("PROCESS")
		}
		v = s.transactionsView()
	case "performance_schema.DATA_LOCKS":
		if s.server.kind.mariadb {
			return v, true, errNoTable("performance_schema", n.Name)
		}
		v = s.locksView()
	default:
		return v, true, unsupported("the table "+name, c.text)
	}
	return v, true, nil
}

// definitions is a view of tables' definitions, which is made anew only after one was changed. Its rows are not to be changed.
func (s *session) definitions(name string, read func() source) source {
	srv := s.server
	if v, known := srv.views[name]; known {
		return v
	}
	if srv.views == nil {
		srv.views = map[string]source{}
	}
	v := read()
	srv.views[name] = v
	return v
}

func view(columns ...string) source {
	v := source{slots: make([]slot, len(columns))}
	for i, c := range columns {
		v.slots[i].name = c
	}
	return v
}

func (v *source) add(values ...datum.Value) { v.rows = append(v.rows, values) }

func (s *session) databaseNames() []string {
	return slices.Sorted(maps.Keys(s.server.databases))
}

// everyTable is all tables that the session's user may see, by their names.
func (s *session) everyTable() []*table {
	var list []*table
	for _, d := range s.databaseNames() {
		tables := s.server.databases[d].tables
		for _, name := range slices.Sorted(maps.Keys(tables)) {
			list = append(list, tables[name])
		}
	}
	return list
}

func (s *session) tablesView() source {
	v := view("TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "TABLE_TYPE", "ENGINE", "TABLE_COLLATION", "TABLE_COMMENT")
	for _, t := range s.everyTable() {
		v.add(datum.String("def"), datum.String(t.database), datum.String(t.name), datum.String("BASE TABLE"),
			datum.String("InnoDB"), datum.String(t.collate), datum.String(t.comment))
	}
	return v
}

func (s *session) columnsView() source {
	v := view("TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "COLUMN_NAME", "ORDINAL_POSITION", "COLUMN_DEFAULT", "IS_NULLABLE",
		"DATA_TYPE", "CHARACTER_MAXIMUM_LENGTH", "CHARACTER_OCTET_LENGTH", "NUMERIC_PRECISION", "NUMERIC_SCALE",
		"DATETIME_PRECISION", "CHARACTER_SET_NAME", "COLLATION_NAME", "COLUMN_TYPE", "COLUMN_KEY", "EXTRA", "COLUMN_COMMENT",
		"GENERATION_EXPRESSION")
	maria := s.server.kind.mariadb
	for _, t := range s.everyTable() {
		for i := range t.columns {
			c := &t.columns[i]
			facts := c.kind.Facts(maria)
			expression := datum.String("")
			if maria {
				expression = datum.Value{}
			}
			v.add(datum.String("def"), datum.String(t.database), datum.String(t.name), datum.String(c.name),
				datum.Int64(int64(i+1)), c.shownDefault(maria), yes(c.nullable), datum.String(c.kind.Name), number(facts.Characters),
				number(facts.Octets), number(facts.Digits), number(facts.Scale), number(facts.Fraction), textOrNull(c.kind.Charset),
				textOrNull(c.kind.Collate), datum.String(c.kind.String(maria)), datum.String(t.keyWord(i)),
				datum.String(c.extra(maria)), datum.String(c.comment), expression)
		}
	}
	return v
}

func yes(b bool) datum.Value {
	if b {
		return datum.String("YES")
	}
	return datum.String("NO")
}

func number(p *int64) datum.Value {
	if p == nil {
		return datum.Value{}
	}
	return datum.Int64(*p)
}

func textOrNull(s string) datum.Value {
	if s == "" {
		return datum.Value{}
	}
	return datum.String(s)
}

// shownDefault is COLUMN_DEFAULT: MariaDB has it as an expression, NULL as a word.
func (c *column) shownDefault(maria bool) datum.Value {
	text := "CURRENT_TIMESTAMP"
	switch {
	case c.now:
		if c.kind.Fraction > 0 || maria {
			text += "(" + datum.Int64(int64(c.kind.Fraction)).Text() + ")"
		}
		if maria {
			text = strings.Replace(strings.ToLower(text), "(0)", "()", 1)
		}
	case c.hasDefault && maria && !c.value.IsNumber():
		text = "'" + strings.ReplaceAll(c.value.Text(), "'", "''") + "'"
	case c.hasDefault:
		text = c.value.Text()
	case maria && c.nullable:
		text = "NULL"
	default:
		return datum.Value{}
	}
	return datum.String(text)
}

func (c *column) extra(maria bool) string {
	var parts []string
	now := "CURRENT_TIMESTAMP"
	if c.kind.Fraction > 0 || maria {
		now += "(" + datum.Int64(int64(c.kind.Fraction)).Text() + ")"
	}
	if maria {
		now = strings.Replace(strings.ToLower(now), "(0)", "()", 1)
	}
	if c.auto {
		parts = append(parts, "auto_increment")
	}
	if c.now && !maria {
		parts = append(parts, "DEFAULT_GENERATED")
	}
	if c.touched {
		parts = append(parts, "on update "+now)
	}
	return strings.Join(parts, " ")
}

// keyWord is COLUMN_KEY.
func (t *table) keyWord(at int) string {
	switch {
	case slices.Contains(t.primary.at, at):
		return "PRI"
	case slices.ContainsFunc(t.unique, func(i *index) bool { return len(i.at) == 1 && i.at[0] == at }):
		return "UNI"
	case slices.ContainsFunc(slices.Concat(t.unique, t.plain), func(i *index) bool { return i.at[0] == at }):
		return "MUL"
	}
	return ""
}

func (s *session) statisticsView() source {
	v := view("TABLE_SCHEMA", "TABLE_NAME", "NON_UNIQUE", "INDEX_NAME", "SEQ_IN_INDEX", "COLUMN_NAME", "SUB_PART", "NULLABLE",
		"INDEX_TYPE")
	for _, t := range s.everyTable() {
		for _, i := range slices.Concat([]*index{t.primary}, t.unique, t.plain) {
			for n, at := range i.at {
				nullable := ""
				if t.columns[at].nullable {
					nullable = "YES"
				}
				v.add(datum.String(t.database), datum.String(t.name), datum.Bool(slices.Contains(t.plain, i)),
					datum.String(i.name), datum.Int64(int64(n+1)), datum.String(t.columns[at].name), datum.Value{},
					datum.String(nullable), datum.String("BTREE"))
			}
		}
	}
	return v
}

// visible are the sessions that s may see, by their ids.
func (s *session) visible() []*session {
	var list []*session
	for _, o := range s.server.sessions {
		if o.account.User == s.account.User || !s.lacks(Process) {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	return list
}

func (s *session) processView() source {
	columns := []string{"ID", "USER", "HOST", "DB", "COMMAND", "TIME", "STATE", "INFO"}
	if s.server.kind.mariadb {
		columns = append(columns, "TIME_MS")
	}
	v := view(columns...)
	for _, o := range s.visible() {
		doing, info := datum.String("Sleep"), datum.Value{}
		if o.busy != nil {
			doing, info = datum.String("Query"), datum.String(o.busy.text)
		}
		since := time.Since(o.since)
		line := []datum.Value{
			datum.Uint64(o.id), datum.String(o.account.User), datum.String("localhost"), textOrNull(o.database), doing,
			datum.Int64(int64(since / time.Second)), datum.String(""), info,
		}
		if s.server.kind.mariadb {
			line = append(line, datum.Int64(since.Milliseconds()))
		}
		v.rows = append(v.rows, line)
	}
	return v
}

// transactionsView is innodb_trx: transactions that InnoDB knows, which those that did nothing are not.
func (s *session) transactionsView() source {
	v := view("trx_id", "trx_state", "trx_started", "trx_requested_lock_id", "trx_wait_started", "trx_weight",
		"trx_mysql_thread_id", "trx_query", "trx_tables_locked", "trx_rows_locked", "trx_rows_modified", "trx_isolation_level")
	for _, t := range slices.Backward(s.server.transactions) {
		if len(t.locks) == 0 && len(t.changes) == 0 {
			continue
		}
		state := "RUNNING"
		if len(t.waiting) > 0 {
			state = "LOCK WAIT"
		}
		thread, query := uint64(0), datum.Value{}
		if t.session != nil && !t.limbo {
			thread = t.session.id
			if t.session.busy != nil {
				query = datum.String(t.session.busy.text)
			}
		}
		v.add(datum.Uint64(t.id), datum.String(state), datum.String(datum.FormatTime(t.started.UTC(), 0)), datum.Value{}, datum.Value{},
			datum.Int64(int64(t.weight())), datum.Uint64(thread), query, datum.Int64(int64(len(t.tables))),
			datum.Int64(int64(len(t.locks))), datum.Int64(int64(t.real())), datum.String("READ COMMITTED"))
	}
	return v
}

// locksView is MySQL's performance_schema.data_locks, its row locks only.
func (s *session) locksView() source {
	v := view("ENGINE", "ENGINE_LOCK_ID", "ENGINE_TRANSACTION_ID", "THREAD_ID", "OBJECT_SCHEMA", "OBJECT_NAME", "INDEX_NAME", "LOCK_TYPE",
		"LOCK_MODE", "LOCK_STATUS", "LOCK_DATA")
	names := map[any][2]string{}
	of := map[any]*table{}
	for _, t := range s.everyTable() {
		names[t.rows], of[t.rows] = [2]string{t.name, "PRIMARY"}, t
		for _, i := range t.unique {
			names[i.entries], of[i.entries] = [2]string{t.name, i.name}, t
		}
	}
	for _, t := range s.server.transactions {
		for _, key := range t.locks {
			tbl := of[key.tree]
			if tbl == nil {
				continue
			}
			for _, r := range s.server.locks[key] {
				if r.t != t {
					continue
				}
				mode, status := "X,REC_NOT_GAP", "GRANTED"
				if r.mode == shared {
					mode = "S,REC_NOT_GAP"
				}
				if r.wait != nil {
					status = "WAITING"
				}
				v.add(datum.String("INNODB"), datum.String(hex.EncodeToString([]byte(key.key))), datum.Uint64(t.id), datum.Uint64(0),
					datum.String(tbl.database), datum.String(tbl.name), datum.String(names[key.tree][1]), datum.String("RECORD"),
					datum.String(mode), datum.String(status), datum.String(tbl.lockData(key)))
			}
		}
	}
	return v
}

// lockData is the key of a locked row for people.
func (t *table) lockData(key lockKey) string {
	v := t.rows.get(key.key)
	if key.tree != t.rows || v == nil || v.latest() == nil && v.committed == nil {
		return hex.EncodeToString([]byte(key.key))
	}
	r := v.latest()
	if r == nil {
		r = v.committed
	}
	var parts []string
	for _, at := range t.primary.at {
		value := (*r)[at]
		if value.IsNumber() {
			parts = append(parts, value.Text())
		} else {
			parts = append(parts, "'"+value.Text()+"'")
		}
	}
	return strings.Join(parts, ", ")
}
