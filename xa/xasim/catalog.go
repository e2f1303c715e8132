package xasim

import (
	"maps"
	"slices"
	"strings"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

// database is a schema.
type database struct {
	name    string
	charset string
	collate string
	tables  map[string]*table
}

// row has the values of a table's columns, in their order.
type row []datum.Value

// table is one table with its rows.
type table struct {
	database, name string
	comment        string
	collate        string
	columns        []column
	primary        *index   // its tree has the rows; without columns where the table has no primary key
	unique         []*index // the other unique keys, in their order
	plain          []*index // keys that are not unique; nothing is kept for them
	rows           *tree[row]
	nextRow        uint64 // names rows of a table without a primary key
	nextAuto       uint64
	writer         *session // holds LOCK TABLES … WRITE
	named          []slot   // slots of the columns, nil until they are asked for
}

// column is one column.
type column struct {
	name       string
	kind       *datum.Type // never changed
	nullable   bool
	hasDefault bool
	value      datum.Value // the default
	now        bool        // the default is CURRENT_TIMESTAMP
	touched    bool        // ON UPDATE CURRENT_TIMESTAMP
	auto       bool
	comment    string
}

// index is one unique key. Its entries name the rows.
type index struct {
	name    string
	at      []int // the columns
	entries *tree[string]
}

// column is the position of a column, -1 if there is none.
func (t *table) column(name string) int {
	return slices.IndexFunc(t.columns, func(c column) bool { return strings.EqualFold(c.name, name) })
}

// key is the key of r in i. null: a column of it is NULL, so that it is equal to nothing.
func (t *table) key(i *index, r row) (key string, null bool) {
	var b []byte
	for _, at := range i.at {
		null = null || r[at].IsNull()
		b = t.columns[at].kind.AppendKey(b, r[at])
	}
	return string(b), null
}

// rowNumbers is the type of the keys of rows without a primary key.
var rowNumbers = datum.NewType("bigint")

// rowKey names r in t.rows.
func (t *table) rowKey(r row) string {
	if len(t.primary.at) == 0 {
		t.nextRow++
		return string(rowNumbers.AppendKey(nil, datum.Uint64(t.nextRow)))
	}
	key, _ := t.key(t.primary, r)
	return key
}

// find is the table that a statement names.
func (s *session) find(n syntax.TableName) (*table, error) {
	if n.Database == "" {
		if s.database == "" {
			return nil, errNoDatabaseSelected()
		}
		n.Database = s.database
	}
	d := s.server.databases[n.Database]
	if d == nil {
		return nil, s.server.kind.errAbsent(n.Database, n.Name)
	}
	t := d.tables[n.Name]
	if t == nil {
		return nil, errNoTable(n.Database, n.Name)
	}
	return t, nil
}

// errAbsent is the answer to a table in a database that is not there: MySQL names the database.
func (k Kind) errAbsent(database, name string) error {
	if k.mariadb {
		return errNoTable(database, name)
	}
	return errNoDatabase(database)
}

func (s *session) createDatabase(c *syntax.CreateDatabase) error {
	srv := s.server
	if srv.databases[c.Name] != nil {
		if c.IfNotExists {
			return nil
		}
		return failure(1007, "HY000", "Can't create database '%s'; database exists", c.Name)
	}
	if s.lacks(Create) {
		return failure(1044, "42000", "Access denied for user '%s'@'%%' to database '%s'", s.account.User, c.Name)
	}
	d := &database{name: c.Name, tables: map[string]*table{}}
	var err error
	if d.charset, d.collate, err = srv.kind.order(c.Charset, c.Col, "utf8mb4", ""); err != nil {
		return err
	}
	srv.databases[c.Name] = d
	return nil
}

// order is a character set and a collation as they are after defaults.
func (k Kind) order(charset, collation, defaultCharset, defaultCollation string) (string, string, error) {
	if collation != "" && charset == "" {
		charset, _, _ = strings.Cut(collation, "_")
	}
	if charset == "" {
		charset = defaultCharset
		if collation == "" {
			collation = defaultCollation
		}
	}
	if charset == "utf8" {
		charset = "utf8mb3"
	}
	standard := map[string]string{
		"utf8mb4": mysqlOrder, "utf8mb3": "utf8mb3_general_ci", "ascii": "ascii_general_ci", "latin1": "latin1_swedish_ci",
		"binary": "binary",
	}
	if k.mariadb {
		standard["utf8mb4"], standard["utf8mb3"] = mariaOrder, "utf8mb3_uca1400_ai_ci"
	}
	if standard[charset] == "" {
		return "", "", unsupported("character set "+charset, "CHARACTER SET "+charset)
	}
	if collation == "" {
		collation = standard[charset]
	}
	if collation != "binary" && !strings.HasPrefix(collation, charset+"_") {
		return "", "", failure(1253, "42000", "COLLATION '%s' is not valid for CHARACTER SET '%s'", collation, charset)
	}
	return charset, collation, nil
}

func (s *session) dropDatabase(d *syntax.DropDatabase) (int64, error) {
	srv := s.server
	have := srv.databases[d.Name]
	if have == nil {
		if d.IfExists {
			return 0, nil
		}
		return 0, failure(1008, "HY000", "Can't drop database '%s'; database doesn't exist", d.Name)
	}
	if s.lacks(Create) {
		return 0, failure(1044, "42000", "Access denied for user '%s'@'%%' to database '%s'", s.account.User, d.Name)
	}
	defer srv.redefined()
	n := len(have.tables)
	for _, name := range slices.Sorted(maps.Keys(have.tables)) {
		if err := s.alone(have.tables[name], func() error { delete(have.tables, name); return nil }); err != nil {
			return 0, err
		}
	}
	delete(srv.databases, d.Name)
	if s.database == d.Name {
		s.database = ""
	}
	return int64(n), nil
}

func (s *session) dropTable(d *syntax.DropTable) error {
	defer s.server.redefined()
	for _, n := range d.Tables {
		t, err := s.find(n)
		if err != nil {
			if d.IfExists {
				continue
			}
			if errorNumber(err) == 1146 {
				return failure(1051, "42S02", "Unknown table '%s.%s'", or(n.Database, s.database), n.Name)
			}
			return err
		}
		if s.lacks(Create) {
			return s.errDenied("DROP", t)
		}
		err = s.alone(t, func() error { delete(s.server.databases[t.database].tables, t.name); return nil })
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *session) truncate(c *syntax.TruncateTable) error {
	t, err := s.find(c.Table)
	if err != nil {
		return err
	}
	if s.lacks(Create) {
		return s.errDenied("DROP", t)
	}
	err = s.alone(t, func() error {
		t.rows, t.nextAuto = newTree[row](), 1
		for _, i := range t.unique {
			i.entries = newTree[string]()
		}
		return nil
	})
	s.server.redefined()
	return err
}

func (s *session) errDenied(what string, t *table) error {
	return failure(1142, "42000", "%s command denied to user '%s'@'localhost' for table '%s'", what, s.account.User, t.name)
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
