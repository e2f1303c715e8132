package txnsink

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/xa"
)

// sample is a value, how it is given, and what a SELECT shows of it.
type sample struct {
	give func(Row)
	want string
}

// typeCase is a column type with values at its ends.
type typeCase struct {
	name    string
	typ     string
	show    string // a SELECT expression of column v; "" is v itself
	key     bool   // it can be a primary key, and a delete finds it
	only    xa.Flavour
	samples []sample
}

func integers(values ...int64) []sample {
	var all []sample
	for _, v := range values {
		all = append(all, sample{func(r Row) { r.Int64(v) }, fmt.Sprint(v)})
	}
	return all
}

func decimals(values ...string) []sample {
	var all []sample
	for _, v := range values {
		all = append(all, sample{func(r Row) { r.Decimal(v) }, v})
	}
	return all
}

func stringsOf(values ...string) []sample {
	var all []sample
	for _, v := range values {
		all = append(all, sample{func(r Row) { r.String(v) }, v})
	}
	return all
}

func unsigned(v uint64) sample { return sample{func(r Row) { r.Uint64(v) }, fmt.Sprint(v)} }

func bytesOf(values ...string) []sample {
	var all []sample
	for _, v := range values {
		all = append(all, sample{func(r Row) { r.Bytes([]byte(v)) }, strings.ToUpper(fmt.Sprintf("%x", v))})
	}
	return all
}

func at(layout string, v time.Time) sample {
	return sample{func(r Row) { r.Time(v) }, v.UTC().Format(layout)}
}

const hostile = "quote ' double \" back \\ nul \x00 newline \n return \r tab \t sub \x1a percent % under _ tick ` emoji 😀 漢字 \\' \\\\ ''"

