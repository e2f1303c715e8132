package ledger_test

import (
	"database/sql"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/ledger"
)

// bench is one server and a ledger database that only this test knows.
type bench struct {
	server servertest.Server
	db     *sql.DB // of the administrator
	ledger ledger.Ledger
	name   string // of the ledger's database
}

// onServers runs story on each server that the environment names.
func onServers(t *testing.T, story func(t *testing.T, b *bench)) {
	t.Helper()
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		b := &bench{server: server, db: open(t, server.DSN("")), name: servertest.Unique("xasink`test")}
		var err error
		b.ledger, err = ledger.New(b.name)
		require.NoError(t, err)
		t.Cleanup(func() { servertest.Exec(t, b.db, "DROP DATABASE IF EXISTS "+quoted(b.name)) })
		story(t, b)
	})
}

// open is a pool of sessions with the settings that matter of a sink's.
func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	config, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	config.Params = map[string]string{
		"innodb_lock_wait_timeout": "1", "lock_wait_timeout": "5",
		"sql_mode": "'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'",
	}
	connector, err := mysql.NewConnector(config)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// user opens a pool for a user that has the grants, each as "SELECT ON `db`.*", and no other right.
func (b *bench) user(t *testing.T, grants ...string) *sql.DB {
	t.Helper()
	name, password := b.server.User(t, grants...)
	return open(t, b.server.UserDSN(name, password, ""))
}

func (b *bench) conn(t *testing.T) *sql.Conn {
	t.Helper()
	conn, err := b.db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func quoted(name string) string { return ledger.Quote(name) }
