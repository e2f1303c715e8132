package ledger_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/ledger"
)

// bench is one server and a ledger database that only this test knows.
type bench struct {
	db     *sql.DB
	dsn    *mysql.Config
	ledger ledger.Ledger
	name   string // of the ledger's database
}

// onServers runs story on each server that the environment names.
func onServers(t *testing.T, story func(t *testing.T, b *bench)) {
	t.Helper()
	for _, flavour := range []struct{ name, variable string }{
		{"mysql", "XASINK_TEST_DSN"}, {"mariadb", "XASINK_TEST_DSN_MARIADB"},
	} {
		t.Run(flavour.name, func(t *testing.T) {
			dsn := os.Getenv(flavour.variable)
			if dsn == "" {
				t.Skipf("%s is not set: no %s server to test with", flavour.variable, flavour.name)
			}
			story(t, newBench(t, dsn))
		})
	}
}

func newBench(t *testing.T, dsn string) *bench {
	t.Helper()
	config, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	config.DBName = ""
	config.Params = map[string]string{
		"innodb_lock_wait_timeout": "1", "lock_wait_timeout": "5",
		"sql_mode": "'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'",
	}
	b := &bench{dsn: config, name: "xasink`test_" + unique(t)}
	b.ledger, err = ledger.New(b.name)
	require.NoError(t, err)
	b.db = b.open(t, config)
	t.Cleanup(func() {
		_, err := b.db.ExecContext(context.Background(), "DROP DATABASE IF EXISTS "+quoted(b.name))
		require.NoError(t, err)
		require.NoError(t, b.db.Close())
	})
	return b
}

func (b *bench) open(t *testing.T, config *mysql.Config) *sql.DB {
	t.Helper()
	connector, err := mysql.NewConnector(config)
	require.NoError(t, err)
	return sql.OpenDB(connector)
}

// user makes a user without any right and opens a pool for it; grants may contain the placeholder USER.
func (b *bench) user(t *testing.T, grants ...string) *sql.DB {
	t.Helper()
	name := "x_" + unique(t)
	account := "'" + name + "'@'%'"
	b.exec(t, "CREATE USER "+account+" IDENTIFIED BY 'secret'")
	t.Cleanup(func() { b.exec(t, "DROP USER "+account) })
	for _, g := range grants {
		b.exec(t, g+" TO "+account)
	}
	config := b.dsn.Clone()
	config.User, config.Passwd = name, "secret"
	db := b.open(t, config)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func (b *bench) exec(t *testing.T, query string) {
	t.Helper()
	_, err := b.db.ExecContext(t.Context(), query)
	if err != nil && t.Context().Err() != nil { // in a cleanup the test's own context is over
		_, err = b.db.ExecContext(context.Background(), query)
	}
	require.NoError(t, err, query)
}

func (b *bench) count(t *testing.T, query string) int {
	t.Helper()
	var n int
	require.NoError(t, b.db.QueryRowContext(t.Context(), query).Scan(&n), query)
	return n
}

func (b *bench) conn(t *testing.T) *sql.Conn {
	t.Helper()
	conn, err := b.db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func unique(t *testing.T) string {
	t.Helper()
	var random [6]byte
	_, err := rand.Read(random[:])
	require.NoError(t, err)
	return hex.EncodeToString(random[:])
}

func quoted(name string) string { return ledger.Quote(name) }
