package txnsink

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fake is a catalog without a server.
func fake(tables ...*table) *catalog {
	c := &catalog{byName: map[string]*table{}, zone: time.UTC, fixed: true, maxPacket: 64 << 20}
	for i, t := range tables {
		t.index = i
		c.tables = append(c.tables, t)
		c.byName[t.name] = t
	}
	c.lanes = lanesOf(c.tables)
	return c
}

// fakeTable has the first keys columns as its primary key.
func fakeTable(name string, ops Operation, keys int, add []string, columns ...column) *table {
	t := &table{name: name, database: "db", base: name, quoted: "`db`.`" + name + "`", operations: ops, columns: columns, uniqueKeys: 1}
	adds := map[string]bool{}
	for _, a := range add {
		adds[a] = true
	}
	for i := range columns {
		columns[i].quoted = quoteName(columns[i].name)
	}
	for i := range keys {
		t.key = append(t.key, columns[i])
		t.keyAt = append(t.keyAt, i)
	}
	t.unique = []uniqueKey{{name: "PRIMARY", at: t.keyAt}}
	t.insertOnly = ops == Insert
	t.prepare(adds)
	return t
}

func integer(name string) column { return column{name: name, typ: "bigint", class: classInteger} }
func text(name string) column {
	return column{name: name, typ: "varchar(20)", class: classText, nullable: true}
}

func flights() *table {
	return fakeTable("flights", Insert, 1, nil, integer("id"), text("carrier"),
		column{name: "delay", typ: "double", class: classFloat, nullable: true})
}

func totals() *table {
	return fakeTable("totals", Upsert|Delete, 2, []string{"n"}, text("airport"), integer("year"), integer("n"), text("note"))
}

func prices() *table {
	return fakeTable("prices", Insert|Upsert, 1, nil, integer("id"),
		column{name: "price", typ: "decimal(6,2)", class: classDecimal, precision: 6, scale: 2})
}

func TestBatchCountsWhatItHolds(t *testing.T) {
	c := fake(flights(), totals())
	b := c.batch()
	require.Zero(t, b.Len())
	b.Insert("flights").Int64(1).String("AA").Float64(1.5)
	b.Delete("totals").String("JFK").Int64(2026)
	b.Insert("flights").Int64(2).Null().Null()
	require.NoError(t, b.validate())
	require.Equal(t, 3, b.Len())
	require.Equal(t, len(`(1,'AA',1.5e+00)(.airport.='JFK' AND .year.=2026)(2,NULL,NULL)`), b.Bytes())
	require.Equal(t, 2, b.rowsOf(c.tables[0]))
	require.Equal(t, 1, b.rowsOf(c.tables[1]))
	require.Equal(t, []int{0, 1}, b.lanes(nil))
	require.True(t, b.belongs(c))
	require.False(t, b.belongs(fake(flights(), totals())))

	b.Reset()
	require.Zero(t, b.Len())
	require.Zero(t, b.Bytes())
	require.Empty(t, b.lanes(nil))
	b.Delete("totals").String("JFK").Int64(2026)
	require.NoError(t, b.validate())
	require.Equal(t, []int{1}, b.lanes(nil))
}

