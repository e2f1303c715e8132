package xasim_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/xa/xasim"
)

func TestALostRequestIsNotExecuted(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		c := r.session()
		branch(t, c, "'x'", "(1, 'a')")
		fired := r.server.Inject(xasim.Fault{Statement: "xa commit", Act: xasim.LoseRequest})
		_, err := c.ExecContext(t.Context(), "XA COMMIT 'x'")
		require.ErrorIs(t, err, mysql.ErrInvalidConn)
		require.Equal(t, 1, fired())
		require.Equal(t, []string{"x"}, r.listed())
		require.Zero(t, r.rows())
		_, err = c.ExecContext(t.Context(), "DO 1")
		require.ErrorIs(t, err, driver.ErrBadConn)
		r.exec("XA COMMIT 'x'")
		require.Equal(t, 1, r.rows())
	})
}

func TestALostAnswerHasItsEffect(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		c := r.session()
		branch(t, c, "'x'", "(1, 'a')")
		r.server.Inject(xasim.Fault{Statement: "XA COMMIT", Act: xasim.LoseAnswer})
		_, err := c.ExecContext(t.Context(), "XA COMMIT 'x'")
		require.ErrorIs(t, err, mysql.ErrInvalidConn)
		require.Empty(t, r.listed())
		require.Equal(t, 1, r.rows())
	})
}

// The answer to PREPARE is lost: the branch is prepared, and free for others, since its session has ended.
func TestALostAnswerToPrepareLeavesABranchThatAnybodyCommits(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		c := r.session()
		do(t, c, "XA START 'x'", "INSERT INTO d.t VALUES (1, 'a')", "XA END 'x'")
		r.server.Inject(xasim.Fault{Statement: "XA PREPARE", Act: xasim.LoseAnswer})
		_, err := c.ExecContext(t.Context(), "XA PREPARE 'x'")
		require.ErrorIs(t, err, mysql.ErrInvalidConn)
		require.Equal(t, []string{"x"}, r.listed())
		r.exec("XA COMMIT 'x'")
		require.Equal(t, 1, r.rows())
	})
}

// A frozen session keeps its locks until it is killed, whatever became of its client.
func TestAFrozenSessionStays(t *testing.T) {
	for _, act := range []xasim.Act{xasim.FreezeRequest, xasim.FreezeAnswer} {
		t.Run(act.String(), func(t *testing.T) {
			onKind(t, xasim.MySQL(), func(t *testing.T, r *rig) {
				c := r.session()
				number := id(t, c)
				do(t, c, "XA START 'x'")
				r.server.Inject(xasim.Fault{Statement: "INSERT", Act: act})
				_, err := c.ExecContext(within(t, time.Second), "INSERT INTO d.t VALUES (1, 'a')")
				require.ErrorIs(t, err, context.DeadlineExceeded)

				other := r.session()
				if act == xasim.FreezeAnswer {
					refused(t, other, 1205, "INSERT INTO d.t VALUES (1, 'b')")
				}
				refused(t, other, 1440, "XA START 'x'")
				require.Equal(t, 1, r.count("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = "+itoa(number)))
				do(t, other, "KILL CONNECTION "+itoa(number), "INSERT INTO d.t VALUES (1, 'b')", "XA START 'x'")
			})
		})
	}
}

// Without KILL wait_timeout is what ends it.
func TestAFrozenSessionEndsByItsTimeout(t *testing.T) {
	onKind(t, xasim.MariaDB(), func(t *testing.T, r *rig) {
		c := r.session()
		branch(t, c, "'x'", "(1, 'a')")
		require.NoError(t, r.server.Freeze(id(t, c)))
		_, err := c.ExecContext(within(t, time.Second), "XA COMMIT 'x'")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		other := r.session()
		refused(t, other, 1397, "XA COMMIT 'x'")
		time.Sleep(28800 * time.Second)
		synctest.Wait()
		r.exec("XA COMMIT 'x'")
		require.Equal(t, 1, r.rows())
		require.NoError(t, other.Close())
		require.Error(t, r.server.Freeze(4711))
	})
}

func TestASwallowedStatementIsAnsweredAndNotExecuted(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		c := r.session()
		r.server.Inject(xasim.Fault{Statement: "INSERT INTO d.t", Act: xasim.Swallow})
		result, err := c.ExecContext(t.Context(), "INSERT INTO d.t VALUES (1, 'a')")
		require.NoError(t, err)
		n, err := result.RowsAffected()
		require.NoError(t, err)
		require.Zero(t, n)
		require.Zero(t, r.rows())
		r.exec("INSERT INTO d.t VALUES (1, 'a')")
		require.Equal(t, 1, r.rows())
	})
}

// A table that a branch only reads, or whose change was taken back, is not among those of its PREPARE.
func TestPrepareTellsWhichTablesABranchChanges(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		r.exec("CREATE TABLE d.read_only (id BIGINT PRIMARY KEY)")
		r.exec("CREATE TABLE d.undone (id BIGINT PRIMARY KEY)")
		r.exec("CREATE TABLE d.more (id BIGINT PRIMARY KEY)")
		c := r.session()
		do(t, c, "XA START 'x'", "INSERT INTO d.more VALUES (1)", "SELECT COUNT(*) FROM d.read_only", "SAVEPOINT s", "INSERT INTO d.undone VALUES (1)",
			"ROLLBACK TO s", "INSERT INTO d.t VALUES (1, 'a')", "XA END 'x'", "XA PREPARE 'x'")
		e, found := r.last(xasim.Prepared)
		require.True(t, found)
		require.Equal(t, []string{"d.more", "d.t"}, e.Tables)
		require.Equal(t, 2, e.Rows)
	})
}

