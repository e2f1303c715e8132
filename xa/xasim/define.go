package xasim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

func (s *session) createTable(c *syntax.CreateTable) error {
	srv := s.server
	if c.Temporary {
		return unsupported("temporary tables", "CREATE TEMPORARY TABLE "+c.Table.Name)
	}
	if c.Engine != "" && !strings.EqualFold(c.Engine, "InnoDB") {
		return unsupported("engine "+c.Engine, "CREATE TABLE "+c.Table.Name)
	}
	name := or(c.Table.Database, s.database)
	if name == "" {
		return errNoDatabaseSelected()
	}
	d := srv.databases[name]
	if d == nil {
		return errNoDatabase(name)
	}
	if d.tables[c.Table.Name] != nil {
		if c.IfNotExists {
			return nil
		}
		return failure(1050, "42S01", "Table '%s' already exists", c.Table.Name)
	}
	if s.lacks(Create) {
		return failure(1142, "42000", "CREATE command denied to user '%s'@'localhost' for table '%s'", s.account.User, c.Table.Name)
	}
	t, err := s.newTable(d, c)
	if err != nil {
		return err
	}
	d.tables[t.name] = t
	srv.redefined()
	return nil
}

func (s *session) newTable(d *database, c *syntax.CreateTable) (*table, error) {
	kind := s.server.kind
	charset, collate, err := kind.order(c.Charset, c.Collation, d.charset, d.collate)
	if err != nil {
		return nil, err
	}
	t := &table{database: d.name, name: c.Table.Name, comment: c.Comment, collate: collate, rows: newTree[row](), nextAuto: 1}
	keys := slices.Clone(c.Keys)
	for _, def := range c.Columns {
		if t.column(def.Name) >= 0 {
			return nil, failure(1060, "42S21", "Duplicate column name '%s'", def.Name)
		}
		col, err := kind.newColumn(def, charset, collate)
		if err != nil {
			return nil, err
		}
		t.columns = append(t.columns, col)
		if def.Primary {
			keys = append(keys, syntax.KeyDef{Primary: true, Unique: true, Columns: []string{def.Name}})
		}
		if def.Unique {
			keys = append(keys, syntax.KeyDef{Unique: true, Columns: []string{def.Name}})
		}
	}
	for _, k := range keys {
		if err := t.addKey(k); err != nil {
			return nil, err
		}
	}
	if t.primary == nil {
		t.primary = &index{}
	}
	for _, col := range t.columns {
		if col.auto && !t.leads(col.name) {
			return nil, failure(1075, "42000", "Incorrect table definition; there can be only one auto column and it must be defined as a key")
		}
	}
	return t, nil
}

// leads tells whether a key begins with the column.
func (t *table) leads(name string) bool {
	for _, i := range slices.Concat([]*index{t.primary}, t.unique, t.plain) {
		if len(i.at) > 0 && t.columns[i.at[0]].name == name {
			return true
		}
	}
	return false
}

func (t *table) addKey(k syntax.KeyDef) error {
	i := &index{name: k.Name, entries: newTree[string]()}
	for _, name := range k.Columns {
		at := t.column(name)
		if at < 0 {
			return failure(1072, "42000", "Key column '%s' doesn't exist in table", name)
		}
		i.at = append(i.at, at)
	}
	switch {
	case k.Primary && t.primary != nil:
		return failure(1068, "42000", "Multiple primary key defined")
	case k.Primary:
		i.name = "PRIMARY"
		for _, at := range i.at {
			t.columns[at].nullable = false
		}
		t.primary = i
		return nil
	}
	if i.name == "" {
		i.name = t.freeName(k.Columns[0])
	}
	if k.Unique {
		t.unique = append(t.unique, i)
	} else {
		t.plain = append(t.plain, i)
	}
	return nil
}

// freeName is a name for a key without one: its first column's, with a number if that is taken.
func (t *table) freeName(column string) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(slices.Concat(t.unique, t.plain), func(i *index) bool { return i.name == name })
	}
	name := column
	for n := 2; taken(name); n++ {
		name = fmt.Sprintf("%s_%d", column, n)
	}
	return name
}

func (k Kind) newColumn(def syntax.ColumnDef, charset, collate string) (column, error) {
	c := column{name: def.Name, nullable: !def.NotNull && !def.Primary, auto: def.AutoIncrement, comment: def.Comment}
	var err error
	if c.kind, err = k.columnType(def.Type, charset, collate); err != nil {
		return c, err
	}
	if c.auto {
		c.nullable = false
	}
	if def.OnUpdate != nil {
		if !isNow(def.OnUpdate) {
			return c, failure(1294, "HY000", "Invalid ON UPDATE clause for '%s' column", def.Name)
		}
		c.touched = true
	}
	switch {
	case def.Default == nil:
		return c, nil
	case isNow(def.Default):
		c.hasDefault, c.now = true, true
		return c, nil
	}
	lit, ok := def.Default.(syntax.Literal)
	if !ok {
		return c, unsupported("a DEFAULT that is an expression", "column "+def.Name)
	}
	if lit.Value.IsNull() {
		return c, nil
	}
	value, problem := c.kind.Store(lit.Value, k.storing(mysqlMode))
	if problem != nil {
		return c, failure(1067, "42000", "Invalid default value for '%s'", def.Name)
	}
	c.hasDefault, c.value = true, value
	return c, nil
}

