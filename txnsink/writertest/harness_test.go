package writertest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/txnsink/txnsinktest"
	"github.com/xasink/xasink/xa"
	"github.com/xasink/xasink/xa/xasim"
)

func mode(f Features) txnsink.Mode {
	if f.ExactlyOnce {
		return txnsink.ExactlyOnce
	}
	return txnsink.AtLeastOnce
}

// inMemory is a harness on the writers of txnsinktest.
func inMemory(f Features, b breakage) func(t testing.TB) Harness {
	return func(t testing.TB) Harness {
		db := txnsinktest.New(Layouts()...)
		if !f.Splits {
			db = txnsinktest.NewAttached(Layouts()...)
		}
		return Harness{
			Job: "contract",
			Open: func(change func(*txnsink.WriterConfig)) (txnsink.Writer, error) {
				return open(f, b, change, func(cfg txnsink.WriterConfig) (txnsink.Writer, error) { return db.NewWriter(t.Context(), cfg) })
			},
			Content: func() Content {
				c := Content{Orders: map[int64]string{}}
				for _, r := range db.Rows("events") {
					c.Events = append(c.Events, integer(r["id"]))
				}
				for _, r := range db.Rows("orders") {
					c.Orders[integer(r["id"])] = r["state"]
				}
				return c
			},
			Prepared: db.Prepared,
		}
	}
}

func open(f Features, b breakage, change func(*txnsink.WriterConfig), inner func(txnsink.WriterConfig) (txnsink.Writer, error)) (txnsink.Writer, error) {
	cfg := txnsink.WriterConfig{Job: "contract", Run: uuid.New(), Tables: Tables(), Mode: mode(f)}
	change(&cfg)
	if b.config != nil {
		b.config(&cfg)
	}
	w, err := inner(cfg)
	if err != nil {
		return nil, err
	}
	return newBroken(w, b.writer), nil
}

func integer(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// simulated is a harness on a simulated server, for what needs a session that has died, or a restart.
func simulated(f Features, b breakage) func(t testing.TB) Harness {
	return func(t testing.TB) Harness {
		ctx := context.WithoutCancel(t.Context())
		server := xasim.New(xasim.MySQL())
		db := sql.OpenDB(server.Connector())
		t.Cleanup(func() {
			_ = db.Close()
			server.Kill()
			synctest.Wait()
		})
		for _, s := range append([]string{"CREATE DATABASE shop"}, DDL("shop")...) {
			_, err := db.ExecContext(ctx, s)
			require.NoError(t, err)
		}
		l, err := ledger.New("shop")
		require.NoError(t, err)
		return Harness{
			Job: "contract",
			Open: func(change func(*txnsink.WriterConfig)) (txnsink.Writer, error) {
				return open(f, b, change, func(cfg txnsink.WriterConfig) (txnsink.Writer, error) {
					cfg.Connector, cfg.LedgerDatabase = server.ConnectorFor(xasim.Account{User: "sink", Database: "shop"}), "shop"
					return txnsink.NewWriter(ctx, cfg)
				})
			},
			Content: func() Content { return ReadSQL(t, db, "shop") },
			Prepared: func() (ids []xa.ID) {
				rows, err := db.QueryContext(ctx, "XA RECOVER")
				require.NoError(t, err)
				defer func() { _ = rows.Close() }()
				for rows.Next() {
					var x xa.XID
					var gtrid, bqual int
					var data []byte
					require.NoError(t, rows.Scan(&x.Format, &gtrid, &bqual, &data))
					x.GTRID, x.BQUAL = string(data[:gtrid]), string(data[gtrid:])
					if id, ours := x.ID(); ours && id.Job == "contract" {
						ids = append(ids, id)
					}
				}
				require.NoError(t, rows.Err())
				return ids
			},
			Orphan: func(id xa.ID, event int64) {
				proof, err := l.ProofSQL(ledger.Proof{ID: id})
				require.NoError(t, err)
				conn, err := db.Conn(ctx)
				require.NoError(t, err)
				x := id.XID().SQL()
				for _, s := range []string{"XA START " + x, fmt.Sprintf("INSERT INTO shop.events VALUES (%d, 'o')", event), proof, "XA END " + x, "XA PREPARE " + x} {
					_, err := conn.ExecContext(ctx, s)
					require.NoError(t, err)
				}
				require.ErrorIs(t, conn.Raw(func(any) error { return driver.ErrBadConn }), driver.ErrBadConn)
			},
			Restart: func() { server.Restart(xasim.Crash{}) },
		}
	}
}
