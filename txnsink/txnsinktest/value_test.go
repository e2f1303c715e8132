package txnsinktest

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/txnsink/internal/coltype"
	"github.com/xasink/xasink/xa"
)

// values are texts as rows have them, by the type of their column, with what is kept of them or the number of the
// error. Each is tried on real servers as well.
var values = []struct {
	typ   string
	cases map[string]any
	mysql bool // MariaDB does otherwise: it cuts digits of a second, and has timestamps up to 2106
}{
	{typ: "tinyint", cases: map[string]any{"127": "127", "-128": "-128", "128": 1264, "-129": 1264, "0": "0"}},
	{typ: "tinyint unsigned", cases: map[string]any{"255": "255", "256": 1264, "-1": 1264}},
	{typ: "smallint", cases: map[string]any{"32767": "32767", "32768": 1264}},
	{typ: "mediumint", cases: map[string]any{"-8388608": "-8388608", "8388608": 1264}},
	{typ: "int(5)", cases: map[string]any{"2147483647": "2147483647", "-2147483649": 1264}},
	{typ: "bigint", cases: map[string]any{"9223372036854775807": "9223372036854775807", "9223372036854775808": 1264, "-9223372036854775808": "-9223372036854775808"}},
	{typ: "bigint unsigned", cases: map[string]any{"18446744073709551615": "18446744073709551615", "18446744073709551616": 1264, "-1": 1264}},
	{typ: "decimal(5,2)", cases: map[string]any{"1": "1.00", "-0.5": "-0.50", "999.99": "999.99", "1000": 1264, "-1000.00": 1264, "0": "0.00", "0.01": "0.01"}},
	{typ: "decimal(3,0) unsigned", cases: map[string]any{"999": "999", "1000": 1264, "-1": 1264}},
	{typ: "double", cases: map[string]any{"1.5e0": "1.5", "-2e+00": "-2", "1e400": 1367, "0e0": "0", "3e+20": "3e20"}},
	{typ: "float unsigned", cases: map[string]any{"0.25e0": "0.25", "1e39": 1264, "-1e0": 1264}},
	{typ: "year", cases: map[string]any{"2026": "2026", "0": "0000", "1901": "1901"}},
	{typ: "char(3)", cases: map[string]any{"a": "a", "a  ": "a", "äöü": "äöü", "abcd": 1406, "abc  ": "abc", "": ""}},
	{typ: "varchar(3)", cases: map[string]any{"a  ": "a  ", "äöü": "äöü", "abcd": 1406, "abc  ": "abc"}},
	{typ: "tinytext", cases: map[string]any{strings.Repeat("a", 255): strings.Repeat("a", 255), strings.Repeat("a", 256): 1406}},
	{typ: "binary(3)", cases: map[string]any{"a": "a\x00\x00", "\xff\x00b": "\xff\x00b", "abcd": 1406}},
	{typ: "varbinary(3)", cases: map[string]any{"a\x00": "a\x00", "abcd": 1406}},
	{typ: "tinyblob", cases: map[string]any{strings.Repeat("\xff", 256): 1406}},
	{typ: "enum('New','it''s')", cases: map[string]any{"new": "New", "it's": "it's", "it's ": "it's", "old": 1265}},
	{typ: "set('a','b','c')", cases: map[string]any{"c,A,c": "a,c", "": "", "a,x": 1265}},
	{typ: "date", cases: map[string]any{"2026-02-28": "2026-02-28", "2026-02-30": 1292, "0000-00-00": "0000-00-00", "2026-13-01": 1292, "soon": 1292}},
	{typ: "datetime", cases: map[string]any{"2026-02-28 01:02:03": "2026-02-28 01:02:03", "2026-02-28": "2026-02-28 00:00:00",
		"2026-02-28T01:02:03": "2026-02-28 01:02:03", "2026-02-28 25:00:00": 1292,
		"0000-00-00 00:00:00": "0000-00-00 00:00:00", "0000-00-00": "0000-00-00 00:00:00"}},
	{typ: "datetime(3)", cases: map[string]any{"9999-12-31 00:00:00": "9999-12-31 00:00:00.000"}},
	{typ: "timestamp(6)", cases: map[string]any{"2026-02-28 01:02:03.25": "2026-02-28 01:02:03.250000", "1960-01-01 00:00:00": 1292}},
	{typ: "time", cases: map[string]any{"01:02:03": "01:02:03", "-838:59:59": "-838:59:59", "839:00:00": 1292, "xx": 1292}},
	{typ: "time(2)", cases: map[string]any{"100:00:00.12": "100:00:00.12", "-00:00:01": "-00:00:01.00", "00:60:00": 1292}},
	{typ: "datetime", mysql: true, cases: map[string]any{"2026-02-28 23:59:59.5": "2026-03-01 00:00:00"}},
	{typ: "timestamp(3)", mysql: true, cases: map[string]any{"2026-02-28 01:02:03.0005": "2026-02-28 01:02:03.001", "2040-01-01 00:00:00": 1292}},
	{typ: "time(2)", mysql: true, cases: map[string]any{"100:00:00.126": "100:00:00.13", "01:02:03.999": "01:02:04.00"}},
	{typ: "bit(3)", cases: map[string]any{"7": "7", "8": 1406}},
	{typ: "json", cases: map[string]any{`{"a":1}`: `{"a":1}`, "{": 3140, "null": "null"}},
}