// Every misuse is an error that names row, table and column, and says what to do; nothing of the batch is sent.
func TestBatchReportsEveryMisuse(t *testing.T) {
	whole := column{name: "v", nullable: true}
	of := func(class class, typ string) column { c := whole; c.class, c.typ = class, typ; return c }
	auto := of(classInteger, "bigint")
	auto.auto, auto.nullable = true, false
	enum := of(classEnum, "enum('a','7')")
	enum.members = []string{"a", "7"}
	one := func(c column) *catalog { return fake(fakeTable("t", Insert, 0, nil, c)) }
	for _, c := range []struct {
		name   string
		tables *catalog
		fill   func(b *Batch)
		column string
		say    string
	}{
		{"unknown table", fake(flights()), func(b *Batch) { b.Insert("flight").Int64(1).Null() }, "", "no table of this name: list it in Tables (there are flights)"},
		{"operation not declared", fake(flights()), func(b *Batch) { b.Upsert("flights").Int64(1).Null().Null() }, "", "upsert is not declared for this table, only insert"},
		{"too few values", fake(flights()), func(b *Batch) { b.Insert("flights").Int64(1) }, "carrier", "1 of 3 values"},
		{"no value", fake(flights()), func(b *Batch) { b.Insert("flights") }, "id", "0 of 3 values"},
		{"too many values", fake(flights()), func(b *Batch) { b.Insert("flights").Int64(1).Null().Null().Int64(7) }, "", "4 values for 3 columns (id, carrier, delay)"},
		{"values of a delete", fake(totals()), func(b *Batch) { b.Delete("totals").String("JFK").Int64(1).Int64(2) }, "", "3 values for 2 columns (airport, year)"},
		{"text for a number", fake(flights()), func(b *Batch) { b.Insert("flights").String("1").Null().Null() }, "id", "bigint and takes Int64, Uint64, Bool, Decimal or Null, not String"},
		{"float for a decimal", fake(prices()), func(b *Batch) { b.Insert("prices").Int64(1).Float64(1.5) }, "price", "not Float64"},
		{"decimal would be rounded", fake(prices()), func(b *Batch) { b.Insert("prices").Int64(1).Decimal("1.005") }, "price", "3 digits behind the point, the column is decimal(6,2) and would round"},
		{"decimal too large", fake(prices()), func(b *Batch) { b.Insert("prices").Int64(1).Decimal("12345") }, "price", "5 digits before the point"},
		{"decimal is no number", fake(prices()), func(b *Batch) { b.Insert("prices").Int64(1).Decimal("1e3") }, "price", "not an exact number"},
		{"fraction for an integer", fake(prices()), func(b *Batch) { b.Insert("prices").Decimal("1.5").Decimal("1") }, "id", "fraction"},
		{"NULL for NOT NULL", fake(flights()), func(b *Batch) { b.Insert("flights").Null().Null().Null() }, "id", "NOT NULL"},
		{"NULL for an automatic number", one(auto), func(b *Batch) { b.Insert("t").Null() }, "v", "leave it out of Columns"},
		{"0 for an automatic number", one(auto), func(b *Batch) { b.Insert("t").Int64(0) }, "v", "its next number"},
		{"0 as digits for an automatic number", one(auto), func(b *Batch) { b.Insert("t").Decimal("0.0") }, "v", "its next number"},
		{"text that is no UTF-8", fake(flights()), func(b *Batch) { b.Insert("flights").Int64(1).String("caf\xe9").Null() }, "carrier", "not UTF-8"},
		{"bytes that are no UTF-8", fake(flights()), func(b *Batch) { b.Insert("flights").Int64(1).Bytes([]byte{0xff}).Null() }, "carrier", "not UTF-8"},
		{"NaN", fake(flights()), func(b *Batch) { b.Insert("flights").Int64(1).Null().Float64(math.NaN()) }, "delay", "NaN"},
		{"infinity", fake(flights()), func(b *Batch) { b.Insert("flights").Int64(1).Null().Float64(math.Inf(-1)) }, "delay", "infinity"},
		{"zero time", one(of(classDateTime, "datetime")), func(b *Batch) { b.Insert("t").Time(time.Time{}) }, "v", "zero time.Time"},
		{"zero time for TIME", one(of(classTime, "time")), func(b *Batch) { b.Insert("t").Time(time.Time{}) }, "v", "takes String, Duration or Null, not Time"},
		{"year 0", one(of(classDate, "date")), func(b *Batch) { b.Insert("t").Time(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)) }, "v", "1 to 9999"},
		{"long duration", one(of(classTime, "time")), func(b *Batch) { b.Insert("t").Duration(900 * time.Hour) }, "v", "838:59:59"},
		{"short year", one(of(classYear, "year")), func(b *Batch) { b.Insert("t").Int64(26) }, "v", "0 or 1901 to 2155"},
		{"short year as digits", one(of(classYear, "year")), func(b *Batch) { b.Insert("t").Decimal("70") }, "v", "0 or 1901 to 2155"},
		{"huge year", one(of(classYear, "year")), func(b *Batch) { b.Insert("t").Uint64(math.MaxUint64) }, "v", "not a year"},
		{"negative bits", one(of(classBit, "bit(64)")), func(b *Batch) { b.Insert("t").Int64(-1) }, "v", "negative"},
		{"member's number", one(enum), func(b *Batch) { b.Insert("t").String("2") }, "v", "take it for a member's number"},
		{"empty JSON", one(of(classJSON, "json")), func(b *Batch) { b.Insert("t").JSON(nil) }, "v", "no JSON document"},
		{"value after the next row began", fake(prices()), func(b *Batch) {
			first := b.Insert("prices").Int64(1)
			first.Decimal("1")
			b.Insert("prices").Int64(2).Decimal("2")
			first.Decimal("3")
		}, "", "after the next one had begun"},
		{"value after Reset", fake(prices()), func(b *Batch) {
			old := b.Insert("prices")
			b.Reset()
			old.Int64(1)
		}, "", "after the next one had begun"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.tables.batch()
			c.fill(b)
			err := b.validate()
			require.ErrorContains(t, err, c.say)
			require.ErrorContains(t, err, "nothing of the batch was written")
			var row *RowError
			require.ErrorAs(t, err, &row)
			require.Equal(t, c.column, row.Column)
			require.Zero(t, row.Code)
			require.Error(t, b.validate(), "asked again it is still wrong")
		})
	}
}