func isNow(x syntax.Expr) bool {
	c, ok := x.(syntax.Call)
	return ok && (c.Name == "CURRENT_TIMESTAMP" || c.Name == "NOW" || c.Name == "LOCALTIMESTAMP")
}

// columnType is a column's type as the server has it.
func (k Kind) columnType(def syntax.TypeDef, charset, collate string) (*datum.Type, error) {
	t := datum.NewType(def.Name)
	t.Unsigned, t.Members = def.Unsigned, def.Members
	if !datum.Known(def.Name) {
		return &t, unsupported("columns of type "+def.Name, def.Name)
	}
	arg := func(i, standard int) int {
		if i < len(def.Args) {
			return def.Args[i]
		}
		return standard
	}
	switch def.Name {
	case "decimal":
		t.Digits, t.Scale = arg(0, 10), arg(1, 0)
	case "char", "binary", "bit":
		t.Length = arg(0, 1)
	case "varchar", "varbinary":
		if len(def.Args) != 1 {
			return &t, k.errSyntax("")
		}
		t.Length = def.Args[0]
	case "tinyint":
		t.Length = arg(0, 0)
	case "datetime", "timestamp", "time":
		if t.Fraction = arg(0, 0); t.Fraction > 6 {
			return &t, failure(1426, "42000", "Too-big precision %d specified for column. Maximum is 6.", t.Fraction)
		}
	case "json":
		if k.mariadb {
			t = datum.NewType("longtext")
			t.JSON, charset, collate = true, "utf8mb4", "utf8mb4_bin"
		}
	}
	if t.Textual() {
		var err error
		if t.Charset, t.Collate, err = k.order(def.Charset, def.Collation, charset, collate); err != nil {
			return &t, err
		}
		if t.JSON {
			t.Charset, t.Collate = charset, collate
		}
	}
	return &t, nil
}

// storing is what keeping a value depends on.
func (k Kind) storing(mode string) datum.Options {
	return datum.Options{MariaDB: k.mariadb, NoZeroDate: strings.Contains(mode, "NO_ZERO_DATE")}
}

func (s *session) alterTable(a *syntax.AlterTable) error {
	t, err := s.find(a.Table)
	if err != nil {
		return err
	}
	if s.lacks(Create) {
		return s.errDenied("ALTER", t)
	}
	d := s.server.databases[t.database]
	err = s.alone(t, func() error {
		for _, add := range a.Add {
			if err := s.addColumn(t, d, add); err != nil {
				return err
			}
		}
		if a.Comment != nil {
			t.comment = *a.Comment
		}
		return nil
	})
	s.server.redefined()
	return err
}

// addColumn gives t a column, with its default in all rows. Nothing uncommitted is in t.
func (s *session) addColumn(t *table, d *database, add syntax.AddColumn) error {
	def := add.Column
	if t.column(def.Name) >= 0 {
		return failure(1060, "42S21", "Duplicate column name '%s'", def.Name)
	}
	if def.Primary || def.Unique || def.AutoIncrement {
		return unsupported("ADD COLUMN with a key", "ALTER TABLE "+t.name)
	}
	c, err := s.server.kind.newColumn(def, d.charset, t.collate)
	if err != nil {
		return err
	}
	at := len(t.columns)
	switch {
	case add.First:
		at = 0
	case add.After != "":
		if at = t.column(add.After) + 1; at == 0 {
			return s.server.kind.errNoColumn(add.After, t.name)
		}
	}
	value := c.value
	switch {
	case c.now:
		value = datum.String(s.now(c.kind))
	case !c.hasDefault && !c.nullable:
		value = implied(c.kind)
	}
	t.columns, t.named = slices.Insert(t.columns, at, c), nil
	for _, i := range slices.Concat([]*index{t.primary}, t.unique, t.plain) {
		for n := range i.at {
			if i.at[n] >= at {
				i.at[n]++
			}
		}
	}
	for _, key := range t.rows.keys {
		if v := t.rows.byKey[key]; v.committed != nil {
			r := slices.Insert(slices.Clone(*v.committed), at, value)
			v.committed = &r
		}
	}
	return nil
}

// implied is what old rows get in a new column that is NOT NULL and has no default.
func implied(t *datum.Type) datum.Value {
	for _, zero := range []datum.Value{datum.Int64(0), datum.String(""), datum.String("0000-00-00")} {
		if v, problem := t.Store(zero, datum.Options{}); problem == nil {
			return v
		}
	}
	return datum.String("")
}
