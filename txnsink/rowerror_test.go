package txnsink

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/xa"
)

// Every way in which a server refuses a row becomes a RowError that names table, key and column as far as the server
// tells, keeps its number and says what to do.
func TestRowErrorOfEachServerError(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		mariadb := s.Flavour == xa.MariaDB
		for _, ddl := range []string{
			"CREATE TABLE parents (id INT PRIMARY KEY)",
			"INSERT INTO parents VALUES (1), (2)",
			"CREATE TABLE children (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES parents (id))",
			"INSERT INTO children VALUES (1, 1)",
			`CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(3), n TINYINT, u INT UNSIGNED, d DATE, ts TIMESTAMP NULL, e ENUM('a','b'),
				l VARCHAR(9) CHARACTER SET latin1, j JSON, c INT, i INT, CONSTRAINT positive CHECK (c > 0))`,
			"CREATE TABLE sums (k VARCHAR(9) PRIMARY KEY, n TINYINT NOT NULL, big BIGINT NOT NULL)",
			"INSERT INTO sums VALUES ('b', 100, 9223372036854775807)",
			"CREATE TABLE pair (a INT, b VARCHAR(9), u DECIMAL(6,2), at DATETIME(3), PRIMARY KEY (a, b), UNIQUE KEY uq (u, at))",
			"INSERT INTO pair VALUES (2, 'x-y', 1.5, '2026-01-01 00:00:00.5')",
			"CREATE TABLE guarded (id INT PRIMARY KEY)",
			"CREATE TRIGGER guard BEFORE INSERT ON guarded FOR EACH ROW IF NEW.id = 13 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no thirteen'; END IF",
		} {
			g.exec(ddl)
		}
		c := g.load(Table{Name: "parents", Operations: Insert | Delete}, Table{Name: "children"}, Table{Name: "t", Operations: Insert | Upsert},
			Table{Name: "sums", Operations: Upsert, Add: []string{"n", "big"}}, Table{Name: "pair", Operations: Insert | Delete},
			Table{Name: "guarded"})
		// columns of t behind id, in order; the middle one of three rows is wrong
		t3 := func(column string, give func(Row)) func(*Batch) {
			return func(b *Batch) {
				for i := range 3 {
					r := b.Insert("t").Int64(int64(i + 10))
					for _, k := range c.byName["t"].columns[1:] {
						if i == 1 && k.name == column {
							give(r)
						} else {
							r.Null()
						}
					}
				}
			}
		}
		for _, e := range []struct {
			name   string
			fill   func(b *Batch)
			number uint16
			want   RowError
		}{
			{"too long", t3("s", func(r Row) { r.String("long") }), 1406, RowError{Table: "t", Row: 1, Column: "s", Key: "id=11"}},
			{"too long in bytes", t3("l", func(r Row) { r.String("0123456789") }), 1406, RowError{Table: "t", Row: 1, Column: "l", Key: "id=11"}},
			{"out of range", t3("n", func(r Row) { r.Int64(128) }), 1264, RowError{Table: "t", Row: 1, Column: "n", Key: "id=11"}},
			{"negative", t3("u", func(r Row) { r.Int64(-1) }), 1264, RowError{Table: "t", Row: 1, Column: "u", Key: "id=11"}},
			{"no such day", t3("d", func(r Row) { r.String("2026-02-30") }), 1292, RowError{Table: "t", Row: 1, Column: "d", Key: "id=11"}},
			{"time out of range", t3("ts", func(r Row) { r.String("1960-01-01 00:00:00") }), 1292, RowError{Table: "t", Row: 1, Column: "ts", Key: "id=11"}},
			{"no member", t3("e", func(r Row) { r.String("it's") }), 1265, RowError{Table: "t", Row: 1, Column: "e", Key: "id=11"}},
			{"not in the character set", t3("l", func(r Row) { r.String("漢") }), 1366, RowError{Table: "t", Row: 1, Column: "l", Key: "id=11"}},
			{"duplicate of an old row", func(b *Batch) {
				b.Insert("pair").Int64(1).String("y").Null().Null()
				b.Insert("pair").Int64(2).String("x-y").Null().Null()
				b.Insert("pair").Int64(3).String("y").Null().Null()
			}, 1062, RowError{Table: "pair", Row: 1, Key: "a=2, b='x-y'"}},
			{"duplicate in another key", func(b *Batch) {
				b.Insert("pair").Int64(1).String("y").Null().Null()
				b.Insert("pair").Int64(1).String("z").Decimal("1.5").String("2026-01-01 00:00:00.500")
			}, 1062, RowError{Table: "pair", Row: 1, Key: "a=1, b='z'"}},
			{"duplicate in the batch", func(b *Batch) {
				b.Insert("parents").Int64(7)
				b.Insert("parents").Int64(8)
				b.Insert("parents").Int64(7)
			}, 1062, RowError{Table: "parents", Row: 0, Key: "id=7"}},
			{"no parent", func(b *Batch) { b.Insert("children").Int64(5).Int64(99) }, 1452, RowError{Table: "children", Row: 0, Column: "parent", Key: "id=5"}},
			{"no parent, one of several", func(b *Batch) {
				for i := range 5 {
					b.Insert("children").Int64(int64(i + 5)).Int64(2 + int64(i%2))
				}
			}, 1452, RowError{Table: "children", Row: -1, Column: "parent", Key: "id=5; id=6; id=7; …; id=9"}},
			{"has a child", func(b *Batch) { b.Delete("parents").Int64(1) }, 1451, RowError{Table: "parents", Row: 0, Key: "id=1"}},
			{"sum out of range", func(b *Batch) {
				b.Upsert("sums").String("a").Int64(1).Int64(1)
				b.Upsert("sums").String("b").Int64(100).Int64(0)
			}, 1264, RowError{Table: "sums", Row: 1, Column: "n", Key: "k='b'"}},
			{"sum out of range of all numbers", func(b *Batch) { b.Upsert("sums").String("b").Int64(1).Int64(1) }, 1690, RowError{Table: "sums", Row: 0, Column: "big", Key: "k='b'"}},
			{"refused by a trigger", func(b *Batch) { b.Insert("guarded").Int64(13) }, 1644, RowError{Table: "guarded", Row: 0, Key: "id=13"}},
			{"check constraint", t3("c", func(r Row) { r.Int64(-1) }), flavoured[uint16](mariadb, 4025, 3819), RowError{Table: "t", Row: -1, Key: "id=10; id=11; id=12"}},
			{"no JSON", t3("j", func(r Row) { r.JSON([]byte("{")) }), flavoured[uint16](mariadb, 4025, 3140),
				RowError{Table: "t", Row: -1, Column: "j", Key: "id=10; id=11; id=12"}},
		} {
			t.Run(e.name, func(t *testing.T) {
				g := *g
				g.t = t
				b := c.batch()
				e.fill(b)
				err := g.write(b)
				t.Log(err)
				var row *RowError
				require.ErrorAs(t, err, &row)
				e.want.Code, e.want.Err = e.number, row.Err
				require.Equal(t, e.want, *row)
				var server *mysql.MySQLError
				require.ErrorAs(t, err, &server)
				require.ErrorContains(t, err, whatToDo[e.number])
				for _, part := range []string{"table " + e.want.Table, e.want.Key, e.want.Column, fmt.Sprint(e.number)} {
					require.ErrorContains(t, err, part)
				}
			})
		}
	})
}

