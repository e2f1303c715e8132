package writertest

import (
	"database/sql"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/txnsink"
)

// Tables are what the stories write: events only takes inserts, orders takes upserts and deletes.
func Tables() []txnsink.Table {
	return []txnsink.Table{
		{Name: "events"},
		{Name: "orders", Operations: txnsink.Upsert | txnsink.Delete},
	}
}

// Layouts are the tables as a server tells them, for a writer without one.
func Layouts() []txnsink.Layout {
	return []txnsink.Layout{
		{Name: "events", Key: []string{"id"}, Columns: []txnsink.LayoutColumn{{Name: "id", Type: "bigint"}, {Name: "body", Type: "varchar(20)"}}},
		{Name: "orders", Key: []string{"id"}, Columns: []txnsink.LayoutColumn{{Name: "id", Type: "bigint"}, {Name: "state", Type: "varchar(20)"}}},
	}
}

// DDL makes the tables in a database, whose name needs no quotes.
func DDL(database string) []string {
	return []string{
		"CREATE TABLE " + database + ".events (id BIGINT PRIMARY KEY, body VARCHAR(20) NOT NULL)",
		"CREATE TABLE " + database + ".orders (id BIGINT PRIMARY KEY, state VARCHAR(20) NOT NULL)",
	}
}

// Content is what the tables hold.
type Content struct {
	Events []int64          // ids, rising
	Orders map[int64]string // state by id
}

// ReadSQL reads the content from a database, whose name needs no quotes.
func ReadSQL(t testing.TB, db *sql.DB, database string) Content {
	t.Helper()
	orders := map[int64]string{}
	read(t, db, "SELECT id, state FROM "+database+".orders", func(id int64, state string) { orders[id] = state })
	events := map[int64]string{}
	read(t, db, "SELECT id, body FROM "+database+".events", func(id int64, body string) { events[id] = body })
	return Content{Events: slices.Sorted(maps.Keys(events)), Orders: orders}
}

func read(t testing.TB, db *sql.DB, query string, row func(id int64, text string)) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		var text string
		require.NoError(t, rows.Scan(&id, &text))
		row(id, text)
	}
	require.NoError(t, rows.Err())
}

// row is a row that a story writes.
type row func(b *txnsink.Batch)

func event(id int64) row { return func(b *txnsink.Batch) { b.Insert("events").Int64(id).String("e") } }

func order(id int64, state string) row {
	return func(b *txnsink.Batch) { b.Upsert("orders").Int64(id).String(state) }
}

func gone(id int64) row { return func(b *txnsink.Batch) { b.Delete("orders").Int64(id) } }

// batch is a batch of the writer with rows.
func batch(w txnsink.Writer, rows ...row) *txnsink.Batch {
	b := w.Batch()
	for _, add := range rows {
		add(b)
	}
	return b
}