func TestARefusedStatementIsNotExecuted(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		c := r.session()
		branch(t, c, "'x'", "(1, 'a')")
		r.server.Inject(xasim.Fault{Statement: "XA COMMIT", Contains: "'x'", Times: 2, Act: xasim.Refuse, Err: &mysql.MySQLError{Number: 1180}})
		refused(t, c, 1180, "XA COMMIT 'x'")
		refused(t, c, 1180, "XA COMMIT 'x'")
		do(t, c, "XA COMMIT 'x'")
		require.NoError(t, c.Close())
		require.Equal(t, 1, r.rows())
	})
}

// False OK and limbo, as MariaDB was seen to (server-facts 0.3): answered, not done, in no list, locked, and back after a
// restart.
func TestAFalseOKLeavesTheBranchInLimboUntilARestart(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		c := r.session()
		branch(t, c, "'x'", "(1, 'a')")
		require.NoError(t, c.Close())
		r.server.Inject(xasim.Fault{Statement: "XA COMMIT", Act: xasim.FalseOK})
		r.exec("XA COMMIT 'x'")
		require.Empty(t, r.listed())
		require.Zero(t, r.rows())
		other := r.session()
		refused(t, other, 1397, "XA COMMIT 'x'")
		refused(t, other, 1205, "INSERT INTO d.t VALUES (1, 'b')")
		require.NoError(t, other.Close())
		require.Equal(t, 1, r.count("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = 0"))
		e, ok := r.last(xasim.Limbo)
		require.True(t, ok)
		require.Equal(t, "x", e.XID.GTRID)

		r.server.Restart(xasim.Crash{})
		require.Equal(t, []string{"x"}, r.listed())
		r.exec("XA COMMIT 'x'")
		require.Equal(t, 1, r.rows())
	})
}

// A slow statement goes on when its client has given up, and its locks with it.
func TestASlowStatementGoesOnWithoutItsClient(t *testing.T) {
	onKind(t, xasim.MySQL(), func(t *testing.T, r *rig) {
		c := r.session()
		r.server.Inject(xasim.Fault{Statement: "INSERT", Act: xasim.Slow, Delay: 10 * time.Second})
		_, err := c.ExecContext(within(t, time.Second), "INSERT INTO d.t VALUES (1, 'a')")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Zero(t, r.rows())
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, r.rows())
	})
}

func TestASlowCommitIsListedWhileItsRowsAreVisible(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		c := r.session()
		branch(t, c, "'x'", "(1, 'a')")
		r.server.Inject(xasim.Fault{Statement: "XA COMMIT", Act: xasim.SlowCommit, Delay: time.Minute})
		done := make(chan error)
		go func() {
			_, err := c.ExecContext(t.Context(), "XA COMMIT 'x'")
			done <- err
		}()
		synctest.Wait()
		require.Equal(t, 1, r.rows())
		require.Equal(t, []string{"x"}, r.listed())
		require.NoError(t, <-done)
		require.Empty(t, r.listed())
		require.NoError(t, c.Close())
	})
}

func TestACrashBeforeOrAfterAStatement(t *testing.T) {
	for _, act := range []xasim.Act{xasim.CrashBefore, xasim.CrashAfter} {
		t.Run(act.String(), func(t *testing.T) {
			eachKind(t, func(t *testing.T, r *rig) {
				c := r.session()
				do(t, c, "XA START 'x'", "INSERT INTO d.t VALUES (1, 'a')", "XA END 'x'")
				r.server.Inject(xasim.Fault{Statement: "XA PREPARE", Act: act, Delay: 5 * time.Second})
				_, err := c.ExecContext(t.Context(), "XA PREPARE 'x'")
				require.ErrorIs(t, err, mysql.ErrInvalidConn)
				require.Error(t, r.db.PingContext(t.Context()), "the server is down")
				time.Sleep(6 * time.Second)
				if act == xasim.CrashBefore {
					require.Empty(t, r.listed())
				} else {
					require.Equal(t, []string{"x"}, r.listed())
				}
			})
		})
	}
}

func TestFaultsAreForWhomTheyAreMeant(t *testing.T) {
	onKind(t, xasim.MySQL(), func(t *testing.T, r *rig) {
		a, b := r.session(), r.session()
		boom := errors.New("boom")
		r.server.Inject(xasim.Fault{Session: id(t, b), Contains: "'z'", Times: -1, Act: xasim.Refuse, Err: boom})
		do(t, a, "INSERT INTO d.t VALUES (1, 'z')")
		do(t, b, "INSERT INTO d.t VALUES (2, 'y')")
		for range 3 {
			_, err := b.ExecContext(t.Context(), "INSERT INTO d.t VALUES (3, 'z')")
			require.ErrorIs(t, err, boom)
		}
		r.server.ClearFaults()
		do(t, b, "INSERT INTO d.t VALUES (3, 'z')")
		require.NoError(t, a.Close())
	})
}
