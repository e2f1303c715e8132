package txnsink

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/xa"
)

// Every problem of every table comes at once, one line each, with what to do.
func TestCatalogTellsAllProblemsAtOnce(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		other := s.Database(t)
		for _, ddl := range []string{
			"CREATE TABLE good (id INT PRIMARY KEY, v INT)",
			"CREATE TABLE isam (id INT PRIMARY KEY) ENGINE=MyISAM",
			"CREATE VIEW seen AS SELECT * FROM good",
			"CREATE TABLE spot (id INT PRIMARY KEY, p POINT)",
			"CREATE TABLE nokey (a INT NOT NULL, b INT)",
			"CREATE TABLE strict (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL DEFAULT 0, c INT)",
			"CREATE TABLE made (id INT PRIMARY KEY, a INT, g INT AS (a+1) STORED, v INT AS (a+2) VIRTUAL)",
			"CREATE TABLE two (id INT PRIMARY KEY, u INT, w INT, UNIQUE KEY uu (u), UNIQUE KEY ww (w))",
			"CREATE TABLE adds (k INT, id INT NOT NULL, f DOUBLE NOT NULL, n INT, s VARCHAR(9) NOT NULL, ok INT NOT NULL DEFAULT 0, y YEAR NOT NULL, PRIMARY KEY (k))",
			"CREATE TABLE part (t VARCHAR(100), v INT, PRIMARY KEY (t(10)))",
			"CREATE TABLE inexact (f FLOAT PRIMARY KEY, v INT)",
			"CREATE TABLE pair (a INT, b INT, v INT, PRIMARY KEY (b, a))",
		} {
			g.exec(ddl)
		}
		g.exec("CREATE TABLE `" + other + "`.far (id INT PRIMARY KEY)")
		for _, c := range []struct {
			table Table
			want  []string // pieces of each problem, in order
		}{
			{Table{Name: "absent"}, []string{"there is no such table in database " + g.database}},
			{Table{Name: "nowhere.t"}, []string{"nowhere"}},
			{Table{Name: "a.b.c"}, []string{"not of the form table or database.table"}},
			{Table{Name: ""}, []string{"not of the form table or database.table"}},
			{Table{Name: "x."}, []string{"not of the form table or database.table"}},
			{Table{Name: "good", Operations: 8}, []string{"Operations 8 holds an unknown one"}},
			{Table{Name: "good", MaxSegmentRows: -1}, []string{"MaxSegmentRows is -1"}},
			{Table{Name: "good", Columns: []string{}}, []string{"Columns is empty"}},
			{Table{Name: "good", Add: []string{"v"}}, []string{"Add is for upserts"}},
			{Table{Name: "isam"}, []string{"its engine is MyISAM, which has no XA transactions: ALTER TABLE `" + g.database + "`.`isam` ENGINE=InnoDB"}},
			{Table{Name: "seen"}, []string{"it is a view"}},
			{Table{Name: "information_schema.TABLES"}, []string{"it is a view"}},
			{Table{Name: "spot"}, []string{"column p has type point, which is not supported"}},
			{Table{Name: "nokey", Operations: Upsert}, []string{"no primary key, which upsert needs"}},
			{Table{Name: "nokey", Operations: Insert | Delete}, []string{"no primary key, which delete needs"}},
			{Table{Name: "strict", Columns: []string{"id", "x", "c", "ID"}}, []string{
				"there is no column x: it has id, a, b, c", "column id is listed twice", "column a is NOT NULL and has no default, but is not in Columns"}},
			{Table{Name: "strict", Columns: []string{"a", "b"}, Operations: Upsert}, []string{
				"column id is NOT NULL and has no default", "column id of the primary key is not in Columns"}},
			{Table{Name: "made", Columns: []string{"id", "a", "g", "v"}}, []string{"column g is generated", "column v is generated"}},
			{Table{Name: "two", Operations: Upsert}, []string{"more unique keys than the primary key (uu, ww), and an upsert could change another row"}},
			{Table{Name: "adds", Columns: []string{"k", "id", "f", "n", "s", "y"}, Operations: Upsert, Add: []string{"nope", "k", "f", "n", "s", "ok", "y", "id", "ID"}}, []string{
				"Add: there is no column nope", "Add: column k is part of the primary key", "Add: column f is double", "Add: column n can be NULL",
				"Add: column s is varchar(9)", "Add: column ok is not in Columns", "Add: column y is year", "Add: column id is listed twice"}},
			{Table{Name: "part", Operations: Upsert}, []string{"covers only the beginning of column t"}},
			{Table{Name: "inexact", Operations: Delete}, []string{"column f of the primary key is float"}},
		} {
			got := g.problems(c.table)
			require.Len(t, got, len(c.want), "%s: %q", c.table.Name, got)
			for i, want := range c.want {
				require.Contains(t, got[i], want)
				require.NotContains(t, got[i], "\n")
				if c.table.Name != "" && !strings.HasSuffix(c.table.Name, ".") && strings.Count(c.table.Name, ".") < 2 {
					require.True(t, strings.HasPrefix(got[i], "table "+c.table.Name+": "), got[i])
				}
			}
		}
		all := g.problems(Table{Name: "absent"}, Table{Name: "good"}, Table{Name: "isam"}, Table{Name: "good"}, Table{Name: g.database + ".good"},
			Table{Name: "two", Operations: Upsert}, Table{Name: other + ".far"})
		require.Len(t, all, 5, "%q", all)
		require.Contains(t, all[2], "table good: it is the same table as good, listed before")
		require.Contains(t, all[3], "table "+g.database+".good: it is the same table as good, listed before")

		c := g.load(Table{Name: "good"}, Table{Name: other + ".far"}, Table{Name: "made", Operations: Upsert | Insert}, Table{Name: "pair", Operations: allOperations},
			Table{Name: "nokey"}, Table{Name: "two", Operations: Insert | Delete}, Table{Name: "strict", Columns: []string{"C", "a", "id"}})
		require.Equal(t, "id, a", columnNames(c.byName["made"].columns), "generated columns are left out")
		require.Equal(t, "c, a, id", columnNames(c.byName["strict"].columns), "the configuration's order, the server's spelling")
		require.Equal(t, "b, a", columnNames(c.byName["pair"].key))
		require.Equal(t, []int{1, 0}, c.byName["pair"].keyAt)
		require.Equal(t, 3, c.byName["two"].uniqueKeys)
		require.Equal(t, other+".far", c.byName[other+".far"].fullName())
		require.True(t, c.byName["good"].splittable)
		require.True(t, c.byName["two"].splittable)
		require.Len(t, c.lanes, 7)
	})
}

