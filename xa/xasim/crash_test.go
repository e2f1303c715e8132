package xasim_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/xa/xasim"
)

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }

func TestARestartKeepsPreparedBranchesAndNothingElse(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		open, done := r.session(), r.session()
		do(t, open, "XA START 'open'", "INSERT INTO d.t VALUES (1, 'a')")
		branch(t, done, "'done'", "(2, 'b')")
		do(t, done, "XA COMMIT 'done'")
		branch(t, done, "'kept'", "(3, 'c')")
		before := id(t, open)
		r.server.Restart(xasim.Crash{})
		require.Equal(t, []string{"kept"}, r.listed())
		require.Equal(t, 1, r.rows())
		c := r.session()
		require.Less(t, id(t, c), before+3, "connection ids begin anew")
		refused(t, c, 1205, "INSERT INTO d.t VALUES (3, 'z')")
		do(t, c, "INSERT INTO d.t VALUES (1, 'z')", "XA COMMIT 'kept'")
		require.NoError(t, c.Close())
		require.Equal(t, 3, r.rows())
	})
}

func TestAStartTellsOfItself(t *testing.T) {
	onKind(t, xasim.MySQL(), func(t *testing.T, r *rig) {
		var name string
		var up int
		require.NoError(t, r.db.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Uptime'").Scan(&name, &up))
		require.GreaterOrEqual(t, up, 3600)
		r.server.Kill()
		require.Error(t, r.db.PingContext(t.Context()))
		r.server.Boot(xasim.Crash{})
		require.NoError(t, r.db.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Uptime'").Scan(&name, &up))
		require.Zero(t, up)
	})
}

// A start may forget prepared branches, as MySQL's does among other format ids (server-facts 0.4).
func TestAStartLosesTheBranchesThatItIsTold(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		for i, name := range []string{"a", "b", "c"} {
			c := r.session()
			branch(t, c, "'"+name+"'", "("+strconv.Itoa(i)+", 'x')")
			require.NoError(t, c.Close())
		}
		r.server.Restart(xasim.Crash{Lose: func(x xasim.XID) bool { return x.GTRID != "b" }})
		require.Equal(t, []string{"b"}, r.listed())
		e, ok := r.last(xasim.Lost)
		require.True(t, ok)
		require.Equal(t, 1, e.Rows)
		r.exec("XA COMMIT 'b'")
		require.Equal(t, 1, r.rows())
		r.exec("INSERT INTO d.t VALUES (0, 'free')")
	})
}

// What was acknowledged is taken back, the newest first: commits and rollbacks leave prepared branches behind, a PREPARE
// leaves nothing.
func TestAStartTakesBackTheNewestEntries(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		prepare := func(name, row string) {
			c := r.session()
			branch(t, c, "'"+name+"'", row)
			require.NoError(t, c.Close())
		}
		r.exec("INSERT INTO d.t VALUES (1, 'local')")
		prepare("committed", "(2, 'x')")
		prepare("rolled", "(3, 'x')")
		prepare("open", "(4, 'x')")
		r.exec("XA COMMIT 'committed'")
		r.exec("XA ROLLBACK 'rolled'")
		r.exec("UPDATE d.t SET v = 'new' WHERE id = 2")
		require.Equal(t, []string{"open"}, r.listed())

		r.server.Restart(xasim.Crash{TakeBack: 2}) // the UPDATE and the ROLLBACK
		require.ElementsMatch(t, []string{"open", "rolled"}, r.listed())
		require.Equal(t, 1, r.count("SELECT COUNT(*) FROM d.t WHERE id = 2 AND v = 'x'"))
		r.exec("XA COMMIT 'rolled'")
		require.Equal(t, 3, r.rows())
	})
	eachKind(t, func(t *testing.T, r *rig) {
		c := r.session()
		do(t, c, "INSERT INTO d.t VALUES (1, 'local')", "XA START 'x'", "UPDATE d.t SET v = 'x' WHERE id = 1",
			"INSERT INTO d.t VALUES (2, 'x')", "XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'")
		require.Equal(t, 2, r.rows())
		r.server.Restart(xasim.Crash{TakeBack: 1})
		require.Equal(t, []string{"x"}, r.listed())
		require.Equal(t, 1, r.count("SELECT COUNT(*) FROM d.t WHERE v = 'local'"))
		require.Equal(t, 1, r.rows())
		other := r.session()
		refused(t, other, 1205, "UPDATE d.t SET v = 'y' WHERE id = 1")
		require.NoError(t, other.Close())

		r.server.Restart(xasim.Crash{TakeBack: 10}) // what one start has seen is safe from the next one
		require.Equal(t, []string{"x"}, r.listed())
		r.exec("XA ROLLBACK 'x'")
		require.Equal(t, 1, r.count("SELECT COUNT(*) FROM d.t WHERE v = 'local'"))
	})
}