func TestMemberOfDigitsIsAMember(t *testing.T) {
	enum := column{name: "v", class: classEnum, typ: "enum('a','7')", members: []string{"a", "7"}}
	b := fake(fakeTable("t", Insert, 0, nil, enum)).batch()
	for _, v := range []string{"a", "7", "7 ", "", "x"} {
		b.Insert("t").String(v)
	}
	require.NoError(t, b.validate(), "what is neither a member nor digits is the server's to refuse")
	for _, v := range []string{"1", " 1", "+1", "2 "} {
		b.Reset()
		b.Insert("t").String(v)
		require.Error(t, b.validate(), "%q", v)
	}
}

func TestLateValueAfterWriteIsReported(t *testing.T) {
	b := fake(prices()).batch()
	r := b.Insert("prices").Int64(1).Decimal("1")
	require.NoError(t, b.validate())
	r.Decimal("2")
	require.ErrorContains(t, b.validate(), "after the next one had begun, or the batch was written")
}

// All problems come at once, the first ten of them, each with the key of its row.
func TestBatchReportsTenProblemsAndCountsTheRest(t *testing.T) {
	b := fake(totals(), prices()).batch()
	b.Upsert("totals").String("JFK").Int64(2026).Int64(1).String("\xff")
	b.Upsert("prices").Int64(7).Decimal("x")
	for i := range 20 {
		b.Upsert("prices").Int64(int64(i)).Decimal("0.001")
	}
	b.Upsert("prices").Null()
	err := b.validate()
	require.ErrorContains(t, err, "it has 24 problems")
	require.ErrorContains(t, err, "and 14 more")
	var all *batchError
	require.ErrorAs(t, err, &all)
	require.Len(t, all.problems, maxProblems)
	var first, second *RowError
	require.ErrorAs(t, all.problems[0], &first)
	require.ErrorAs(t, all.problems[1], &second)
	require.Equal(t, RowError{Table: "totals", Row: 0, Column: "note", Key: "airport='JFK', year=2026", Err: first.Err}, *first)
	require.Equal(t, RowError{Table: "prices", Row: 1, Column: "price", Key: "id=7", Err: second.Err}, *second)
	require.Equal(t, len(all.problems)+1, strings.Count(err.Error(), "\n"), "one line each")
	b.Reset()
	b.Upsert("prices").Int64(1).Decimal("1")
	require.NoError(t, b.validate(), "problems are gone with the rows")
}

func TestKeysAreShownShortAndSafe(t *testing.T) {
	k := func(c column, fill func(Row)) string {
		b := fake(fakeTable("t", Insert, 1, nil, c)).batch()
		fill(b.Insert("t"))
		require.NoError(t, b.validate())
		return b.keyOf(0)
	}
	require.Equal(t, "v=-5", k(integer("v"), func(r Row) { r.Int64(-5) }))
	require.Equal(t, "v='it''s'", k(text("v"), func(r Row) { r.String("it's") }))
	require.Equal(t, `v='a\nb\x00'`, k(text("v"), func(r Row) { r.String("a\nb\x00") }))
	require.Equal(t, "v='"+strings.Repeat("é", 40)+"…'", k(text("v"), func(r Row) { r.String(strings.Repeat("é", 1000)) }))
	require.Equal(t, "v=X'00ff'", k(column{name: "v", class: classBinary}, func(r Row) { r.Bytes([]byte{0, 0xff}) }))
	require.Equal(t, "v=NULL", k(text("v"), func(r Row) { r.Null() }))
}