var typeCases = []typeCase{
	{name: "T66 TINYINT(1) is a number", typ: "TINYINT(1)", key: true, samples: integers(2, -1, 0, 1, 127, -128)},
	{name: "TINYINT", typ: "TINYINT UNSIGNED", key: true, samples: integers(0, 255)},
	{name: "SMALLINT", typ: "SMALLINT", key: true, samples: integers(-32768, 32767)},
	{name: "MEDIUMINT", typ: "MEDIUMINT UNSIGNED", key: true, samples: integers(0, 16777215)},
	{name: "INT", typ: "INT", key: true, samples: integers(-2147483648, 2147483647)},
	{name: "INTEGER given as digits", typ: "INT", key: true, samples: decimals("-2147483648", "0", "7")},
	{name: "BIGINT", typ: "BIGINT", key: true, samples: integers(math.MinInt64, -1, 0, math.MaxInt64)},
	{name: "T68 BIGINT UNSIGNED", typ: "BIGINT UNSIGNED", key: true, samples: []sample{unsigned(math.MaxUint64), unsigned(math.MaxInt64 + 1), unsigned(0)}},
	{name: "T68 BIGINT UNSIGNED ZEROFILL", typ: "BIGINT UNSIGNED ZEROFILL", show: "v+0", key: true, samples: []sample{unsigned(math.MaxUint64), unsigned(7)}},
	{name: "BOOL", typ: "BOOLEAN", samples: []sample{{func(r Row) { r.Bool(true) }, "1"}, {func(r Row) { r.Bool(false) }, "0"}}},
	{name: "T67 BIT(1)", typ: "BIT(1)", show: "v+0", key: true, samples: []sample{{func(r Row) { r.Bool(true) }, "1"}, {func(r Row) { r.Int64(0) }, "0"}}},
	{name: "T67 BIT(8)", typ: "BIT(8)", show: "v+0", key: true, samples: integers(255, 0, 0x5c, 0x27)},
	{name: "T67 BIT(64)", typ: "BIT(64)", show: "v+0", key: true, samples: []sample{unsigned(math.MaxUint64), unsigned(1 << 63), unsigned(1)}},
	{name: "YEAR", typ: "YEAR", key: true, samples: []sample{{func(r Row) { r.Int64(0) }, "0"}, {func(r Row) { r.Int64(1901) }, "1901"}, {func(r Row) { r.Decimal("2155") }, "2155"}}},

	{name: "T72 DECIMAL(65,30)", typ: "DECIMAL(65,30)", key: true, samples: decimals(
		strings.Repeat("9", 35)+"."+strings.Repeat("9", 30), "-"+strings.Repeat("9", 35)+"."+strings.Repeat("9", 30),
		"0."+strings.Repeat("0", 29)+"1", "0."+strings.Repeat("0", 30))},
	{name: "DECIMAL(10,2)", typ: "DECIMAL(10,2)", key: true, samples: decimals("12345678.90", "-0.01", "0.00", "99999999.99")},
	{name: "DECIMAL(10,2) given as an integer", typ: "DECIMAL(10,2)", key: true, samples: []sample{{func(r Row) { r.Int64(-5) }, "-5.00"}}},
	{name: "DECIMAL(20) UNSIGNED", typ: "DECIMAL(20,0) UNSIGNED", key: true, samples: []sample{unsigned(math.MaxUint64)}},

	{name: "T73 DOUBLE", typ: "DOUBLE", key: true, samples: doubles(0.1, 1.0/3, math.MaxFloat64, -math.MaxFloat64, 2.2250738585072014e-308, 1e21, -0.5, 9007199254740993, 1e-300)},
	{name: "T73 FLOAT", typ: "FLOAT", show: "v=CAST(0.1 AS FLOAT)", only: xa.MySQL, samples: []sample{{func(r Row) { r.Float64(0.1) }, "1"}, {func(r Row) { r.Float64(float64(float32(0.1))) }, "1"}}},
	{name: "T73 FLOAT as text", typ: "FLOAT", samples: []sample{{func(r Row) { r.Float64(0.1) }, "0.1"}, {func(r Row) { r.Float64(float64(float32(0.1))) }, "0.1"}, {func(r Row) { r.Float64(-2.5) }, "-2.5"}}},
	{name: "DOUBLE given as digits", typ: "DOUBLE", key: true, samples: []sample{{func(r Row) { r.Decimal("12.50") }, "12.5"}, {func(r Row) { r.Int64(-7) }, "-7"}, {func(r Row) { r.Decimal(strings.Repeat("1", 70)) }, "1.1111111111111112e+69"}}},

	{name: "VARCHAR", typ: "VARCHAR(200)", key: true, samples: stringsOf("", hostile, "trailing  ", "NULL", "0", strings.Repeat("é", 200))},
	{name: "CHAR", typ: "CHAR(20)", key: true, samples: []sample{{func(r Row) { r.String("a  ") }, "a"}, {func(r Row) { r.String("😀") }, "😀"}}},
	{name: "TEXT", typ: "TEXT", samples: stringsOf("", hostile)},
	{name: "TINYTEXT", typ: "TINYTEXT", samples: stringsOf(strings.Repeat("x", 255))},
	{name: "MEDIUMTEXT", typ: "MEDIUMTEXT", samples: stringsOf(strings.Repeat("x\\'", 100_000))},
	{name: "LONGTEXT", typ: "LONGTEXT", samples: stringsOf(hostile)},
	{name: "text given as bytes", typ: "VARCHAR(200)", key: true, samples: []sample{{func(r Row) { r.Bytes([]byte(hostile)) }, hostile}, {func(r Row) { r.Bytes(nil) }, ""}}},
	{name: "latin1 VARCHAR", typ: "VARCHAR(20) CHARACTER SET latin1", key: true, samples: stringsOf("café", "ÿ")},
	{name: "T69 SET", typ: "SET('a','b','it''s')", samples: stringsOf("a,b", "", "a,it's", "b")},
	{name: "ENUM", typ: "ENUM('a','7','it''s','😀')", key: true, samples: stringsOf("a", "7", "it's", "😀")},

	{name: "BINARY", typ: "BINARY(4)", show: "HEX(v)", key: true, samples: []sample{
		{func(r Row) { r.Bytes([]byte("\x00\xff'\\")) }, "00FF275C"}, {func(r Row) { r.Bytes([]byte("ab")) }, "61620000"}, {func(r Row) { r.String("\xff") }, "FF000000"}}},
	{name: "VARBINARY", typ: "VARBINARY(255)", show: "HEX(v)", key: true, samples: bytesOf("", "\x00", "\xff\xfe", "a\x00b'\\\n\x1a", everyByte())},
	{name: "BLOB", typ: "BLOB", show: "HEX(v)", samples: bytesOf("", everyByte(), strings.Repeat("\x00\x27\x5c", 10_000))},
	{name: "TINYBLOB", typ: "TINYBLOB", show: "HEX(v)", samples: bytesOf("\xe0\x27\x5c")},
	{name: "MEDIUMBLOB", typ: "MEDIUMBLOB", show: "SHA2(v, 256)", samples: []sample{{func(r Row) { r.Bytes(make([]byte, 1<<20)) }, fmt.Sprintf("%x", sha256.Sum256(make([]byte, 1<<20)))}}},
	{name: "LONGBLOB", typ: "LONGBLOB", show: "HEX(v)", samples: bytesOf(everyByte())},

	{name: "DATE", typ: "DATE", key: true, samples: []sample{at(time.DateOnly, time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC)), at(time.DateOnly, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)), {func(r Row) { r.String("2026-02-28") }, "2026-02-28"}}},
	{name: "DATETIME(6)", typ: "DATETIME(6)", key: true, samples: []sample{
		at("2006-01-02 15:04:05.000000", time.Date(1000, 1, 1, 0, 0, 0, 1000, time.UTC)),
		at("2006-01-02 15:04:05.000000", time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)),
		{func(r Row) { r.String("2026-02-28 01:02:03.000004") }, "2026-02-28 01:02:03.000004"}}},
	{name: "DATETIME rounds half a second up", typ: "DATETIME", key: true, samples: []sample{{func(r Row) { r.Time(time.Date(2026, 12, 31, 23, 59, 59, 500_000_000, time.UTC)) }, "2027-01-01 00:00:00"}}},
	{name: "G023 first year as text", typ: "DATETIME", key: true, samples: stringsOf("0001-01-01 00:00:00", "1000-01-01 00:00:00")},
	{name: "TIMESTAMP(3)", typ: "TIMESTAMP(3) NULL", samples: []sample{
		at("2006-01-02 15:04:05.000", time.Date(1970, 1, 1, 0, 0, 1, 0, time.UTC)),
		at("2006-01-02 15:04:05.000", time.Date(2038, 1, 19, 3, 14, 7, 999_000_000, time.UTC))}},
	{name: "TIMESTAMP as a key", typ: "TIMESTAMP(6)", key: true, samples: []sample{at("2006-01-02 15:04:05.000000", time.Date(2026, 7, 1, 12, 0, 0, 123_456_000, time.UTC))}},
	{name: "TIME(6)", typ: "TIME(6)", key: true, samples: []sample{
		{func(r Row) { r.Duration(838*time.Hour + 59*time.Minute + 59*time.Second) }, "838:59:59.000000"},
		{func(r Row) { r.Duration(-(838*time.Hour + 59*time.Minute + 59*time.Second)) }, "-838:59:59.000000"},
		{func(r Row) { r.Duration(-1 * time.Microsecond) }, "-00:00:00.000001"},
		{func(r Row) { r.String("01:02:03") }, "01:02:03.000000"}}},

	{name: "T71 JSON", typ: "JSON", samples: []sample{
		{func(r Row) { r.JSON([]byte(`null`)) }, "null"},
		{func(r Row) { r.JSON([]byte(`9223372036854775807`)) }, "9223372036854775807"},
		{func(r Row) { r.JSON([]byte(`18446744073709551615`)) }, "18446744073709551615"},
		{func(r Row) { r.String(`"it's \\ \n \" 😀"`) }, `"it's \\ \n \" 😀"`},
		{func(r Row) { r.Bytes([]byte(`[1, 2]`)) }, `[1, 2]`}}},
	{name: "UUID", typ: "UUID", key: true, only: xa.MariaDB, samples: stringsOf("123e4567-e89b-12d3-a456-426655440000")},
	{name: "INET6", typ: "INET6", key: true, only: xa.MariaDB, samples: stringsOf("::1", "2001:db8::ff00:42:8329")},
	{name: "INET4", typ: "INET4", key: true, only: xa.MariaDB, samples: stringsOf("127.0.0.1")},
}

