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

	{name: "T73 DOUBLE", typ: "DOUBLE", key: true, samples: doubles(0.1, 1.0/3, math.MaxFloat64, -math.MaxFloat64, 2.2250738585072014e-308, 5e-324, 1e21, -0.5, 9007199254740993, 1e-300)},
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
