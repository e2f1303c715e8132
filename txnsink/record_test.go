package txnsink

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
)

type base struct {
	ID int32 `db:"ID"`
}

type label string

type record struct {
	base
	Name     label           `db:"name"`
	Note     *string         `db:"note,omitempty"`
	Amount   string          `db:"amount"`
	Ratio    float32         `db:"ratio"`
	At       time.Time       `db:"at"`
	Span     time.Duration   `db:"span"`
	Raw      []byte          `db:"raw"`
	Doc      json.RawMessage `db:"doc"`
	Count    sql.NullInt64   `db:"count"`
	Ignored  chan int        `db:"-"`
	Untagged map[string]int  //nolint:unused // a field without a tag is no column
	hidden   int             `db:"name"`
}

func TestStructsAndMapsAreRows(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(9), note TEXT, amount DECIMAL(10,2), ratio DOUBLE, at DATETIME(6), span TIME(3), raw VARBINARY(9), doc JSON, count BIGINT)")
		b := g.load(Table{Name: "t", Operations: Insert | Upsert}).batch()
		note := "it's"
		at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
		full := record{base: base{ID: 1}, Name: "n", Note: &note, Amount: "12.5", Ratio: 0.1, At: at, Span: time.Second, Raw: []byte("\x00\xff"), Doc: json.RawMessage(`[1]`), Count: sql.NullInt64{Int64: math.MaxInt64, Valid: true}}
		b.InsertStruct("t", full)
		b.InsertStruct("t", &record{base: base{ID: 2}, Amount: "0", At: at, Doc: json.RawMessage(`null`)})
		b.UpsertStruct("t", record{base: base{ID: 2}, Name: "new", Amount: "-1", At: at, Doc: json.RawMessage(`{}`)})
		values := map[string]any{"id": uint8(3), "name": []byte("m"), "note": nil, "amount": json.Number("1.25"), "ratio": 2, "at": "2026-01-02 03:04:05", "span": nil, "raw": "r", "doc": `"x"`, "count": "7"}
		b.InsertMap("t", values)
		values["note"] = &note
		b.UpsertMap("t", values)
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{
			{"1", "n", "it's", "12.50", "0.1", "2026-01-02 03:04:05.000006", "00:00:01.000", "00FF", "[1]", "9223372036854775807"},
			{"2", "new", "NULL", "-1.00", "0", "2026-01-02 03:04:05.000006", "00:00:00.000", "NULL", "{}", "NULL"},
			{"3", "m", "it's", "1.25", "2", "2026-01-02 03:04:05.000000", "NULL", "72", `"x"`, "7"},
		}, g.rows("SELECT id, name, note, amount, ratio, at, span, HEX(raw), doc, count FROM t ORDER BY id"))
	})
}

type broken struct{}

func (broken) Value() (driver.Value, error) { return nil, errors.New("no value today") }

type endless struct{}

func (endless) Value() (driver.Value, error) { return endless{}, nil }

func TestStructsAndMapsThatDoNotFitAreReported(t *testing.T) {
	for _, c := range []struct {
		name string
		fill func(b *Batch)
		say  []string
	}{
		{"unknown table", func(b *Batch) { b.InsertStruct("nope", struct{}{}); b.InsertMap("nope", nil) }, []string{"no table of this name", "no table of this name"}},
		{"no struct", func(b *Batch) { b.InsertStruct("prices", 7) }, []string{"int is neither a struct nor a pointer to one"}},
		{"nil", func(b *Batch) { b.InsertStruct("prices", (*record)(nil)) }, []string{"*txnsink.record is neither"}},
		{"missing field", func(b *Batch) {
			b.InsertStruct("prices", struct {
				ID int `db:"id"`
			}{1})
		}, []string{`no field with the tag db:"price"`}},
		{"unknown tag", func(b *Batch) {
			b.UpsertStruct("prices", struct {
				ID    int    `db:"id"`
				Price string `db:"price"`
				Prize int    `db:"prize"`
			}{1, "1", 2})
		}, []string{"has values for prize, which are no written columns (there are id, price)"}},
		{"two fields of one column", func(b *Batch) {
			b.InsertStruct("prices", struct {
				ID    int    `db:"id"`
				Price string `db:"price"`
				Again string `db:"price"`
			}{1, "1", "2"})
		}, []string{"has two fields for price"}},
		{"missing key", func(b *Batch) { b.InsertMap("prices", map[string]any{"id": 1}) }, []string{"no such key: for NULL, give nil"}},
		{"unknown keys", func(b *Batch) { b.InsertMap("prices", map[string]any{"id": 1, "price": 2, "x": 1, "a": 2}) }, []string{"the map has keys a, x, which are no written columns"}},
		{"value of no type", func(b *Batch) { b.InsertMap("prices", map[string]any{"id": 1, "price": []int{1}}) }, []string{"a value of type []int"}},
		{"valuer that fails", func(b *Batch) { b.InsertMap("prices", map[string]any{"id": 1, "price": broken{}}) }, []string{"no value today"}},
		{"valuer without end", func(b *Batch) { b.InsertMap("prices", map[string]any{"id": 1, "price": endless{}}) }, []string{"no plain value"}},
		{"NULL for NOT NULL", func(b *Batch) { b.InsertMap("prices", map[string]any{"id": nil, "price": (*string)(nil)}) }, []string{"NOT NULL", "NOT NULL"}},
		{"wrong type for the column", func(b *Batch) { b.InsertMap("prices", map[string]any{"id": time.Second, "price": 0.1}) }, []string{"not Duration", "not Float64"}},
		{"text that is no number", func(b *Batch) { b.InsertMap("prices", map[string]any{"id": "x", "price": []byte("1.005")}) }, []string{"not an exact number", "would round"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := fake(prices()).batch()
			c.fill(b)
			var all *batchError
			require.ErrorAs(t, b.validate(), &all)
			require.Len(t, all.problems, len(c.say), "%v", all)
			for i, say := range c.say {
				require.ErrorContains(t, all.problems[i], say)
			}
		})
	}
}

func TestOuterFieldHidesTheEmbeddedOne(t *testing.T) {
	b := fake(fakeTable("t", Insert, 1, nil, integer("id"))).batch()
	type outer struct {
		base
		ID int `db:"id"`
	}
	b.InsertStruct("t", outer{base{1}, 2})
	type other struct {
		Key int `db:"id"`
		base
	}
	b.InsertStruct("t", other{4, base{1}})
	type pointer struct{ *base }
	b.InsertStruct("t", pointer{&base{3}})
	require.NoError(t, b.validate())
	require.Equal(t, []string{"INSERT INTO `db`.`t` (`id`) VALUES (2),(4),(3)"}, texts(t, b))
	b.Reset()
	b.InsertStruct("t", pointer{})
	require.ErrorContains(t, b.validate(), "NOT NULL", "a nil embedded pointer is NULL")
}
