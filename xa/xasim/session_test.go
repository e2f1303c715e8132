package xasim_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/xa/xasim"
)

// A context that ends closes the client's side; the server waits on for its lock, and rolls back only then.
func TestAnEndedContextLeavesTheStatementToTheServer(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		holder, waiter := r.session(), r.session()
		number := id(t, waiter)
		do(t, waiter, "SET SESSION innodb_lock_wait_timeout = 30")
		do(t, holder, "BEGIN", "INSERT INTO d.t VALUES (1, 'a')")
		do(t, waiter, "BEGIN", "INSERT INTO d.t VALUES (2, 'b')")
		_, err := waiter.ExecContext(within(t, time.Second), "INSERT INTO d.t VALUES (1, 'b')")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = waiter.ExecContext(t.Context(), "DO 1")
		require.ErrorIs(t, err, driver.ErrBadConn)

		third := r.session()
		refused(t, third, 1205, "INSERT INTO d.t VALUES (2, 'c')")
		require.Equal(t, 1, r.count("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND = 'Query' AND ID = "+itoa(number)))
		time.Sleep(30 * time.Second)
		synctest.Wait()
		do(t, third, "INSERT INTO d.t VALUES (2, 'c')")
		require.NoError(t, third.Close())
	})
}

func TestAContextThatHadEndedSendsNothing(t *testing.T) {
	onKind(t, xasim.MySQL(), func(t *testing.T, r *rig) {
		c := r.session()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.ExecContext(ended, "INSERT INTO d.t VALUES (1, 'a')")
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, r.rows())
		require.NoError(t, c.Close())
	})
}

func TestL14_RowsThatAreNotReadKeepTheConnectionBusy(t *testing.T) {
	onKind(t, xasim.MySQL(), func(t *testing.T, r *rig) {
		r.exec("INSERT INTO d.t VALUES (1, 'a'), (2, 'b')")
		c := r.session()
		require.NoError(t, c.Raw(func(raw any) error {
			rows, err := raw.(driver.QueryerContext).QueryContext(t.Context(), "SELECT id FROM d.t", nil)
			require.NoError(t, err)
			_, err = raw.(driver.ExecerContext).ExecContext(t.Context(), "DO 1", nil)
			require.ErrorIs(t, err, mysql.ErrBusyBuffer)
			require.NoError(t, rows.Close())
			_, err = raw.(driver.ExecerContext).ExecContext(t.Context(), "DO 1", nil)
			return err
		}))
		require.NoError(t, c.Close())
	})
}

func TestT55_AnIdleSessionEndsByWaitTimeout(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		c := r.session()
		do(t, c, "SET SESSION wait_timeout = 5", "XA START 'x'", "INSERT INTO d.t VALUES (1, 'a')")
		time.Sleep(6 * time.Second)
		synctest.Wait()
		_, err := c.ExecContext(t.Context(), "DO 1")
		if r.server.Kind().String() == "mariadb" {
			require.ErrorIs(t, err, mysql.ErrInvalidConn)
		} else {
			require.ErrorIs(t, err, &mysql.MySQLError{Number: 4031})
		}
		r.exec("INSERT INTO d.t VALUES (1, 'b')")
	})
}

func TestMoreConnectionsThanAllowedAreRefused(t *testing.T) {
	onKind(t, xasim.MySQL(), func(t *testing.T, r *rig) {
		r.exec("SET GLOBAL max_connections = 2")
		a, _ := r.session(), r.session()
		require.ErrorIs(t, r.db.PingContext(t.Context()), &mysql.MySQLError{Number: 1040})
		require.NoError(t, a.Close())
		require.NoError(t, r.db.PingContext(t.Context()))
	})
}

func TestALongStatementIsNotSent(t *testing.T) {
	onKind(t, xasim.MySQL(), func(t *testing.T, r *rig) {
		r.exec("SET GLOBAL max_allowed_packet = 1024")
		long := make([]byte, 2000)
		for i := range long {
			long[i] = 'x'
		}
		_, err := r.db.ExecContext(t.Context(), "DO '"+string(long)+"'")
		require.ErrorIs(t, err, mysql.ErrPktTooLarge)
	})
}

