// Package servertest gives tests of the root module real servers. It reads XASINK_TEST_DSN and XASINK_TEST_DSN_MARIADB,
// which `make test` sets, and nothing else. What a test makes on a server is its own and is gone after it.
package servertest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/xa"
)

// Server is a real server and its administrator's data source name.
type Server struct {
	Flavour xa.Flavour
	config  *mysql.Config
}

// Each runs fn once for each flavour, as a subtest. A flavour without a server is skipped, with the reason.
func Each(t *testing.T, fn func(t *testing.T, s Server)) {
	t.Helper()
	for _, f := range []xa.Flavour{xa.MySQL, xa.MariaDB} {
		t.Run(name(f), func(t *testing.T) { fn(t, Get(t, f)) })
	}
}

func name(f xa.Flavour) string {
	if f == xa.MySQL {
		return "mysql"
	}
	return "mariadb"
}

// Get is the server of one flavour. Without one the test is skipped, with the reason.
func Get(t *testing.T, f xa.Flavour) Server {
	t.Helper()
	variable := "XASINK_TEST_DSN"
	if f == xa.MariaDB {
		variable = "XASINK_TEST_DSN_MARIADB"
	}
	dsn := os.Getenv(variable)
	if dsn == "" {
		t.Skipf("no server: %s is not set (make test sets it)", variable)
	}
	config, err := mysql.ParseDSN(dsn)
	require.NoError(t, err, "%s", variable)
	config.DBName = ""
	config.Logger = &mysql.NopLogger{}
	return Server{Flavour: f, config: config}
}

// DSN is the administrator's, with database, which may be "".
func (s Server) DSN(database string) string {
	c := s.config.Clone()
	c.DBName = database
	return c.FormatDSN()
}

// UserDSN is DSN for another user.
func (s Server) UserDSN(user, password, database string) string {
	c := s.config.Clone()
	c.User, c.Passwd, c.DBName = user, password, database
	return c.FormatDSN()
}

// DB is the administrator's, for what a test does besides the code under test.
func (s Server) DB(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", s.DSN(""))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// Unique is prefix with a random end, lower case, usable as the name of a database, a job or a user.
func Unique(prefix string) string {
	b := make([]byte, 5)
	_, _ = rand.Read(b)
	return prefix + "_" + hex.EncodeToString(b)
}

// Database makes an empty database and drops it after the test. Metadata locks of prepared branches would stop the
// drop: make a Job after the database, whose clean-up then comes first.
func (s Server) Database(t testing.TB) string {
	t.Helper()
	db, n := s.DB(t), Unique("xt")
	Exec(t, db, "CREATE DATABASE `"+n+"` CHARACTER SET utf8mb4")
	t.Cleanup(func() { Exec(t, db, "DROP DATABASE IF EXISTS `"+n+"`") })
	return n
}

// Job is a job name of this test only. After the test, whatever branches of it are left are rolled back.
func (s Server) Job(t testing.TB) string {
	t.Helper()
	db, n := s.DB(t), Unique("job")
	t.Cleanup(func() { s.rollBack(t, db, n) })
	return n
}

// User makes a user with a password and the grants, each of the form "SELECT ON `db`.*", and drops it after the test.
func (s Server) User(t testing.TB, grants ...string) (user, password string) {
	t.Helper()
	db, n := s.DB(t), Unique("u")
	Exec(t, db, fmt.Sprintf("CREATE USER `%s`@'%%' IDENTIFIED BY 'secret-%s'", n, n))
	t.Cleanup(func() { Exec(t, db, fmt.Sprintf("DROP USER `%s`@'%%'", n)) })
	for _, g := range grants {
		Exec(t, db, fmt.Sprintf("GRANT %s TO `%s`@'%%'", g, n))
	}
	return n, "secret-" + n
}

// Prepared are the branches of job that are prepared on the server.
func (s Server) Prepared(t testing.TB, job string) []xa.ID {
	t.Helper()
	var ids []xa.ID
	for _, x := range s.Scan(t) {
		if id, ok := x.ID(); ok && id.Job == job {
			ids = append(ids, id)
		}
	}
	return ids
}

// Scan is XA RECOVER. It may be used in clean-ups.
func (s Server) Scan(t testing.TB) []xa.XID {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	db, err := sql.Open("mysql", s.DSN(""))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	return scan(ctx, t, db)
}

func scan(ctx context.Context, t testing.TB, db *sql.DB) []xa.XID {
	t.Helper()
	rows, err := db.QueryContext(ctx, "XA RECOVER")
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	var list []xa.XID
	for rows.Next() {
		var format int64
		var gtrid, bqual int
		var data []byte
		require.NoError(t, rows.Scan(&format, &gtrid, &bqual, &data))
		list = append(list, xa.XID{Format: format, GTRID: string(data[:gtrid]), BQUAL: string(data[gtrid : gtrid+bqual])})
	}
	require.NoError(t, rows.Err())
	return list
}

// detachWait is how long a branch is left alone after its session has ended: MariaDB can answer OK to a rollback that
// comes earlier, roll nothing back, and hold the branch's locks until it restarts (server-facts.md, 0.3 and 1b).
const detachWait = 1200 * time.Millisecond

// rollBack rolls back every prepared branch of job. The test's own sessions are closed by then.
func (s Server) rollBack(t testing.TB, db *sql.DB, job string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		left := 0
		for _, x := range scan(ctx, t, db) {
			if id, ok := x.ID(); ok && id.Job == job {
				if left++; left == 1 {
					<-time.After(detachWait)
				}
				_, _ = db.ExecContext(ctx, "XA ROLLBACK "+x.SQL())
			}
		}
		if left == 0 {
			return
		}
	}
	require.Fail(t, "branches of the job are left on the server", job)
}

// Process is a session as SHOW FULL PROCESSLIST shows it.
type Process struct {
	ID                    uint64
	Database, State, Info string
}

// Processes are the server's sessions. SHOW PROCESSLIST gives them also while a session of another test executes a
// statement with characters of four bytes, for which MySQL refuses information_schema.PROCESSLIST (3854).
func Processes(t testing.TB, db *sql.DB) (list []Process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	rows, err := db.QueryContext(ctx, "SHOW FULL PROCESSLIST")
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var id uint64
	texts := map[string]*sql.NullString{"db": {}, "State": {}, "Info": {}}
	into := make([]any, len(columns))
	for i, column := range columns {
		switch {
		case column == "Id":
			into[i] = &id
		case texts[column] != nil:
			into[i] = texts[column]
		default:
			into[i] = new(sql.RawBytes)
		}
	}
	for rows.Next() {
		require.NoError(t, rows.Scan(into...))
		list = append(list, Process{
			ID: id, Database: texts["db"].String, State: texts["State"].String, Info: texts["Info"].String,
		})
	}
	require.NoError(t, rows.Err())
	return list
}

// Sessions are the numbers of the sessions in a database.
func Sessions(t testing.TB, db *sql.DB, database string) (ids []uint64) {
	t.Helper()
	for _, p := range Processes(t, db) {
		if p.Database == database {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// Exec runs one statement that must succeed.
func Exec(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := db.ExecContext(ctx, query, args...)
	require.NoError(t, err, "%s", strings.SplitN(query, "\n", 2)[0])
}

// Int is the single number that a query gives.
func Int(t testing.TB, db *sql.DB, query string, args ...any) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var n int64
	require.NoError(t, db.QueryRowContext(ctx, query, args...).Scan(&n), "%s", query)
	return n
}
