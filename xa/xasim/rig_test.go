package xasim_test

import (
	"context"
	"database/sql"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/xa/xasim"
)

// rig is a server with a table t (id, v), in a bubble.
type rig struct {
	t      *testing.T
	server *xasim.Server
	db     *sql.DB
}

// eachKind runs fn in a bubble for each kind of server.
func eachKind(t *testing.T, fn func(t *testing.T, r *rig)) {
	t.Helper()
	for _, kind := range xasim.Kinds() {
		t.Run(kind.String(), func(t *testing.T) { onKind(t, kind, fn) })
	}
}

func onKind(t *testing.T, kind xasim.Kind, fn func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, server: xasim.New(kind)}
		r.db = sql.OpenDB(r.server.Connector())
		t.Cleanup(func() {
			require.NoError(t, r.db.Close())
			r.server.Kill() // frozen sessions end with it
			synctest.Wait()
		})
		r.db.SetMaxIdleConns(0)
		r.exec("CREATE DATABASE d")
		r.exec("CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(10))")
		fn(t, r)
	})
}

func (r *rig) exec(statement string) {
	r.t.Helper()
	_, err := r.db.ExecContext(r.t.Context(), statement)
	require.NoError(r.t, err, "%s", statement)
}

// session is one connection, with lock waits of two seconds; closed after the test.
func (r *rig) session() *sql.Conn {
	r.t.Helper()
	c, err := r.db.Conn(r.t.Context())
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = c.Close() })
	do(r.t, c, "SET SESSION innodb_lock_wait_timeout = 2, lock_wait_timeout = 2")
	return c
}

// id is the connection's number.
func id(t *testing.T, c *sql.Conn) uint64 {
	t.Helper()
	var n uint64
	require.NoError(t, c.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&n))
	return n
}

// do runs statements that must succeed.
func do(t *testing.T, c *sql.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		_, err := c.ExecContext(t.Context(), s)
		require.NoError(t, err, "%s", s)
	}
}

// refused runs a statement that must be answered with an error number.
func refused(t *testing.T, c *sql.Conn, number uint16, statement string) {
	t.Helper()
	_, err := c.ExecContext(t.Context(), statement)
	var e *mysql.MySQLError
	require.ErrorAs(t, err, &e, "%s", statement)
	require.Equal(t, number, e.Number, "%s: %v", statement, err)
}

// branch prepares a branch of one row on c.
func branch(t *testing.T, c *sql.Conn, name string, row string) {
	t.Helper()
	do(t, c, "XA START "+name, "INSERT INTO d.t VALUES "+row, "XA END "+name, "XA PREPARE "+name)
}

func (r *rig) count(query string) int {
	r.t.Helper()
	var n int
	require.NoError(r.t, r.db.QueryRowContext(r.t.Context(), query).Scan(&n), "%s", query)
	return n
}

func (r *rig) rows() int { r.t.Helper(); return r.count("SELECT COUNT(*) FROM d.t") }

// listed is XA RECOVER.
func (r *rig) listed() []string {
	r.t.Helper()
	rows, err := r.db.QueryContext(r.t.Context(), "XA RECOVER")
	require.NoError(r.t, err)
	defer func() { _ = rows.Close() }()
	var list []string
	for rows.Next() {
		var format, gtrid, bqual int
		var data string
		require.NoError(r.t, rows.Scan(&format, &gtrid, &bqual, &data))
		list = append(list, data)
	}
	require.NoError(r.t, rows.Err())
	return list
}

// within is a context of the test that ends after d.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// last is the newest event of a kind.
func (r *rig) last(kind xasim.EventKind) (xasim.Event, bool) {
	events := r.server.Events()
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Kind == kind {
			return events[i], true
		}
	}
	return xasim.Event{}, false
}
