package xasim_test

import (
	"database/sql"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// later runs a statement on c in the background, and tells its error.
func later(t *testing.T, c *sql.Conn, statement string) chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := c.ExecContext(t.Context(), statement)
		done <- err
	}()
	synctest.Wait()
	return done
}

// waits tells that a statement in the background has not ended.
func waits(t *testing.T, done chan error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		require.Fail(t, "it did not wait", "%v", err)
	default:
	}
}

func TestLocksAreGivenInTheOrderInWhichTheyWereAskedFor(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		r.exec("INSERT INTO d.t VALUES (1, 'a')")
		holder, first, second, reader := r.session(), r.session(), r.session(), r.session()
		for _, c := range []*sql.Conn{holder, first, second, reader} {
			do(t, c, "SET SESSION innodb_lock_wait_timeout = 50", "BEGIN")
		}
		const share = "SELECT v FROM d.t WHERE id = 1 LOCK IN SHARE MODE"
		do(t, holder, share)
		one := later(t, first, "UPDATE d.t SET v = 'first' WHERE id = 1")
		two := later(t, second, "UPDATE d.t SET v = 'second' WHERE id = 1")
		// It would fit beside the holder's, and stands behind those who wait.
		three := later(t, reader, share)
		waits(t, one)
		waits(t, three)
		do(t, holder, "COMMIT")
		require.NoError(t, <-one)
		waits(t, two)
		do(t, first, "COMMIT")
		require.NoError(t, <-two)
		waits(t, three)
		do(t, second, "COMMIT")
		require.NoError(t, <-three)
	})
}

func TestAHeldLockIsNotWaitedForAgain(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		r.exec("INSERT INTO d.t VALUES (1, 'a')")
		holder, other := r.session(), r.session()
		do(t, other, "SET SESSION innodb_lock_wait_timeout = 50")
		do(t, holder, "BEGIN", "UPDATE d.t SET v = 'b' WHERE id = 1")
		waiter := later(t, other, "DELETE FROM d.t WHERE id = 1")
		do(t, holder, "UPDATE d.t SET v = 'c' WHERE id = 1", "SELECT v FROM d.t WHERE id = 1 FOR UPDATE", "COMMIT")
		require.NoError(t, <-waiter)
		require.Zero(t, r.rows())
	})
}

// Two that hold a shared lock and both want to write close a circle; one is rolled back, and the other goes on.
func TestAnUpgradeOfTwoSharedLocksIsADeadlock(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		r.exec("INSERT INTO d.t VALUES (1, 'a')")
		a, b := r.session(), r.session()
		for _, c := range []*sql.Conn{a, b} {
			do(t, c, "BEGIN", "SELECT v FROM d.t WHERE id = 1 LOCK IN SHARE MODE")
		}
		one := later(t, a, "UPDATE d.t SET v = 'x' WHERE id = 1")
		waits(t, one)
		refused(t, b, 1213, "UPDATE d.t SET v = 'y' WHERE id = 1")
		require.NoError(t, <-one)
		do(t, a, "COMMIT")
		require.Equal(t, 1, r.count("SELECT COUNT(*) FROM d.t WHERE v = 'x'"))
	})
}

// The victim of a deadlock is the one that has changed less, also where it is the one that waits already.
func TestTheVictimOfADeadlockHasChangedLess(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		r.exec("INSERT INTO d.t VALUES (1, 'a'), (2, 'b')")
		small, large := r.session(), r.session()
		do(t, small, "BEGIN", "UPDATE d.t SET v = 's' WHERE id = 1")
		do(t, large, "BEGIN", "INSERT INTO d.t VALUES (11, 'x'), (12, 'x'), (13, 'x'), (14, 'x')", "UPDATE d.t SET v = 'l' WHERE id = 2")
		waiting := later(t, small, "UPDATE d.t SET v = 's' WHERE id = 2")
		do(t, large, "UPDATE d.t SET v = 'l' WHERE id = 1", "COMMIT")
		require.ErrorContains(t, <-waiting, "1213")
		require.Equal(t, 2, r.count("SELECT COUNT(*) FROM d.t WHERE v = 'l'"))
		do(t, small, "INSERT INTO d.t VALUES (3, 'c')")
		require.Equal(t, 1, r.count("SELECT COUNT(*) FROM d.t WHERE id = 3"), "its transaction is over")
	})
}

func TestALockWaitEndsAtItsTime(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		holder, other := r.session(), r.session()
		do(t, holder, "BEGIN", "INSERT INTO d.t VALUES (1, 'a')")
		do(t, other, "SET SESSION innodb_lock_wait_timeout = 7", "BEGIN", "INSERT INTO d.t VALUES (2, 'b')")
		begin := time.Now()
		refused(t, other, 1205, "INSERT INTO d.t VALUES (3, 'c'), (1, 'b')")
		require.Equal(t, 7*time.Second, time.Since(begin))
		do(t, holder, "ROLLBACK")
		do(t, other, "COMMIT")
		require.Equal(t, 1, r.rows(), "the statement alone was undone")
	})
}

// Definitions wait for transactions, and what comes later waits behind them.
func TestADefinitionWaitsForTransactionsAndHoldsUpOthers(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		user, definer, reader := r.session(), r.session(), r.session()
		do(t, definer, "SET SESSION lock_wait_timeout = 50")
		do(t, user, "BEGIN", "INSERT INTO d.t VALUES (1, 'a')")
		altered := later(t, definer, "ALTER TABLE d.t ADD COLUMN w INT NOT NULL DEFAULT 3")
		waits(t, altered)
		refused(t, reader, 1205, "INSERT INTO d.t VALUES (2, 'b')")
		do(t, user, "INSERT INTO d.t VALUES (3, 'c')", "COMMIT")
		require.NoError(t, <-altered)
		require.Equal(t, 2, r.count("SELECT COUNT(*) FROM d.t WHERE w = 3"))
	})
}
