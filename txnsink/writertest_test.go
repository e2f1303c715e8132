package txnsink_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/txnsink/writertest"
	"github.com/xasink/xasink/xa"
	"github.com/xasink/xasink/xa/xasim"
)

var modes = []txnsink.Mode{txnsink.ExactlyOnce, txnsink.AtLeastOnce}

// features are what a writer does on a server that detaches branches, or does not.
func features(mode txnsink.Mode, detaches bool) writertest.Features {
	if mode == txnsink.AtLeastOnce {
		return writertest.Features{}
	}
	return writertest.Features{ExactlyOnce: true, Splits: detaches, Faults: true}
}

// Both writers keep the contract of a Writer on every kind of server in memory.
func TestWritersKeepTheContractOnSimulatedServers(t *testing.T) {
	for _, kind := range xasim.Kinds() {
		for _, mode := range modes {
			t.Run(kind.String()+", "+mode.String(), func(t *testing.T) {
				writertest.RunIn(t, synctest.Test, features(mode, kind.String() == xasim.MySQL().String()), func(t testing.TB) writertest.Harness {
					server := xasim.New(kind)
					w := &target{t: t, db: sql.OpenDB(server.Connector()), database: "shop", job: "contract", ledger: "shop"}
					t.Cleanup(func() {
						require.NoError(t, w.db.Close())
						server.Kill()
						synctest.Wait()
					})
					w.exec(append([]string{"CREATE DATABASE shop"}, writertest.DDL("shop")...)...)
					h := w.harness(txnsink.WriterConfig{Connector: server.ConnectorFor(xasim.Account{User: "sink", Database: "shop"}), Mode: mode})
					h.Restart = func() { server.Restart(xasim.Crash{}) }
					return h
				})
			})
		}
	}
}

// And on real ones.
func TestWritersKeepTheContractOnRealServers(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			servertest.Each(t, func(t *testing.T, s servertest.Server) {
				parallel := func(t *testing.T, tell func(t *testing.T)) { t.Parallel(); tell(t) }
				writertest.RunIn(t, parallel, features(mode, s.Flavour == xa.MySQL), func(t testing.TB) writertest.Harness {
					database := s.Database(t)
					w := &target{t: t, db: s.DB(t), database: database, job: s.Job(t), ledger: database}
					w.exec(writertest.DDL(database)...)
					return w.harness(txnsink.WriterConfig{DSN: s.DSN(database), Mode: mode})
				})
			})
		})
	}
}

// target is a server with the tables of the suite.
type target struct {
	t                     testing.TB
	db                    *sql.DB
	database, job, ledger string
}

func (w *target) harness(cfg txnsink.WriterConfig) writertest.Harness {
	cfg.Job, cfg.Tables, cfg.LedgerDatabase = w.job, writertest.Tables(), w.ledger
	return writertest.Harness{
		Job: w.job,
		Open: func(change func(*txnsink.WriterConfig)) (txnsink.Writer, error) {
			own := cfg
			own.Run = uuid.New()
			change(&own)
			return txnsink.NewWriter(w.t.Context(), own)
		},
		Content:  func() writertest.Content { return writertest.ReadSQL(w.t, w.db, w.database) },
		Prepared: w.prepared,
		Orphan:   w.orphan,
	}
}

func (w *target) exec(statements ...string) {
	w.t.Helper()
	for _, s := range statements {
		_, err := w.db.ExecContext(w.t.Context(), s)
		require.NoError(w.t, err, s)
	}
}

// prepared are the branches of the job.
func (w *target) prepared() (ids []xa.ID) {
	w.t.Helper()
	rows, err := w.db.QueryContext(w.t.Context(), "XA RECOVER")
	require.NoError(w.t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var x xa.XID
		var gtrid, bqual int
		var data []byte
		require.NoError(w.t, rows.Scan(&x.Format, &gtrid, &bqual, &data))
		x.GTRID, x.BQUAL = string(data[:gtrid]), string(data[gtrid:])
		if id, ours := x.ID(); ours && id.Job == w.job {
			ids = append(ids, id)
		}
	}
	require.NoError(w.t, rows.Err())
	return ids
}

// orphan is a branch whose session is gone, and has been for so long that the server has let go of it.
func (w *target) orphan(id xa.ID, event int64) {
	w.t.Helper()
	l, err := ledger.New(w.ledger)
	require.NoError(w.t, err)
	proof, err := l.ProofSQL(ledger.Proof{ID: id, Run: uuid.New()})
	require.NoError(w.t, err)
	conn, err := w.db.Conn(w.t.Context())
	require.NoError(w.t, err)
	x := id.XID().SQL()
	for _, s := range []string{"XA START " + x, fmt.Sprintf("INSERT INTO %s.events VALUES (%d, 'o')", w.database, event), proof, "XA END " + x, "XA PREPARE " + x} {
		_, err := conn.ExecContext(w.t.Context(), s)
		require.NoError(w.t, err, s)
	}
	var session uint64
	require.NoError(w.t, conn.QueryRowContext(w.t.Context(), "SELECT CONNECTION_ID()").Scan(&session))
	require.ErrorIs(w.t, conn.Raw(func(any) error { return driver.ErrBadConn }), driver.ErrBadConn)
	require.Eventually(w.t, func() bool {
		return !slices.ContainsFunc(servertest.Processes(w.t, w.db), func(p servertest.Process) bool { return p.ID == session })
	}, 10*time.Second, 5*time.Millisecond)
	w.t.Cleanup(func() {
		_, err := w.db.ExecContext(context.Background(), "XA ROLLBACK "+x)
		var answer *mysql.MySQLError
		if err != nil && (!errors.As(err, &answer) || answer.Number != 1397) { // rolled back already
			require.NoError(w.t, err)
		}
	})
}