func TestValuesAreKeptOrRefusedAsStrictModeDoesIt(t *testing.T) {
	for _, v := range values {
		typ, err := coltype.Parse(v.typ)
		require.NoError(t, err)
		for text, want := range v.cases {
			got, wrong := stored(typ, text)
			if code, refused := want.(int); refused {
				if code == 1367 { // a literal that no server reads; a batch never has one
					code = 1264
				}
				require.NotNil(t, wrong, "%s %q was kept as %q", v.typ, text, got)
				require.Equal(t, uint16(code), wrong.code, "%s %q", v.typ, text)
				continue
			}
			require.Nil(t, wrong, "%s %q", v.typ, text)
			require.Equal(t, want, got, "%s %q", v.typ, text)
		}
	}
}

// The lists above are what real servers do.
func TestValuesOfTheTestAreThoseOfServers(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		database := server.Database(t)
		// The settings of the sink's sessions.
		db, err := sql.Open("mysql", server.DSN(database)+"?charset=utf8mb4&interpolateParams=true&time_zone=%27%2B00%3A00%27"+
			"&sql_mode=%27STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_VALUE_ON_ZERO%27")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		for i, v := range values {
			if v.mysql && server.Flavour != xa.MySQL {
				continue
			}
			table := fmt.Sprintf("t%d", i)
			servertest.Exec(t, db, fmt.Sprintf("CREATE TABLE %s (id INT AUTO_INCREMENT PRIMARY KEY, v %s NULL) CHARACTER SET utf8mb4", table, v.typ))
			typ, err := coltype.Parse(v.typ)
			require.NoError(t, err)
			_, number := bits[typ.Name]
			number = number || slices.Contains([]string{"decimal", "double", "float", "bit", "year"}, typ.Name)
			shown := "v"
			switch typ.Name {
			case "bit":
				shown = "v+0"
			case "float", "double", "year":
				shown = "CAST(v AS CHAR)"
			}
			for text, want := range v.cases {
				var result sql.Result
				switch {
				case number:
					result, err = db.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO %s (v) VALUES (%s)", table, text))
				case strings.Contains(typ.Name, "binary") || strings.Contains(typ.Name, "blob"):
					result, err = db.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO %s (v) VALUES (?)", table), []byte(text))
				default:
					result, err = db.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO %s (v) VALUES (?)", table), text)
				}
				if code, refused := want.(int); refused {
					if typ.Name == "json" && server.Flavour == xa.MariaDB {
						code = 4025 // there JSON is a text with a CHECK
					}
					var e *mysql.MySQLError
					require.ErrorAs(t, err, &e, "%s %q was kept", v.typ, text)
					require.Equal(t, uint16(code), e.Number, "%s %q: %s", v.typ, text, e.Message)
					continue
				}
				require.NoError(t, err, "%s %q", v.typ, text)
				id, err := result.LastInsertId()
				require.NoError(t, err)
				var got string
				require.NoError(t, db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT %s FROM %s WHERE id = %d", shown, table, id)).Scan(&got))
				if typ.Name == "json" {
					got = strings.ReplaceAll(got, " ", "") // MySQL writes it in its own form
				}
				require.Equal(t, want, got, "%s %q", v.typ, text)
			}
		}
	})
}

func TestSumsAreExactAndInRange(t *testing.T) {
	for _, c := range []struct {
		typ, have, add string
		want           any
	}{
		{"bigint", "9223372036854775806", "1", "9223372036854775807"},
		{"bigint", "9223372036854775807", "1", codeSumTooBig},
		{"bigint unsigned", "18446744073709551615", "1", codeSumTooBig},
		{"int", "2147483647", "1", codeOutOfRange},
		{"tinyint", "-100", "-28", "-128"},
		{"decimal(20,2)", "0.10", "0.20", "0.30"},
		{"decimal(20,2)", "-0.05", "0.05", "0.00"},
		{"decimal(20,2)", "-0.05", "0.04", "-0.01"},
		{"decimal(4,2)", "99.99", "0.01", codeOutOfRange},
		{"decimal(4,0)", "9998", "1", "9999"},
	} {
		typ, err := coltype.Parse(c.typ)
		require.NoError(t, err)
		got, wrong := sum(typ, c.have, c.add)
		if code, refused := c.want.(int); refused {
			require.NotNil(t, wrong, "%s: %s + %s = %s", c.typ, c.have, c.add, got)
			require.Equal(t, uint16(code), wrong.code)
			continue
		}
		require.Nil(t, wrong)
		require.Equal(t, c.want, got, "%s: %s + %s", c.typ, c.have, c.add)
	}
}

func TestKeysAreSortedAsNumbersWhereTheyAre(t *testing.T) {
	for typ, sorted := range map[string][]string{
		"bigint":       {"-10", "-9", "0", "2", "10"},
		"decimal(5,2)": {"-1.50", "0.00", "2.25", "10.00"},
		"double":       {"-1e20", "0.5", "3", "1e20"},
		"varchar(9)":   {"", "10", "9", "a"},
	} {
		parsed, err := coltype.Parse(typ)
		require.NoError(t, err)
		got := slices.Clone(sorted)
		slices.Reverse(got)
		slices.SortFunc(got, func(a, b string) int { return compare(parsed, a, b) })
		require.Equal(t, sorted, got, typ)
	}
}
