package txnsink

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shop are the layouts of a small shop.
var shop = []Layout{
	{Name: "events", Columns: []LayoutColumn{{Name: "id", Type: "bigint"}, {Name: "body", Type: "varchar(20)", Nullable: true}}},
	{
		Name: "totals", Key: []string{"NAME", "year"},
		Columns: []LayoutColumn{
			{Name: "year", Type: "int"}, {Name: "name", Type: "varchar(20)", Nullable: true}, {Name: "n", Type: "bigint unsigned"},
			{Name: "amount", Type: "decimal(20,2)"}, {Name: "at", Type: "datetime(3)", Nullable: true},
		},
	},
	{Name: "far.orders", Key: []string{"id"}, Columns: []LayoutColumn{{Name: "id", Type: "bigint"}, {Name: "raw", Type: "varbinary(9)"}}, Unique: [][]string{{"raw"}}},
	{Name: "items", Columns: []LayoutColumn{{Name: "id", Type: "int"}}, References: []string{"far.orders"}},
	{Name: "tree", Columns: []LayoutColumn{{Name: "id", Type: "int"}}, References: []string{"tree"}},
}

func shopConfig(tables ...Table) WriterConfig { return WriterConfig{Job: "shop", Tables: tables} }

func TestSchemaDealsTablesToLanesAsAServersTablesAre(t *testing.T) {
	s, err := NewSchema(WriterConfig{Job: "shop", MaxSegmentRows: 50, Tables: []Table{
		{Name: "events", MaxSegmentRows: 7}, {Name: "far.orders"}, {Name: "totals", Operations: Insert | Upsert}, {Name: "items"},
		{Name: "tree"},
	}}, shop)
	require.NoError(t, err)
	require.Equal(t, []Lane{
		{Number: 2, Tables: []string{"main.events"}, Splittable: true, MaxSegmentRows: 7},
		{Number: 3, Tables: []string{"far.orders", "main.items"}, MaxSegmentRows: 50},
		{Number: 4, Tables: []string{"main.totals"}, Splittable: true, MaxSegmentRows: 50},
		{Number: 5, Tables: []string{"main.tree"}, MaxSegmentRows: 50},
	}, s.Lanes())
	require.Equal(t, defaultMaxPending, s.Config().MaxPending)
	require.Empty(t, s.Config().DSN)
}

func TestSchemaTellsAllProblemsAtOnce(t *testing.T) {
	layouts := append([]Layout{
		{Name: "events"},
		{Name: "odd", Key: []string{"nope"}, Unique: [][]string{{}}, Columns: []LayoutColumn{
			{Name: "a", Type: "varchar"}, {Name: "b", Type: "int"}, {Name: "B", Type: "int"}}},
		{Name: "empty"},
		{Name: "spot", Columns: []LayoutColumn{{Name: "p", Type: "point"}}},
		{Name: "strict", Columns: []LayoutColumn{{Name: "a", Type: "int"}, {Name: "b", Type: "int"}}},
	}, shop...)
	_, err := NewSchema(WriterConfig{Job: "Shop", MaxPending: 1, BatchRows: -1, TimeZone: "Mars/Olympus", Tables: []Table{
		{Name: "a.b.c"}, {Name: "absent"}, {Name: "odd"}, {Name: "empty"}, {Name: "spot"}, {Name: "strict", Columns: []string{"b"}},
		{Name: "far.orders", Operations: Upsert}, {Name: "totals", Operations: Upsert, Add: []string{"at"}},
		{Name: "items"}, {Name: "tree"}, {Name: "tree"}, {Name: "main.items"},
	}}, layouts)
	var problems *ConfigError
	require.ErrorAs(t, err, &problems)
	for _, want := range []string{
		"Job: ", "BatchRows is -1", "Mars/Olympus", "MaxPending is 1",
		"table events: it has two layouts",
		`table "a.b.c": the name is not of the form`,
		"table absent: there is no layout of it: there are empty, events, far.orders, items, odd, spot, strict, totals, tree",
		`table odd: column a of its layout: type "varchar": varchar needs its length`,
		"table odd: its layout has two columns B",
		"table odd: key PRIMARY of its layout: there is no column nope",
		"table odd: unique key 1 of its layout has no columns",
		"table empty: its layout has no columns",
		"table spot: column p has type point, which is not supported",
		"table strict: column a is NOT NULL and has no default, but is not in Columns",
		"table far.orders: it has more unique keys than the primary key (raw)",
		"table totals: Add: column at is datetime(3)",
		"table tree: it is the same table as tree, listed before",
		"table main.items: it is the same table as items, listed before",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "DSN")
}