func everyByte() string {
	b := make([]byte, 255)
	for i := range b {
		b[i] = byte(i + 1)
	}
	return string(b)
}

func doubles(values ...float64) []sample {
	var all []sample
	for _, v := range values {
		all = append(all, sample{func(r Row) { r.Float64(v) }, fmt.Sprintf("double %v", v)})
	}
	return all
}

// Every type keeps what it is given, at its ends; as a value of an insert, of an upsert over another row, and as NULL
// (T77: NULL stays NULL, in every type); as a key it is found again by a delete.
func TestT66_T79_EveryTypeKeepsItsValues(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		for n, c := range typeCases {
			t.Run(c.name, func(t *testing.T) {
				if c.only != 0 && c.only != s.Flavour {
					return // the other flavour has no such type
				}
				g := *g
				g.t = t
				name := fmt.Sprintf("t%d", n)
				g.exec(fmt.Sprintf("CREATE TABLE %s (id INT PRIMARY KEY, v %s NULL)", name, c.typ))
				b := g.load(Table{Name: name, Operations: Insert | Upsert}).batch()
				for i, v := range c.samples {
					row := b.Insert(name).Int64(int64(i))
					v.give(row)
				}
				b.Insert(name).Int64(int64(len(c.samples))).Null()
				require.NoError(t, g.write(b))
				g.checkSamples(name, c, "insert")

				b.Reset()
				for i := range c.samples {
					b.Upsert(name).Int64(int64(i)).Null()
				}
				require.NoError(t, g.write(b))
				require.Equal(t, [][]string{{"0"}}, g.rows("SELECT COUNT(v) FROM "+name), "T77: all NULL")
				b.Reset()
				for i, v := range c.samples {
					v.give(b.Upsert(name).Int64(int64(i)))
				}
				require.NoError(t, g.write(b))
				g.checkSamples(name, c, "upsert")

				if !c.key {
					return
				}
				key, pair := name+"k", name+"p"
				g.exec(fmt.Sprintf("CREATE TABLE %s (v %s NOT NULL PRIMARY KEY)", key, c.typ))
				g.exec(fmt.Sprintf("CREATE TABLE %s (n INT, v %s NOT NULL, PRIMARY KEY (v, n))", pair, c.typ))
				b = g.load(Table{Name: key, Operations: Insert | Upsert | Delete}, Table{Name: pair, Operations: Insert | Delete}).batch()
				for _, v := range c.samples {
					v.give(b.Insert(key))
					v.give(b.Insert(pair).Int64(1))
				}
				require.NoError(t, g.write(b))
				want := [][]string{{fmt.Sprint(len(c.samples))}}
				require.Equal(t, want, g.rows("SELECT COUNT(*) FROM "+key))
				b.Reset()
				for _, v := range c.samples {
					v.give(b.Upsert(key))
				}
				require.NoError(t, g.write(b))
				require.Equal(t, want, g.rows("SELECT COUNT(*) FROM "+key), "an upsert finds the row")
				b.Reset()
				for _, v := range c.samples {
					v.give(b.Delete(key))
					row := b.Delete(pair)
					v.give(row)
					row.Int64(1)
				}
				require.NoError(t, g.write(b))
				require.Equal(t, [][]string{{"0"}}, g.rows("SELECT COUNT(*) FROM "+key), "a delete finds the row")
				require.Equal(t, [][]string{{"0"}}, g.rows("SELECT COUNT(*) FROM "+pair), "a delete by two columns finds the row")
			})
		}
	})
}