func TestRightsThatAreDenied(t *testing.T) {
	onKind(t, xasim.MySQL(), func(t *testing.T, r *rig) {
		for _, c := range []struct {
			denied    xasim.Rights
			statement string
			number    uint16
		}{
			{xasim.InsertRows, "INSERT INTO d.t VALUES (1, 'a')", 1142},
			{xasim.UpdateRows, "INSERT INTO d.t VALUES (1, 'a') ON DUPLICATE KEY UPDATE v = 'b'", 1142},
			{xasim.UpdateRows, "UPDATE d.t SET v = 'b'", 1142},
			{xasim.DeleteRows, "DELETE FROM d.t", 1142},
			{xasim.DeleteRows, "REPLACE INTO d.t VALUES (1, 'a')", 1142},
			{xasim.DeleteRows, "EXPLAIN DELETE FROM d.t", 1142},
			{xasim.Create, "CREATE TABLE d.x (id INT)", 1142},
			{xasim.Create, "CREATE DATABASE x", 1044},
			{xasim.Create, "ALTER TABLE d.t ADD COLUMN w INT", 1142},
			{xasim.Create, "DROP TABLE d.t", 1142},
			{xasim.RecoverBranches, "XA RECOVER", 1401},
			{xasim.Process, "DO 1", 0},
		} {
			db := sql.OpenDB(r.server.ConnectorFor(xasim.Account{User: "plain", Denied: c.denied}))
			_, err := db.ExecContext(t.Context(), c.statement)
			if c.number == 0 {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, &mysql.MySQLError{Number: c.number}, "%s", c.statement)
			}
			require.NoError(t, db.Close())
		}
		db := sql.OpenDB(r.server.ConnectorFor(xasim.Account{Database: "nowhere"}))
		require.ErrorIs(t, db.PingContext(t.Context()), &mysql.MySQLError{Number: 1049})
		require.NoError(t, db.Close())
	})
}

func TestTransactionsOfDatabaseSQL(t *testing.T) {
	onKind(t, xasim.MySQL(), func(t *testing.T, r *rig) {
		tx, err := r.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		require.NoError(t, err)
		stmt, err := tx.PrepareContext(t.Context(), "INSERT INTO d.t VALUES (?, ?)")
		require.NoError(t, err)
		defer func() { _ = stmt.Close() }()
		for i := range 3 {
			_, err := stmt.ExecContext(t.Context(), i, "x")
			require.NoError(t, err)
		}
		require.Zero(t, r.rows())
		require.NoError(t, tx.Commit())
		require.Equal(t, 3, r.rows())

		tx, err = r.db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), "DELETE FROM d.t WHERE id = ?", 1)
		require.NoError(t, err)
		require.NoError(t, tx.Rollback())
		require.Equal(t, 3, r.rows())
		_, err = r.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
		require.Error(t, err)
		_, err = r.db.PrepareContext(t.Context(), "XA START 'x'") //nolint:sqlclosecheck // it fails
		require.ErrorIs(t, err, &mysql.MySQLError{Number: 1295})
	})
}

// A named lock is waited for, and its next owner is the one that waited longest.
func TestNamedLocksAreHandedOn(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		a, b := r.session(), r.session()
		do(t, a, "DO GET_LOCK('l', 0)", "DO GET_LOCK('l', 0)")
		number := id(t, b)
		got := make(chan int)
		go func() {
			var n int
			_ = b.QueryRowContext(t.Context(), "SELECT GET_LOCK('l', 10)").Scan(&n)
			got <- n
		}()
		synctest.Wait()
		do(t, a, "DO RELEASE_LOCK('l')")
		synctest.Wait()
		require.NotEqual(t, number, r.server.Locks()["l"], "it was taken twice")
		require.NoError(t, a.Close())
		require.Equal(t, 1, <-got)
		require.Equal(t, number, r.server.Locks()["l"])
		require.NoError(t, b.Close())
		require.Empty(t, r.server.Locks())
	})
}

// The branch of a session that has gone is held a moment longer, as on an attached server (server-facts 1b).
func TestADetachTakesItsTime(t *testing.T) {
	onKind(t, xasim.MariaDB(), func(t *testing.T, r *rig) {
		r.server.SetDetachDelay(300 * time.Millisecond)
		c := r.session()
		branch(t, c, "'x'", "(1, 'a')")
		require.NoError(t, c.Close())
		other := r.session()
		require.Equal(t, []string{"x"}, r.listed())
		refused(t, other, 1397, "XA COMMIT 'x'")
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		do(t, other, "XA COMMIT 'x'")
	})
}
