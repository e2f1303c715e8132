package xasim_test

import (
	"context"
	"database/sql"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/xa/xasim"
)

func openSink(t *testing.T, server *xasim.Server, store state.Store) *txnsink.Sink {
	t.Helper()
	sink, err := txnsink.Open(t.Context(), txnsink.Config{
		Job: "orders", Connector: server.ConnectorFor(xasim.Account{Database: "shop"}), Store: store,
		Start: func(context.Context) ([]byte, error) { return []byte("0"), nil },
		Tables: []txnsink.Table{
			{Name: "events"},
			{Name: "totals", Operations: txnsink.Upsert, Add: []string{"n", "amount"}},
			{Name: "orders", Operations: txnsink.Upsert | txnsink.Delete},
		},
	})
	require.NoError(t, err)
	return sink
}

func shop(t *testing.T, server *xasim.Server) *sql.DB {
	t.Helper()
	db := sql.OpenDB(server.Connector())
	for _, ddl := range []string{
		"CREATE DATABASE shop DEFAULT CHARACTER SET utf8mb4",
		"CREATE TABLE shop.events (id BIGINT PRIMARY KEY, body VARCHAR(20) NOT NULL)",
		"CREATE TABLE shop.totals (name VARCHAR(20) PRIMARY KEY, n BIGINT NOT NULL, amount DECIMAL(20,2) NOT NULL)",
		"CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, state VARCHAR(20) NOT NULL)",
	} {
		_, err := db.ExecContext(t.Context(), ddl)
		require.NoError(t, err)
	}
	return db
}

// A whole job runs on each kind of server, in a bubble and without any time passing but the fake one.
func TestASinkRunsOnEveryKind(t *testing.T) {
	for _, kind := range xasim.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := xasim.New(kind)
				db := shop(t, server)
				store := state.NewMemory()
				sink := openSink(t, server, store)
				for i := range int64(10) {
					b := sink.Batch()
					b.Insert("events").Int64(i).String("it's " + strconv.Itoa(int(i)))
					b.Upsert("totals").String("all").Int64(1).Decimal("0.5")
					b.Upsert("orders").Int64(i % 3).String("new")
					if i == 5 {
						b.Delete("orders").Int64(2)
					}
					require.NoError(t, sink.Write(t.Context(), b, []byte(strconv.Itoa(int(i)+1))))
					if i%4 == 3 {
						require.NoError(t, sink.Checkpoint(t.Context()))
					}
				}
				require.NoError(t, sink.Finish(t.Context()))
				var n, all int64
				var amount string
				require.NoError(t, db.QueryRow("SELECT COUNT(*) FROM shop.events").Scan(&n))
				require.Equal(t, int64(10), n)
				require.NoError(t, db.QueryRow("SELECT n, amount FROM shop.totals WHERE name = 'all'").Scan(&all, &amount))
				require.Equal(t, int64(10), all)
				require.Equal(t, "5.00", amount)
				require.NoError(t, db.Close())
			})
		})
	}
}