func (g *target) checkSamples(table string, c typeCase, how string) {
	g.t.Helper()
	show := c.show
	if show == "" {
		show = "v"
	}
	got := g.rows("SELECT " + show + " FROM " + table + " ORDER BY id")
	for i, v := range c.samples {
		want := v.want
		if number, ok := strings.CutPrefix(want, "double "); ok {
			var back, given float64
			_, err := fmt.Sscan(got[i][0], &back)
			require.NoError(g.t, err)
			_, err = fmt.Sscan(number, &given)
			require.NoError(g.t, err)
			require.Equal(g.t, math.Float64bits(given), math.Float64bits(back), "%s of value %d: %s became %s", how, i, number, got[i][0])
			continue
		}
		require.Equal(g.t, want, got[i][0], "%s of value %d", how, i)
	}
	if how == "insert" {
		require.Equal(g.t, nullText, got[len(c.samples)][0], "T77: NULL stays NULL")
	}
}

func TestT76_T78_NullIsNotTheDefault(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (id INT PRIMARY KEY, made TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, n INT DEFAULT 7, s VARCHAR(9) DEFAULT 'x')")
		b := g.load(Table{Name: "t", Operations: Insert | Upsert}).batch()
		b.Insert("t").Int64(1).Null().Null().Null()
		b.Upsert("t").Int64(2).Null().Null().Null()
		b.Upsert("t").Int64(1).Null().Null().Null()
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{{"1", "NULL", "NULL", "NULL"}, {"2", "NULL", "NULL", "NULL"}}, g.rows("SELECT * FROM t ORDER BY id"))

		b = g.load(Table{Name: "t", Columns: []string{"id", "s"}, Operations: Upsert}).batch()
		b.Upsert("t").Int64(3).Null()
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{{"7", "NULL"}}, g.rows("SELECT n, s FROM t WHERE id=3"), "a column that is not written gets its default")
	})
}