func TestG015_RowLargerThanAPacketIsNamedBeforeAnythingIsSent(t *testing.T) {
	c := fake(fakeTable("docs", Insert, 1, nil, integer("id"), text("title"), text("body")))
	c.maxPacket = 4096
	b := c.batch()
	b.Insert("docs").Int64(1).String("small").String("small")
	b.Insert("docs").Int64(2).String("large").String(strings.Repeat("x", 5000))
	b.Insert("docs").Int64(3).String("fits").String(strings.Repeat("x", 3900))
	err := b.validate()
	var row *RowError
	require.ErrorAs(t, err, &row)
	require.Equal(t, "docs", row.Table)
	require.Equal(t, 1, row.Row)
	require.Equal(t, "id=2", row.Key)
	require.Equal(t, "body", row.Column)
	require.ErrorContains(t, err, "max_allowed_packet is 4096")
	require.Regexp(t, `the row is 5\d\d\d bytes`, err.Error())
	require.NotContains(t, err.Error(), "problems")
}

func TestAppendFromCopiesRowsInOrder(t *testing.T) {
	c := fake(flights(), totals())
	whole, parts := c.batch(), c.batch()
	for i := range 3 {
		part := c.batch()
		for _, b := range []*Batch{whole, part} {
			b.Insert("flights").Int64(int64(i)).String("it's").Null()
			b.Delete("totals").String("x").Int64(int64(i))
		}
		require.NoError(t, part.validate())
		parts.appendFrom(part)
	}
	require.NoError(t, whole.validate())
	require.NoError(t, parts.validate())
	require.Equal(t, texts(t, whole), texts(t, parts))
	require.Equal(t, whole.Len(), parts.Len())
	require.Equal(t, whole.Bytes(), parts.Bytes())
	require.Equal(t, whole.count, parts.count)
	parts.Insert("flights").Int64(9).Null().Null()
	require.NoError(t, parts.validate(), "rows may follow")
	require.Contains(t, fmt.Sprint(texts(t, parts)), "(9,NULL,NULL)")
}

// Adding rows to a warm batch, and making statements of them, allocates nothing per row.
func TestBatchAllocatesNothingPerRow(t *testing.T) {
	const rows = 10_000
	c := fake(flights(), totals(), prices())
	b, e := c.batch(), newEncoder(c, 1000)
	name, at := "it's a carrier", []byte("note")
	total := 0
	fill := func() {
		b.Reset()
		for i := range rows / 4 {
			b.Insert("flights").Int64(int64(i)).String(name).Float64(1.25)
			b.Upsert("totals").String("JFK").Uint64(2026).Int64(1).Bytes(at)
			b.Upsert("prices").Int64(int64(i)).Decimal("12.30")
		}
		for i := range rows / 4 {
			b.Delete("totals").String("JFK").Int64(int64(i))
		}
		if err := b.validate(); err != nil {
			panic(err)
		}
		for lane := range c.lanes {
			err := e.statements(b, lane, func(s statement) error { total += len(s.rows); return s.checkAffected(int64(len(s.rows))) })
			if err != nil {
				panic(err)
			}
		}
	}
	fill()
	total = 0
	perRow := testing.AllocsPerRun(5, fill) / rows
	require.NotZero(t, total)
	t.Logf("%.5f allocations a row", perRow)
	require.LessOrEqual(t, perRow, 0.02)
}

var errStop = errors.New("stop")

// texts are the statements of all lanes of b.
func texts(t *testing.T, b *Batch) []string {
	t.Helper()
	var all []string
	e := newEncoder(b.catalog, 0)
	for lane := range b.catalog.lanes {
		require.NoError(t, e.statements(b, lane, func(s statement) error { all = append(all, s.sql); return nil }))
	}
	return all
}

func BenchmarkRowsToStatements(bench *testing.B) {
	c := fake(flights())
	b, e := c.batch(), newEncoder(c, 1000)
	note := strings.Repeat("a carrier's name ", 5)
	bench.ReportAllocs()
	for bench.Loop() {
		b.Reset()
		for i := range 10_000 {
			b.Insert("flights").Int64(int64(i)).String(note).Float64(float64(i) / 3)
		}
		if err := b.validate(); err != nil {
			bench.Fatal(err)
		}
		if err := e.statements(b, 0, func(statement) error { return nil }); err != nil {
			bench.Fatal(err)
		}
	}
	bench.ReportMetric(float64(bench.Elapsed().Nanoseconds())/float64(bench.N)/10_000, "ns/row")
}
