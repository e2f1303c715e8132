package txnsink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/xa"
)

// loader checks declared tables against the server, and collects what is wrong with them.
type loader struct {
	q        xa.Queryer
	user     string // as the server names us, user@host
	session  session
	ledger   ledger.Ledger
	edges    []edge
	triggers []trigger
	seen     map[string]string // by full name the name under which a table was declared
	problems []string
}

// problem adds one line.
func (l *loader) problem(table, format string, args ...any) {
	l.problems = append(l.problems, "table "+table+": "+fmt.Sprintf(format, args...))
}

func (l *loader) checkSession() {
	add := func(p string) { l.problems = append(l.problems, "the sessions' settings: "+p) }
	if !l.session.has("STRICT_TRANS_TABLES") && !l.session.has("STRICT_ALL_TABLES") {
		add("sql_mode is not strict, the server would change values in silence: add STRICT_TRANS_TABLES")
	}
	if l.session.has("NO_BACKSLASH_ESCAPES") {
		add("sql_mode has NO_BACKSLASH_ESCAPES, which changes the meaning of the texts that are sent: remove it")
	}
	if l.session.charset != "utf8mb4" {
		add("the connection's character set is " + l.session.charset + ": use utf8mb4")
	}
}

// load is one table; nil if it has problems. The error is an *UnavailableError or one of the connection.
func (l *loader) load(ctx context.Context, index int, declared Table) (*table, error) {
	t, err := l.read(ctx, index, declared)
	if number, _, ok := serverError(err); ok && number == errLockWait && !heldTable(err) {
		return nil, l.held(declared.Name, err)
	}
	return t, err
}

func (l *loader) read(ctx context.Context, index int, declared Table) (*table, error) {
	before := len(l.problems)
	t := &table{
		index: index, name: declared.Name, operations: or(declared.Operations, Insert), maxSegmentRows: declared.MaxSegmentRows,
	}
	if !l.checkDeclared(t, declared) {
		return nil, nil
	}
	found, err := l.find(ctx, t)
	if err != nil || !found {
		return nil, err
	}
	if !l.first(t) {
		return nil, nil
	}

	all, err := readColumns(ctx, l.q, t)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		l.problem(t.name, "this user sees no column of it: %s", l.grant(t, t.operations))
		return nil, nil
	}
	indexes, err := readUniqueKeys(ctx, l.q, t)
	if err != nil {
		return nil, err
	}
	t.triggers = slices.ContainsFunc(l.triggers, func(on trigger) bool { return on.table == t.fullName() })
	if !l.choose(t, declared, all, indexes) {
		return nil, nil
	}
	if err := l.checkPrivileges(ctx, t); err != nil || len(l.problems) > before {
		return nil, err
	}
	return t, nil
}