func TestT79_HostileNamesAndValues(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		long := strings.Repeat("ü", 64)
		for _, name := range []string{"it's", "a`b", `back\slash`, `dou"ble`, "with space", "sel ect -- #", "漢字", long, "%s", "?", "select"} {
			quoted := quoteName(name)
			g.exec("CREATE TABLE " + quoted + " (" + quoted + " VARCHAR(200) PRIMARY KEY, `n' \\ \"``` INT NOT NULL) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
			c := g.load(Table{Name: name, Operations: Insert | Upsert | Delete, Add: []string{"n' \\ \"`"}})
			b := c.batch()
			b.Insert(name).String(hostile).Int64(1)
			b.Insert(name).String("').drop").Int64(1)
			b.Upsert(name).String(hostile).Int64(41)
			b.Delete(name).String("').drop")
			require.NoError(t, g.write(b), name)
			require.Equal(t, [][]string{{hostile, "42"}}, g.rows("SELECT * FROM "+quoted), name)

			b.Reset()
			b.Insert(name).String("x").Int64(1)
			b.Insert(name).String("y").Int64(1 << 40)
			var row *RowError
			require.ErrorAs(t, g.write(b), &row, name)
			require.Equal(t, RowError{Table: name, Row: 1, Column: "n' \\ \"`", Key: name + "='y'", Code: 1264, Err: row.Err}, *row)
		}
	})
}

// Four-byte characters as value, as key and in a column's name. The servers keep names in utf8mb3: MariaDB refuses
// such a name, MySQL makes it a question mark, and asking for it is an error, not another column.
func TestT79_EmojiInValueAndKey(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		if _, err := g.db.ExecContext(t.Context(), "CREATE TABLE e (`😀` INT)"); s.Flavour == xa.MySQL {
			require.NoError(t, err)
			require.Contains(t, g.problems(Table{Name: "e", Columns: []string{"😀"}})[0], "there is no column 😀: it has ?")
			b := g.load(Table{Name: "e"}).batch()
			b.Insert("e").Int64(1)
			require.NoError(t, g.write(b))
		} else {
			require.Error(t, err)
		}
		g.exec("CREATE TABLE t (`schlüssel ☕` VARCHAR(20) PRIMARY KEY, v TEXT)")
		b := g.load(Table{Name: "t", Operations: Insert | Upsert | Delete}).batch()
		b.Insert("t").String("🚀").String("👩‍👩‍👧")
		b.Upsert("t").String("🚀").String("𝄞")
		b.Insert("t").String("🐟").Null()
		b.Delete("t").String("🐟")
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{{"🚀", "𝄞"}}, g.rows("SELECT * FROM t"))
	})
}

// Changes of one key in one batch act in source order, also when the key itself changes.
func TestT38_T39_ChangesOfOneKeyActInOrder(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9))")
		b := g.load(Table{Name: "t", Operations: Insert | Upsert | Delete}).batch()
		b.Insert("t").Int64(1).String("first")
		b.Upsert("t").Int64(1).String("second")
		b.Delete("t").Int64(1)
		b.Insert("t").Int64(1).String("last")
		b.Insert("t").Int64(2).String("moves")
		b.Delete("t").Int64(2)
		b.Insert("t").Int64(7).String("moves")
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{{"1", "last"}, {"7", "moves"}}, g.rows("SELECT * FROM t ORDER BY id"))
	})
}