func TestT70_TypesThatCannotBeWrittenAreRefusedOnlyIfWritten(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE spot (id INT PRIMARY KEY, p POINT NULL, v INT)")
		require.Contains(t, g.problems(Table{Name: "spot"})[0], "leave it out of Columns")
		b := g.load(Table{Name: "spot", Columns: []string{"v", "id"}}).batch()
		b.Insert("spot").Int64(1).Int64(2)
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{{"2", "NULL", "1"}}, g.rows("SELECT * FROM spot"))
	})
}

func TestInvisibleAndAutomaticColumns(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, hidden INT INVISIBLE DEFAULT 5, v INT NOT NULL, made TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6))")
		b := g.load(Table{Name: "t", Columns: []string{"v"}}).batch()
		b.Insert("t").Int64(7)
		b.Insert("t").Int64(8)
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{{"1", "5", "7"}, {"2", "5", "8"}}, g.rows("SELECT id, hidden, v FROM t ORDER BY id"))

		c := g.load(Table{Name: "t"})
		require.Equal(t, "id, v, made", columnNames(c.tables[0].columns))
		b = g.load(Table{Name: "t", Columns: []string{"id", "v"}}).batch()
		b.Insert("t").Int64(0).Int64(9)
		if c.keepsZero {
			require.NoError(t, g.write(b))
			require.Equal(t, [][]string{{"0"}}, g.rows("SELECT id FROM t WHERE v=9"))
		} else {
			require.ErrorContains(t, g.write(b), "by its next number")
		}
		require.Equal(t, g.rows("SELECT @@sql_mode LIKE '%NO_AUTO_VALUE_ON_ZERO%'")[0][0] == "1", c.keepsZero)
	})
}

func TestTemporaryTablesAreRefused(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		conn, err := g.db.Conn(t.Context())
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close()) }()
		_, err = conn.ExecContext(t.Context(), "CREATE TEMPORARY TABLE mine (id INT PRIMARY KEY)")
		require.NoError(t, err)
		_, err = loadTables(t.Context(), conn, g.can, ledger.Ledger{}, []Table{{Name: "mine"}}, nil)
		var all *ConfigError
		require.ErrorAs(t, err, &all)
		require.Len(t, all.Problems, 1)
		require.Contains(t, all.Problems[0], flavoured(s.Flavour == xa.MariaDB, "it is a temporary table", "there is no such table"))

		// One that hides a permanent table; only MariaDB tells of it.
		g.exec("CREATE TABLE mine (id INT PRIMARY KEY)")
		_, err = loadTables(t.Context(), conn, g.can, ledger.Ledger{}, []Table{{Name: "mine"}}, nil)
		if s.Flavour == xa.MariaDB {
			require.ErrorContains(t, err, "it is a temporary table")
		}
	})
}