func TestRowsOfABatchAreReadAsTheyWereWritten(t *testing.T) {
	cfg := shopConfig(Table{Name: "events"}, Table{Name: "totals", Operations: Insert | Upsert | Delete, Add: []string{"n", "AMOUNT"}},
		Table{Name: "far.orders", Operations: Insert | Delete})
	cfg.TimeZone = "+02:00"
	s, err := NewSchema(cfg, shop)
	require.NoError(t, err)
	b := s.Batch()
	b.Insert("events").Int64(-7).Null()
	b.Insert("events").Int64(8).String("it's\x00 \\n\n")
	at := time.Date(2026, 5, 4, 22, 30, 0, 5_000_000, time.UTC)
	b.Upsert("totals").Int64(2026).String("").Uint64(1<<63 + 1).Decimal("-12.5").Time(at)
	b.Delete("totals").String("a").Int64(2027)
	b.Insert("far.orders").Int64(1).Bytes([]byte{0xff, 0, '\''})
	b.Insert("totals").Int64(1).String("b").Int64(1).Int64(2).Null()
	var got []WrittenRow
	size := 0
	require.NoError(t, s.Each(b, func(r WrittenRow) error {
		require.Equal(t, len(got), r.Row)
		size += r.Size
		r.batch, r.Size = nil, 0
		got = append(got, r)
		return nil
	}))
	require.Equal(t, b.Bytes(), size)
	require.Equal(t, []WrittenRow{
		{Row: 0, Table: "events", FullName: "main.events", Operation: Insert, Values: []WrittenValue{{Column: "id", Text: "-7"}, {Column: "body", Null: true}}},
		{Row: 1, Table: "events", FullName: "main.events", Operation: Insert, Values: []WrittenValue{{Column: "id", Text: "8"}, {Column: "body", Text: "it's\x00 \\n\n"}}},
		{Row: 2, Table: "totals", FullName: "main.totals", Lane: 1, Operation: Upsert, Values: []WrittenValue{
			{Column: "year", Text: "2026"}, {Column: "name"}, {Column: "n", Text: "9223372036854775809", Add: true},
			{Column: "amount", Text: "-12.50", Add: true}, {Column: "at", Text: "2026-05-05 00:30:00.005"}}},
		{Row: 3, Table: "totals", FullName: "main.totals", Lane: 1, Operation: Delete, Values: []WrittenValue{{Column: "name", Text: "a"}, {Column: "year", Text: "2027"}}},
		{Row: 4, Table: "far.orders", FullName: "far.orders", Lane: 2, Operation: Insert, Values: []WrittenValue{{Column: "id", Text: "1"}, {Column: "raw", Text: "\xff\x00'"}}},
		{Row: 5, Table: "totals", FullName: "main.totals", Lane: 1, Operation: Insert, Values: []WrittenValue{
			{Column: "year", Text: "1"}, {Column: "name", Text: "b"}, {Column: "n", Text: "1"}, {Column: "amount", Text: "2.00"}, {Column: "at", Null: true}}},
	}, got)

	stop := errors.New("enough")
	calls := 0
	require.Equal(t, stop, s.Each(b, func(WrittenRow) error { calls++; return stop }))
	require.Equal(t, 1, calls)

	require.NoError(t, s.Each(b, func(r WrittenRow) error {
		if r.Row != 3 {
			return nil
		}
		require.Equal(t, "name='a', year=2027", r.Key())
		e := r.Failed(1062, "n", errors.New("there already"))
		require.Equal(t, RowError{Table: "totals", Row: 3, Column: "n", Key: r.Key(), Code: 1062, Err: e.Err}, *e)
		require.ErrorContains(t, e, "table totals, row 3 of the batch (key name='a', year=2027), column n: there already: the row is there already")
		return nil
	}))
}

func TestRowsOfABadBatchAreNotRead(t *testing.T) {
	cfg := shopConfig(Table{Name: "events"})
	cfg.MaxBatchBytes = 40
	s, err := NewSchema(cfg, shop)
	require.NoError(t, err)
	other, err := NewSchema(cfg, shop)
	require.NoError(t, err)
	read := func(b *Batch) error {
		return s.Each(b, func(WrittenRow) error {
			require.Fail(t, "a row was read")
			return nil
		})
	}
	require.ErrorContains(t, read(nil), "another sink")
	require.ErrorContains(t, read(other.Batch()), "another sink")
	b := s.Batch()
	b.Insert("events").Null().Null()
	b.Insert("events").Int64(1)
	err = read(b)
	var row *RowError
	require.ErrorAs(t, err, &row)
	require.ErrorContains(t, err, "2 problems")
	keyed, err := NewSchema(shopConfig(Table{Name: "totals"}), shop)
	require.NoError(t, err)
	b = keyed.Batch()
	b.Insert("totals").Int64(1).Null().Int64(1).Int64(1).Null()
	require.ErrorContains(t, keyed.Each(b, nil), "column name: the column is NOT NULL", "a key's column is never NULL")
	b = s.Batch()
	b.Insert("events").Int64(1).String("more than forty bytes, by a few of them")
	require.ErrorContains(t, read(b), "MaxBatchBytes is 40")
	require.NoError(t, read(s.Batch()))
}