func TestT42_KeysOnlyAndAddedColumns(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE links (a INT, b INT, PRIMARY KEY (a, b))")
		g.exec("CREATE TABLE totals (k VARCHAR(9) PRIMARY KEY, n BIGINT NOT NULL, amount DECIMAL(20,2) NOT NULL, note VARCHAR(9))")
		b := g.load(Table{Name: "links", Operations: Upsert | Delete},
			Table{Name: "totals", Operations: Upsert, Add: []string{"N", "amount"}}).batch()
		for range 2 {
			b.Reset()
			b.Upsert("links").Int64(1).Int64(2)
			b.Upsert("links").Int64(1).Int64(2)
			b.Upsert("totals").String("a").Int64(1).Decimal("0.10").String("x")
			b.Upsert("totals").String("b").Int64(-1).Decimal("-0.10").Null()
			b.Upsert("totals").String("a").Int64(2).Decimal("1").String("y")
			require.NoError(t, g.write(b))
		}
		require.Equal(t, [][]string{{"1", "2"}}, g.rows("SELECT * FROM links"))
		require.Equal(t, [][]string{{"a", "6", "2.20", "y"}, {"b", "-2", "-0.20", "NULL"}}, g.rows("SELECT * FROM totals ORDER BY k"))
	})
}

func TestT65_G017_BatchLargerThanAPacketIsSplit(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		columns := strings.Repeat(",c%d INT", 64)
		args := make([]any, 64)
		for i := range args {
			args[i] = i
		}
		g.exec("CREATE TABLE wide (id INT PRIMARY KEY" + fmt.Sprintf(columns, args...) + ")")
		g.exec("CREATE TABLE large (id INT PRIMARY KEY, v LONGTEXT)")
		c := g.load(Table{Name: "wide"}, Table{Name: "large"})
		b := c.batch()
		const rows = 1100 // 65 columns of them are more than 65,535 values
		for i := range rows {
			row := b.Insert("wide").Int64(int64(i))
			for range 64 {
				row = row.Int64(int64(i))
			}
		}
		piece := strings.Repeat("x", g.can.MaxPacket/10)
		for i := range 31 {
			b.Insert("large").Int64(int64(i)).String(piece)
		}
		require.Greater(t, b.Bytes(), 3*g.can.MaxPacket-len(piece))
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{{fmt.Sprint(rows), fmt.Sprint(rows * (rows - 1) / 2)}}, g.rows("SELECT COUNT(*), SUM(c63) FROM wide"))
		require.Equal(t, [][]string{{"31", fmt.Sprint(31 * len(piece))}}, g.rows("SELECT COUNT(*), SUM(LENGTH(v)) FROM large"))
	})
}

// One row may fill a packet up to the slack, and the server takes it.
func TestG015_LargestRowThatIsAllowedIsTaken(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE large (id INT PRIMARY KEY, v LONGTEXT)")
		c := g.load(Table{Name: "large"})
		room := c.maxStatement() - c.tables[0].overhead(Insert) - len("(1,'')")
		b := c.batch()
		b.Insert("large").Int64(1).String(strings.Repeat("x", room+1))
		var row *RowError
		require.ErrorAs(t, g.write(b), &row)
		require.Equal(t, "id=1", row.Key)
		require.Equal(t, "v", row.Column)
		b.Reset()
		b.Insert("large").Int64(1).String(strings.Repeat("x", room))
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{{fmt.Sprint(room)}}, g.rows("SELECT LENGTH(v) FROM large"))
	})
}

// A TIMESTAMP is the same point in time whatever the zone of the sessions, a DATETIME is the local time there.
func TestTimesFollowTheSessionsZone(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (id INT PRIMARY KEY, stamp TIMESTAMP(6) NULL, local DATETIME(6), day DATE)")
		server, err := xa.Connect(t.Context(), xa.Config{DSN: s.DSN(g.database), TimeZone: "+05:30"})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, server.Close()) })
		east := *g
		east.db, east.zone = server.DB(), time.FixedZone("+05:30", 19800)
		v := time.Date(2026, 7, 1, 20, 0, 0, 123_456_000, time.UTC)
		for i, from := range []*target{g, &east} {
			b := from.load(Table{Name: "t"}).batch()
			b.Insert("t").Int64(int64(i)).Time(v).Time(v).Time(v)
			require.NoError(t, from.write(b))
		}
		require.Equal(t, [][]string{
			{"2026-07-01 20:00:00.123456", "2026-07-01 20:00:00.123456", "2026-07-01"},
			{"2026-07-01 20:00:00.123456", "2026-07-02 01:30:00.123456", "2026-07-02"},
		}, g.rows("SELECT stamp, local, day FROM t ORDER BY id"))
	})
}