// names are the full names of the declared tables, and of those that have triggers.
func (l *loader) names(tables []Table) []string {
	var names []string
	for _, t := range tables {
		if !strings.Contains(t.Name, ".") {
			t.Name = l.session.database + "." + t.Name
		}
		if l.session.foldNames {
			t.Name = strings.ToLower(t.Name)
		}
		names = append(names, t.Name)
	}
	for _, t := range l.triggers {
		names = append(names, t.table)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// first tells whether t is declared for the first time.
func (l *loader) first(t *table) bool {
	id := l.identity(t)
	if other, twice := l.seen[id]; twice {
		l.problem(t.name, "it is the same table as %s, listed before: list it once", other)
		return false
	}
	l.seen[id] = t.name
	return true
}

// choose completes t from the columns and unique keys of its table, and checks what they tell.
func (l *loader) choose(t *table, declared Table, all []tableColumn, indexes []uniqueIndex) bool {
	before := len(l.problems)
	t.quoted = quoteName(t.database) + "." + quoteName(t.base)
	l.chooseColumns(t, declared.Columns, all)
	l.chooseKey(t, all, indexes)
	add := l.chooseAdd(t, declared.Add, all)
	t.references = tiedTo(t.fullName(), l.edges)
	t.foreign = slices.ContainsFunc(l.edges, func(e edge) bool { return e.child == t.fullName() || e.parent == t.fullName() })
	t.insertOnly = t.operations == Insert
	t.splittable = !t.foreign && !t.triggers
	if len(l.problems) > before {
		return false
	}
	t.prepare(add)
	return true
}

// identity is equal for names that the server takes for the same table.
func (l *loader) identity(t *table) string {
	if l.session.foldNames {
		return strings.ToLower(t.fullName())
	}
	return t.fullName()
}

// checkDeclared is what can be told without the server.
func (l *loader) checkDeclared(t *table, declared Table) bool {
	before := len(l.problems)
	parts := strings.Split(declared.Name, ".")
	switch {
	case len(parts) > 2 || slices.Contains(parts, ""):
		l.problem(fmt.Sprintf("%q", declared.Name), "the name is not of the form table or database.table")
	case len(parts) == 2:
		t.database, t.base = parts[0], parts[1]
	case l.session.database == "":
		l.problem(declared.Name, "the connection has no database: name one in the DSN, or write database.%s", declared.Name)
	default:
		t.database, t.base = l.session.database, declared.Name
	}
	if declared.Operations&^allOperations != 0 {
		l.problem(declared.Name, "Operations %d holds an unknown one: use Insert, Upsert and Delete", declared.Operations)
	}
	if declared.MaxSegmentRows < 0 {
		l.problem(declared.Name, "MaxSegmentRows is %d: want at least 1, or 0 for the sink's", declared.MaxSegmentRows)
	}
	if len(declared.Add) > 0 && t.operations&Upsert == 0 {
		l.problem(declared.Name, "Add is for upserts: add Upsert to Operations, or leave Add empty")
	}
	if declared.Columns != nil && len(declared.Columns) == 0 {
		l.problem(declared.Name, "Columns is empty: name some, or leave it nil for all")
	}
	return len(l.problems) == before
}

// find looks the table up, and takes the server's spelling of its name.
func (l *loader) find(ctx context.Context, t *table) (bool, error) {
	info, err := readTable(ctx, l.q, t.database, t.base)
	if err != nil {
		return false, err
	}
	if info == nil {
		return false, l.explainAbsence(ctx, t)
	}
	t.database, t.base = info.database, info.name
	switch {
	case l.ledger.Owns(t.database, t.base):
		l.problem(t.name, "it is a table of the ledger, which only xasink itself writes: write another one")
	case info.kind == "VIEW" || info.kind == "SYSTEM VIEW":
		l.problem(t.name, "it is a view: write the table behind it")
	case info.kind == "TEMPORARY":
		l.problem(t.name, "it is a temporary table, which only one session sees: use a permanent one")
	case info.kind != "BASE TABLE":
		l.problem(t.name, "it is a %s, which is not supported: use a plain table", strings.ToLower(info.kind))
	case info.engine == "" && strings.HasPrefix(info.comment, lockWaitText):
		return false, l.held(t.name, errors.New(info.comment))
	case info.engine == "":
		l.problem(t.name, "the server cannot open it (%s): repair it", or(info.comment, "it does not say why"))
	case !strings.EqualFold(info.engine, "InnoDB"):
		l.problem(t.name, "its engine is %s, which has no XA transactions: ALTER TABLE %s ENGINE=InnoDB", info.engine, quoteName(t.database)+"."+quoteName(t.base))
	default:
		return true, nil
	}
	return false, nil
}

// explainAbsence tells a table that is not there from one that this user may not see.
func (l *loader) explainAbsence(ctx context.Context, t *table) error {
	number, text, err := l.explain(ctx, t, "INSERT INTO "+quoteName(t.database)+"."+quoteName(t.base)+" () VALUES ()")
	switch {
	case err != nil:
		return err
	case number == 1049:
		l.problem(t.name, "there is no database %s: create it, or correct the name", t.database)
	case number == 1142 || number == 1044:
		l.problem(t.name, "it is not there, or this user may not know of it (%s): create it, or %s", text, l.grant(t, Insert))
	default:
		l.problem(t.name, "there is no such table in database %s: create it, or correct the name (the server says: %s)", t.database, or(text, "nothing"))
	}
	return nil
}

// chooseColumns fills t.columns and checks what the server needs for a new row.
func (l *loader) chooseColumns(t *table, names []string, all []tableColumn) {
	if names == nil {
		for _, c := range all {
			if !c.generated && !c.invisible {
				names = append(names, c.name)
			}
		}
	}
	written := map[string]bool{}
	for _, name := range names {
		c := columnNamed(all, name)
		switch {
		case c == nil:
			l.problem(t.name, "there is no column %s: it has %s, as far as this user may see", name, tableColumnNames(all))
			continue
		case written[c.name]:
			l.problem(t.name, "column %s is listed twice in Columns: list it once", c.name)
			continue
		case c.generated:
			l.problem(t.name, "column %s is generated by the server: leave it out of Columns", c.name)
		case c.class == classUnsupported:
			l.problem(t.name, "column %s has type %s, which is not supported: leave it out of Columns, or change its type", c.name, c.typ)
		}
		written[c.name] = true
		t.columns = append(t.columns, c.column)
	}
	if t.operations&(Insert|Upsert) == 0 {
		return
	}
	for _, c := range all {
		if !written[c.name] && !c.nullable && !c.generated && !c.auto && !c.hasDefault {
			l.problem(t.name, "column %s is NOT NULL and has no default, but is not in Columns: add it, or give it a default", c.name)
		}
	}
}

// chooseKey fills t.key and what belongs to it.
func (l *loader) chooseKey(t *table, all []tableColumn, indexes []uniqueIndex) {
	position := func(name string) int {
		return slices.IndexFunc(t.columns, func(c column) bool { return c.name == name })
	}
	t.uniqueKeys = len(indexes)
	prefix := ""
	var hidden []string
	for _, index := range indexes {
		key := uniqueKey{name: index.name}
		for _, part := range index.parts {
			key.at = append(key.at, position(part.column))
		}
		t.unique = append(t.unique, key)
		if index.name != "PRIMARY" {
			continue
		}
		for _, part := range index.parts {
			c := columnNamed(all, part.column)
			if c == nil {
				hidden = append(hidden, part.column)
				continue
			}
			t.key = append(t.key, c.column)
			if part.prefix {
				prefix = part.column
			}
		}
		t.keyAt = key.at
	}
	byKey := t.operations & (Upsert | Delete)
	if len(hidden) > 0 { // an insert does without: the server gives the key, or refuses the row
		t.key, t.keyAt = nil, nil
	}
	if byKey == 0 {
		return
	}
	switch {
	case len(hidden) > 0:
		l.problem(t.name, "this user may not see column %s of the primary key, which %s needs: %s", strings.Join(hidden, ", "), byKey, l.grant(t, byKey))
		return
	case len(t.key) == 0:
		l.problem(t.name, "it has no primary key, which %s needs: add one, or use only Insert; or this user may not see it: %s", byKey, l.grant(t, byKey))
		return
	case prefix != "":
		l.problem(t.name, "the primary key covers only the beginning of column %s, so that %s could hit another row: make it cover the whole column", prefix, byKey)
	}
	for i, c := range t.key {
		if c.class == classUnsupported {
			l.problem(t.name, "column %s of the primary key has type %s, which is not supported: change its type, or use only Insert", c.name, c.typ)
		}
		if t.operations&Delete != 0 && c.single {
			l.problem(t.name, "column %s of the primary key is %s, and the server finds no row by the value that was written: use DOUBLE or DECIMAL, or do without Delete", c.name, c.typ)
		}
		if t.operations&Upsert != 0 && t.keyAt[i] < 0 {
			l.problem(t.name, "column %s of the primary key is not in Columns, but upserts need it: add it", c.name)
		}
	}
	if t.operations&Upsert != 0 && t.uniqueKeys > 1 {
		var others []string
		for _, k := range t.unique {
			if k.name != "PRIMARY" {
				others = append(others, k.name)
			}
		}
		l.problem(t.name, "it has more unique keys than the primary key (%s), and an upsert could change another row that it meets there: drop them, or use Insert and Delete", strings.Join(others, ", "))
	}
}

// chooseAdd checks the columns that upserts add to, and gives their names as the server spells them.
func (l *loader) chooseAdd(t *table, names []string, all []tableColumn) map[string]bool {
	add := map[string]bool{}
	for _, name := range names {
		c := columnNamed(all, name)
		switch {
		case c == nil:
			l.problem(t.name, "Add: there is no column %s: it has %s", name, tableColumnNames(all))
			continue
		case add[c.name]:
			l.problem(t.name, "Add: column %s is listed twice: list it once", c.name)
		case !slices.ContainsFunc(t.columns, func(w column) bool { return w.name == c.name }):
			l.problem(t.name, "Add: column %s is not in Columns: add it", c.name)
		case slices.ContainsFunc(t.key, func(k column) bool { return k.name == c.name }):
			l.problem(t.name, "Add: column %s is part of the primary key, which an upsert does not change: leave it out of Add", c.name)
		case !c.exact():
			l.problem(t.name, "Add: column %s is %s; only exact numbers (integers, DECIMAL) can be added to without rounding: change its type", c.name, c.typ)
		case c.nullable:
			l.problem(t.name, "Add: column %s can be NULL, and NULL plus anything is NULL: make it NOT NULL", c.name)
		}
		add[c.name] = true
	}
	return add
}