func TestForeignKeysAndTriggersAreSeen(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		other := s.Database(t)
		for _, ddl := range []string{
			"CREATE TABLE makers (id INT PRIMARY KEY)",
			"CREATE TABLE `" + other + "`.articles (id INT PRIMARY KEY, maker INT, FOREIGN KEY (maker) REFERENCES `" + g.database + "`.makers (id))",
			"CREATE TABLE `lines` (id INT PRIMARY KEY, article INT, FOREIGN KEY (article) REFERENCES `" + other + "`.articles (id))",
			"CREATE TABLE tree (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES tree (id))",
			"CREATE TABLE watched (id INT PRIMARY KEY)",
			"CREATE TRIGGER w AFTER INSERT ON watched FOR EACH ROW SET @x = 1",
			"CREATE TABLE alone (id INT PRIMARY KEY)",
			"CREATE TABLE counted (id INT PRIMARY KEY)",
			"CREATE TABLE counts (n INT PRIMARY KEY)",
			"CREATE TRIGGER k AFTER INSERT ON counted FOR EACH ROW INSERT INTO hidden VALUES (NEW.id)",
			"CREATE TABLE hidden (id INT PRIMARY KEY)",
			"CREATE TRIGGER h AFTER INSERT ON hidden FOR EACH ROW UPDATE counts SET n = n + 1",
		} {
			g.exec(ddl)
		}
		t.Cleanup(func() { g.exec("DROP TABLE `lines`, `" + other + "`.articles") }) // the databases are dropped one by one
		c := g.load(Table{Name: "alone"}, Table{Name: "makers"}, Table{Name: "watched"}, Table{Name: "tree"}, Table{Name: "lines"},
			Table{Name: "counted"}, Table{Name: "counts"})
		lane := func(name string) int { return c.byName[name].lane }
		require.Len(t, c.lanes, 5)
		require.Equal(t, lane("counted"), lane("counts"), "tied by the trigger of a table that is not written")
		require.Equal(t, lane("makers"), lane("lines"), "tied through a table that is not written, in another database")
		for name, splittable := range map[string]bool{"alone": true, "makers": false, "watched": false, "tree": false, "lines": false,
			"counted": false, "counts": false} {
			require.Equal(t, splittable, c.byName[name].splittable, name)
			require.True(t, c.byName[name].insertOnly)
			require.Equal(t, name == "watched" || name == "counted", c.byName[name].triggers, name)
		}
		require.Equal(t, []string{other + ".articles", g.database + ".lines"}, c.byName["makers"].references)
		require.Empty(t, c.byName["tree"].references)
		require.True(t, c.byName["tree"].foreign)
	})
}

// as opens plain sessions of a user, who need not have what a sink needs besides.
func (g *target) as(user, password, database string) *sql.DB {
	g.t.Helper()
	config, err := mysql.ParseDSN(g.server.UserDSN(user, password, database))
	require.NoError(g.t, err)
	config.Params = map[string]string{"sql_mode": "'STRICT_TRANS_TABLES'"}
	require.NoError(g.t, config.Apply(mysql.Charset("utf8mb4", "")))
	connector, err := mysql.NewConnector(config)
	require.NoError(g.t, err)
	db := sql.OpenDB(connector)
	g.t.Cleanup(func() { require.NoError(g.t, db.Close()) })
	return db
}

// A missing privilege is found when the sink is opened, per operation, with the statement that grants it; once granted,
// the operation works.
func TestMissingPrivilegesAreFoundUpFront(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)")
		user, password := s.User(t)
		for _, c := range []struct {
			op     Operation
			grant  string
			denied string
		}{{Insert, "INSERT", "it is not there, or this user may not know of it"}, {Upsert, "SELECT, INSERT, UPDATE", "may not upsert"}, {Delete, "SELECT, DELETE", "may not delete"}} {
			can := g.can
			can.User = user + "@%"
			declared := []Table{{Name: g.database + ".t", Operations: c.op}}
			if c.op == Upsert {
				declared[0].Add = []string{"n"}
			}
			_, err := loadTables(t.Context(), g.as(user, password, ""), can, ledger.Ledger{}, declared, nil)
			require.ErrorContains(t, err, c.denied)
			grant := fmt.Sprintf("GRANT %s ON `%s`.`t` TO '%s'@'%%'", c.grant, g.database, user)
			require.ErrorContains(t, err, grant)
			g.exec(grant)
			db := g.as(user, password, "")
			loaded, err := loadTables(t.Context(), db, can, ledger.Ledger{}, declared, nil)
			require.NoError(t, err)
			limited := *g
			limited.db = db
			b := loaded.batch()
			switch c.op {
			case Insert:
				b.Insert(declared[0].Name).Int64(1).Int64(1)
			case Upsert:
				b.Upsert(declared[0].Name).Int64(1).Int64(1)
			case Delete:
				b.Delete(declared[0].Name).Int64(1)
			}
			require.NoError(t, limited.write(b), "what was asked for is enough")
			if c.op != Delete {
				g.exec(strings.Replace(strings.Replace(grant, "GRANT", "REVOKE", 1), " TO ", " FROM ", 1))
				if c.op == Insert { // the user knows of the table from now on
					g.exec(fmt.Sprintf("GRANT REFERENCES, INSERT ON `%s`.`t` TO '%s'@'%%'", g.database, user))
				}
			}
		}
		require.Equal(t, [][]string{{"0"}}, g.rows("SELECT COUNT(*) FROM t"))
	})
}