func flavoured[T any](mariadb bool, inMariaDB, inMySQL T) T {
	if mariadb {
		return inMariaDB
	}
	return inMySQL
}

// What changed on the server after the sink was opened is said as such, without blaming a row.
func TestRowErrorAfterTheTableWasChanged(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		user, password := s.User(t)
		for _, c := range []struct {
			name   string
			change string
			number uint16
			column string
		}{
			{"column added", "ALTER TABLE %s ADD COLUMN must INT NOT NULL", 1364, ""},
			{"column dropped", "ALTER TABLE %s DROP COLUMN v", 1054, "v"},
			{"table dropped", "DROP TABLE %s", 1146, ""},
			{"privilege taken", "REVOKE INSERT ON %s FROM '" + user + "'@'%%'", 1142, ""},
			{"null no longer taken", "ALTER TABLE %s MODIFY v INT NOT NULL", 1048, "v"},
		} {
			t.Run(c.name, func(t *testing.T) {
				name := servertest.Unique("t")
				g.exec("CREATE TABLE " + name + " (id INT PRIMARY KEY, v INT)")
				limited := *g
				limited.t = t
				if c.number == 1142 {
					g.exec("GRANT INSERT ON " + name + " TO '" + user + "'@'%'")
					limited.db = g.as(user, password, g.database)
				}
				b := limited.load(Table{Name: name}).batch()
				g.exec(fmt.Sprintf(c.change, name))
				b.Insert(name).Int64(1).Null()
				b.Insert(name).Int64(2).Null()
				err := limited.write(b)
				t.Log(err)
				var row *RowError
				require.ErrorAs(t, err, &row)
				require.Equal(t, c.number, row.Code)
				require.Equal(t, c.column, row.Column)
				require.Equal(t, -1, row.Row)
				require.ErrorContains(t, err, "table "+name)
				require.Equal(t, c.number == 1048, row.Key != "", "only an error about rows names keys")
			})
		}
	})
}

// A lock wait, a deadlock, a lost session and whatever else is not about rows keep what they are.
func TestErrorsThatAreNotAboutRowsStayWhatTheyAre(t *testing.T) {
	b := fake(flights()).batch()
	b.Insert("flights").Int64(1).Null().Null()
	require.NoError(t, b.validate())
	require.NoError(t, newEncoder(b.catalog, 0).statements(b, 0, func(s statement) error {
		for _, number := range []uint16{1205, 1213, 1614, 1317, 1290, 1153, 1040, 3024, 1} {
			err := fmt.Errorf("branch: %w", &mysql.MySQLError{Number: number, Message: "for column 'id' at row 1"})
			require.Equal(t, err, s.failed(b, err), "%d", number)
		}
		require.Equal(t, io.EOF, s.failed(b, io.EOF))
		return nil
	}))
}

func TestBlockedStatementNamesTableAndKeys(t *testing.T) {
	c := fake(totals(), fakeTable("nokey", Insert, 0, nil, integer("v")))
	b := c.batch()
	for i := range 5 {
		b.Delete("totals").String("JFK").Int64(int64(i))
		b.Insert("nokey").Int64(int64(i))
	}
	require.NoError(t, b.validate())
	var got []string
	for lane := range c.lanes {
		require.NoError(t, newEncoder(c, 0).statements(b, lane, func(s statement) error {
			table, keys := s.blocked(b)
			got = append(got, table+": "+keys)
			return nil
		}))
	}
	require.Equal(t, []string{
		"totals: airport='JFK', year=0; airport='JFK', year=1; airport='JFK', year=2; …; airport='JFK', year=4", "nokey: "}, got)
}

// Messages hold names and values unquoted, so a value can look like the end of a message.
func TestColumnIsFoundBehindValuesThatLookLikeOne(t *testing.T) {
	tab := fakeTable("t", Insert, 1, nil, integer("id"), text("v"), text("v' at row 7"), text("o'v"))
	s := statement{table: tab, op: Insert}
	for text, want := range map[string]string{
		"Incorrect integer value: ''x' for column 'v' at row 9' for column 'id' at row 1":                   "id",
		"Incorrect integer value: 'column 'id' column 'v'' for column 'id' at row 1":                        "id",
		"Data too long for column 'v' at row 2":                                                             "v",
		"Data too long for column 'v' at row 7' at row 2":                                                   "v' at row 7",
		"Data too long for column 'o'v' at row 2":                                                           "o'v",
		"Incorrect integer value: 'x' for column `db`.`t`.`id` at row 1":                                    "id",
		"Column 'v' cannot be null":                                                                         "v",
		"Field 'id' doesn't have a default value":                                                           "id",
		"Invalid JSON text: \"Missing a name.\" at position 1 in value for column 't.v'.":                   "v",
		"BIGINT value is out of range in '(`db`.`t`.`id` + values(`id`))'":                                  "id",
		"a foreign key constraint fails (`db`.`t`, CONSTRAINT `v` FOREIGN KEY (`id`) REFERENCES `p` (`v`))": "id",
		"Duplicate entry 'v' for key 't.PRIMARY'":                                                           "",
	} {
		require.Equal(t, want, s.columnIn(text), text)
	}
}

func TestDuplicateIsFoundByValuesThatLookLikeAMessage(t *testing.T) {
	b := fake(fakeTable("t", Insert, 1, nil, text("v"))).batch()
	for _, v := range []string{"a", "x' for key 'y", "b'"} {
		b.Insert("t").String(v)
	}
	require.NoError(t, b.validate())
	require.NoError(t, newEncoder(b.catalog, 0).statements(b, 0, func(s statement) error {
		for text, want := range map[string]int{
			"Duplicate entry 'x' for key 'y' for key 't.PRIMARY'": 1,
			"Duplicate entry 'b'' for key 'PRIMARY'":              2,
			"Duplicate entry 'c' for key 't.PRIMARY'":             -1,
			"Duplicate entry 'a' for key 't.other'":               -1,
			"Duplicate entry":                                     -1,
		} {
			var row *RowError
			require.ErrorAs(t, s.failed(b, &mysql.MySQLError{Number: 1062, Message: text}), &row)
			require.Equal(t, want, row.Row, text)
		}
		return nil
	}))
}

func TestRowErrorUnwraps(t *testing.T) {
	cause := errors.New("cause")
	err := error(&RowError{Table: "t", Row: 3, Err: cause})
	require.ErrorIs(t, err, cause)
	require.Equal(t, "table t, row 3 of the batch: cause", err.Error())
	require.Equal(t, "table t, one of the rows with key id=1; id=2, column c: cause: "+whatToDo[1406],
		(&RowError{Table: "t", Row: -1, Key: "id=1; id=2", Column: "c", Code: 1406, Err: cause}).Error())
	require.Equal(t, "table t: cause", (&RowError{Table: "t", Row: -1, Err: cause}).Error())
}