// A grant on single columns is enough for those columns, and not for others.
func TestColumnPrivilegesAreFoundUpFront(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)")
		user, password := s.User(t, "INSERT (id, a), SELECT (id, a, b) ON `"+g.database+"`.t")
		db := g.as(user, password, g.database)
		_, err := loadTables(t.Context(), db, g.can, ledger.Ledger{}, []Table{{Name: "t"}}, nil)
		require.ErrorContains(t, err, "this user may not insert (INSERT command denied")
		require.ErrorContains(t, err, "for column 'b'")
		_, err = loadTables(t.Context(), db, g.can, ledger.Ledger{}, []Table{{Name: "t", Columns: []string{"id", "a"}}}, nil)
		require.NoError(t, err)
	})
}

// A delete reads the key, and so takes SELECT as well: the server would tell at the first row.
func TestDeleteWithoutSelectIsFoundUpFront(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL)")
		user, password := s.User(t, "DELETE, INSERT, UPDATE ON `"+g.database+"`.t")
		for _, declared := range []Table{{Name: "t", Operations: Delete}, {Name: "t", Operations: Upsert, Add: []string{"a"}}} {
			_, err := loadTables(t.Context(), g.as(user, password, g.database), g.can, ledger.Ledger{}, []Table{declared}, nil)
			require.ErrorContains(t, err, "SELECT command denied", "%s", declared.Operations)
			require.ErrorContains(t, err, "GRANT SELECT, ", "%s", declared.Operations)
		}
	})
}

func TestNoDatabaseIsAProblemOfTheName(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (id INT PRIMARY KEY)")
		_, err := loadTables(t.Context(), s.DB(t), g.can, ledger.Ledger{}, []Table{{Name: "t"}}, nil)
		require.ErrorContains(t, err, "the connection has no database: name one in the DSN, or write database.t")
	})
}

// Settings that would change values, or the meaning of literals, are found whatever opened the sessions.
func TestSessionsWithOtherSettingsAreRefused(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (id INT PRIMARY KEY)")
		for set, want := range map[string]string{
			"SET SESSION sql_mode=''": "not strict",
			"SET SESSION sql_mode='STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES'": "NO_BACKSLASH_ESCAPES",
			"SET NAMES latin1": "character set is latin1",
		} {
			conn, err := g.db.Conn(t.Context())
			require.NoError(t, err)
			_, err = conn.ExecContext(t.Context(), set)
			require.NoError(t, err)
			_, err = loadTables(t.Context(), conn, g.can, ledger.Ledger{}, []Table{{Name: "t"}}, nil)
			require.ErrorContains(t, err, want)
			require.ErrorIs(t, conn.Raw(func(any) error { return driver.ErrBadConn }), driver.ErrBadConn, "the session is not used again")
		}
	})
}

func TestLoadingEndsWithItsContext(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := loadTables(ctx, g.db, g.can, ledger.Ledger{}, []Table{{Name: "t"}}, nil)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// Names of tables are compared as the server compares them.
func TestTableListedTwiceByCase(t *testing.T) {
	a, b := &table{database: "db", base: "Flights"}, &table{database: "db", base: "flights"}
	folds := loader{session: session{foldNames: true}}
	require.Equal(t, folds.identity(a), folds.identity(b))
	keeps := loader{}
	require.NotEqual(t, keeps.identity(a), keeps.identity(b))
}

func TestPartitionedTablesAreWritten(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN (20))")
		b := g.load(Table{Name: "t", Operations: Insert | Upsert | Delete}).batch()
		b.Insert("t").Int64(5).Int64(1)
		b.Upsert("t").Int64(15).Int64(1)
		b.Upsert("t").Int64(5).Int64(2)
		b.Delete("t").Int64(15)
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{{"5", "2"}}, g.rows("SELECT * FROM t"))
		b.Reset()
		b.Insert("t").Int64(6).Int64(1)
		b.Insert("t").Int64(25).Int64(1)
		var row *RowError
		require.ErrorAs(t, g.write(b), &row)
		require.Equal(t, uint16(1526), row.Code)
	})
}
