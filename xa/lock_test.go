package xa_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/xa"
)

// TestL20_ALockWaitStallsTheBranch: 1205 undoes one statement; the branch goes on once the lock is free.
func TestL20_ALockWaitStallsTheBranch(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		ctx := t.Context()
		holder, s := take(t, p), take(t, p)
		held := r.prepare(t, holder, 1)
		id := r.id()
		require.NoError(t, s.Start(ctx, id))
		_, err := s.Exec(ctx, r.insert(2))
		require.NoError(t, err)
		start := time.Now()
		n, err := s.Exec(ctx, r.insert(1)+", (3, 'w')")
		require.ErrorIs(t, err, xa.ErrLockWait)
		require.Zero(t, n)
		require.Less(t, time.Since(start), 25*time.Second, "innodb_lock_wait_timeout is the server's own")
		require.Equal(t, xa.Refused, xa.OutcomeOf(err))
		require.Equal(t, xa.Stalled, s.State())
		require.ErrorContains(t, err, "the statement alone was undone")
		var refused *xa.StateError
		require.ErrorAs(t, s.End(ctx), &refused, "the branch would be prepared without these rows")

		require.NoError(t, holder.Rollback(ctx, held.XID()))
		n, err = s.Exec(ctx, r.insert(1)+", (3, 'w')")
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		require.NoError(t, s.End(ctx))
		require.NoError(t, s.Prepare(ctx))
		require.NoError(t, s.Commit(ctx, id.XID()))
		require.EqualValues(t, 3, r.rows(t))
	})
}

// TestSavepointWayOutOfALockWait is server-facts.md, 11: the Write is undone, the branch goes on, the own prepared
// branch that held the lock is committed, and the Write is repeated in the next branch.
func TestSavepointWayOutOfALockWait(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		ctx := t.Context()
		holder, s := take(t, p), take(t, p)
		upsert := func(ids ...int) string {
			q := "INSERT INTO " + r.table() + " VALUES "
			for i, id := range ids {
				if i > 0 {
					q += ", "
				}
				q += fmt.Sprintf("(%d, 'u')", id)
			}
			return q + " ON DUPLICATE KEY UPDATE v = 'up'"
		}
		exec := func(query string) {
			t.Helper()
			_, err := s.Exec(ctx, query)
			require.NoError(t, err)
		}
		a := r.prepare(t, holder, 1)
		b := r.id()
		require.NoError(t, s.Start(ctx, b))
		exec(r.insert(10))
		require.NoError(t, s.Savepoint(ctx))
		exec(r.insert(11))
		_, err := s.Exec(ctx, upsert(12, 1))
		require.ErrorIs(t, err, xa.ErrLockWait)
		require.NoError(t, s.RollbackTo(ctx))
		require.NoError(t, s.End(ctx))
		require.NoError(t, s.Prepare(ctx))
		require.NoError(t, holder.Commit(ctx, a.XID()))
		require.NoError(t, s.Commit(ctx, b.XID()))
		require.EqualValues(t, 2, r.rows(t))
		c := r.id()
		require.NoError(t, s.Start(ctx, c))
		exec(r.insert(11))
		exec(upsert(12, 1))
		require.NoError(t, s.End(ctx))
		require.NoError(t, s.Prepare(ctx))
		require.NoError(t, s.Commit(ctx, c.XID()))
		require.EqualValues(t, 4, r.rows(t))
		require.EqualValues(t, 1, servertest.Int(t, r.admin, "SELECT COUNT(*) FROM "+r.table()+" WHERE id = 1 AND v = 'up'"))
	})
}

// TestL04_ADeadlockVictim can only be rolled back, and its session can then be used again (G055, G072, G094 to G096).
func TestL04_ADeadlockVictim(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		for _, then := range []string{"abort", "exec", "end"} {
			t.Run(then, func(t *testing.T) {
				r := newRig(t, real, func(c *xa.Config) { c.LockWait = 20 * time.Second })
				p := r.pool(t)
				victim, other := r.deadlock(t, p)
				require.Equal(t, xa.Poisoned, victim.State())
				ctx := t.Context()
				var refused *xa.StateError
				switch then {
				case "exec":
					_, err := victim.Exec(ctx, r.insert(99))
					require.ErrorAs(t, err, &refused, "older servers would commit it at once")
				case "end":
					require.ErrorAs(t, victim.End(ctx), &refused)
				}
				require.NoError(t, victim.Abort(ctx))
				require.NoError(t, other.Abort(ctx))
				require.EqualValues(t, 2, r.rows(t), "only the rows that were there before")
				id := r.prepare(t, victim, 50)
				require.NoError(t, victim.Commit(ctx, id.XID()))
				require.EqualValues(t, 3, r.rows(t))
			})
		}
	})
}

// deadlock makes two branches lock each other, and gives the one that the server rolled back first.
func (r *rig) deadlock(t *testing.T, p *xa.Pool) (victim, other *xa.Session) {
	t.Helper()
	ctx := t.Context()
	servertest.Exec(t, r.admin, r.insert(1))
	servertest.Exec(t, r.admin, r.insert(2))
	a, b := take(t, p), take(t, p)
	update := func(s *xa.Session, id int) error {
		_, err := s.Exec(ctx, fmt.Sprintf("UPDATE %s SET v = 'd' WHERE id = %d", r.table(), id))
		return err
	}
	require.NoError(t, a.Start(ctx, r.id()))
	require.NoError(t, b.Start(ctx, r.id()))
	require.NoError(t, update(a, 1))
	require.NoError(t, update(b, 2))
	first := make(chan error, 1)
	go func() { first <- update(a, 2) }()
	second := update(b, 1)
	victim, other, failed := b, a, second
	if e := <-first; e != nil {
		require.NoError(t, second, "both were rolled back")
		victim, other, failed = a, b, e
	}
	require.ErrorIs(t, failed, xa.ErrRolledBack)
	require.ErrorContains(t, failed, "1213")
	require.Equal(t, xa.Refused, xa.OutcomeOf(failed))
	require.Equal(t, xa.Active, other.State())
	return victim, other
}

// TestG002_ACancelledStatement: the server goes on with it, so only Discard makes the row free again (G008, L15).
func TestG002_ACancelledStatement(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		s := take(t, p)
		require.NoError(t, s.Start(t.Context(), r.id()))
		_, err := s.Exec(t.Context(), r.insert(1))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		result := make(chan error, 1)
		go func() {
			_, err := s.Exec(ctx, "INSERT INTO "+r.table()+" SELECT 2, SLEEP(60)")
			result <- err
		}()
		require.Eventually(t, func() bool { return r.executing(t, s, "INSERT") }, 10*time.Second, 5*time.Millisecond)
		cancel()
		err = <-result
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, xa.ErrSessionLost)
		require.Equal(t, xa.InDoubt, xa.OutcomeOf(err))
		require.Equal(t, xa.Broken, s.State())
		alive, err := r.server.SessionAlive(t.Context(), s.ConnectionID())
		require.NoError(t, err)
		require.True(t, alive, "the server stopped by itself: this test has nothing to show")

		require.NoError(t, p.Discard(t.Context(), s))
		alive, err = r.server.SessionAlive(t.Context(), s.ConnectionID())
		require.NoError(t, err)
		require.False(t, alive)
		other := take(t, p)
		id := r.prepare(t, other, 1)
		require.NoError(t, other.Commit(t.Context(), id.XID()))
		require.EqualValues(t, 1, r.rows(t))
	})
}

// TestKilledByAnOperator: KILL QUERY poisons the branch, KILL CONNECTION loses the session.
func TestKilledByAnOperator(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real, func(c *xa.Config) { c.LockWait = 60 * time.Second })
		p := r.pool(t)
		ctx := t.Context()
		holder, s := take(t, p), take(t, p)
		held := r.prepare(t, holder, 2)
		kill := func(what string) error {
			result := make(chan error, 1)
			go func() {
				_, err := s.Exec(ctx, r.insert(2))
				result <- err
			}()
			require.Eventually(t, func() bool { return r.executing(t, s, "INSERT") }, 10*time.Second, 5*time.Millisecond)
			servertest.Exec(t, r.admin, fmt.Sprintf("KILL %s %d", what, s.ConnectionID()))
			return <-result
		}
		require.NoError(t, s.Start(ctx, r.id()))
		err := kill("QUERY")
		require.ErrorContains(t, err, "1317")
		require.Equal(t, xa.Poisoned, s.State(), "%s", err)
		require.NoError(t, s.Abort(ctx))
		require.NoError(t, s.Start(ctx, r.id()))
		err = kill("CONNECTION")
		require.Error(t, err)
		if s.State() != xa.Broken {
			// The server may get its answer out before it closes the connection.
			require.Equal(t, xa.Poisoned, s.State(), "%s", err)
			require.ErrorIs(t, s.Abort(ctx), xa.ErrSessionLost)
		}
		require.Equal(t, xa.Broken, s.State())
		require.NoError(t, p.Discard(ctx, s))
		require.NoError(t, holder.Rollback(ctx, held.XID()))
		require.Zero(t, r.rows(t))
	})
}

// executing tells whether the server is busy for s with a statement that begins with prefix.
func (r *rig) executing(t *testing.T, s *xa.Session, prefix string) bool {
	t.Helper()
	n, err := r.processes(t, fmt.Sprintf("ID = %d AND INFO LIKE '%s%%'", s.ConnectionID(), prefix))
	return err == nil && n == 1
}

// processes counts sessions. MySQL refuses that while some session's statement has characters of four bytes.
func (r *rig) processes(t *testing.T, where string) (n int, err error) {
	t.Helper()
	err = r.admin.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE "+where).Scan(&n)
	return n, err
}

// TestL06_WhatTheServerRefusesInsideABranch poisons it; nothing is committed by the way.
func TestL06_WhatTheServerRefusesInsideABranch(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		s := take(t, r.pool(t))
		ctx := t.Context()
		for _, q := range []string{"COMMIT", "BEGIN", "ROLLBACK", "TRUNCATE " + r.table(), "CREATE TABLE `" + r.db + "`.`u` (id INT)",
			"ALTER TABLE " + r.table() + " ADD COLUMN w INT"} {
			require.NoError(t, s.Start(ctx, r.id()))
			_, err := s.Exec(ctx, r.insert(1))
			require.NoError(t, err)
			_, err = s.Exec(ctx, q)
			require.ErrorIs(t, err, xa.ErrWrongState, "%s", q)
			require.Equal(t, xa.Poisoned, s.State())
			require.NoError(t, s.Abort(ctx))
		}
		require.Zero(t, r.rows(t))
	})
}

// TestL18_ATableWithAPreparedBranchIsLocked for DDL; the wait is of seconds, not for ever (T24).
func TestL18_ATableWithAPreparedBranchIsLocked(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real, func(c *xa.Config) { c.MetadataLockWait = time.Second })
		p := r.pool(t)
		holder, s := take(t, p), take(t, p)
		id := r.prepare(t, holder, 1)
		_, err := s.ExecContext(t.Context(), "ALTER TABLE "+r.table()+" ADD COLUMN w INT")
		require.ErrorIs(t, err, xa.ErrLockWait)
		require.Equal(t, xa.None, s.State())
		require.NoError(t, holder.Commit(t.Context(), id.XID()))
		_, err = s.ExecContext(t.Context(), "ALTER TABLE "+r.table()+" ADD COLUMN w INT")
		require.NoError(t, err)
	})
}

// TestL14_RowsThatAreLeftOpen cost the session, and no verb is sent among them (G009, G053, S22).
func TestL14_RowsThatAreLeftOpen(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		s := take(t, p)
		ctx := t.Context()
		require.Equal(t, "1", text(t, s, "SELECT 1 UNION ALL SELECT 2"), "rows are left unread, and closed")
		require.NoError(t, s.Start(ctx, r.id()))
		require.NoError(t, s.Abort(ctx))

		rows, err := s.QueryContext(ctx, "SELECT a.ENGINE FROM information_schema.ENGINES a, information_schema.ENGINES b, "+
			"information_schema.ENGINES c, information_schema.ENGINES d")
		require.NoError(t, err)
		defer func() { _ = rows.Close() }()
		require.True(t, rows.Next())
		err = s.Start(ctx, r.id())
		require.ErrorIs(t, err, xa.ErrSessionLost)
		require.Equal(t, xa.Broken, s.State())
		require.NoError(t, p.Discard(ctx, s))
		for rows.Next() {
			continue
		}
		require.Error(t, rows.Err(), "the rows that were cut off look complete")
	})
}

var ownServer = flag.Bool("own-server", false,
	"the servers of the DSNs are this test's alone: also run what locks a whole server (go test ./xa -own-server)")

// TestPrepareAndCommitUnderAGlobalReadLock: PREPARE loses the branch, COMMIT and ROLLBACK leave it prepared.
func TestPrepareAndCommitUnderAGlobalReadLock(t *testing.T) {
	if !*ownServer {
		t.Skip("FLUSH TABLES WITH READ LOCK stops a whole server: run it with -own-server on servers that nobody else uses")
	}
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real, func(c *xa.Config) { c.MetadataLockWait = time.Second })
		p := r.pool(t)
		ctx := t.Context()
		ended, prepared := take(t, p), take(t, p)
		id := r.prepare(t, prepared, 1)
		require.NoError(t, ended.Start(ctx, r.id()))
		_, err := ended.Exec(ctx, r.insert(2))
		require.NoError(t, err)
		require.NoError(t, ended.End(ctx))
		state := prepared.State()

		blocker, err := r.admin.Conn(ctx)
		require.NoError(t, err)
		defer func() { _ = blocker.Close() }()
		_, err = blocker.ExecContext(ctx, "FLUSH TABLES WITH READ LOCK")
		require.NoError(t, err)
		for _, do := range []func(context.Context, xa.XID) error{prepared.Commit, prepared.Rollback} {
			err := do(ctx, id.XID())
			require.ErrorIs(t, err, xa.ErrLockWait)
			require.Equal(t, xa.Refused, xa.OutcomeOf(err))
			require.Equal(t, state, prepared.State())
		}
		err = ended.Prepare(ctx)
		require.ErrorIs(t, err, xa.ErrLockWait)
		require.Equal(t, xa.Refused, xa.OutcomeOf(err))
		require.Equal(t, xa.None, ended.State())
		_, err = blocker.ExecContext(ctx, "UNLOCK TABLES")
		require.NoError(t, err)

		require.Equal(t, []xa.ID{id}, real.Prepared(t, r.job))
		require.NoError(t, prepared.Commit(ctx, id.XID()))
		require.EqualValues(t, 1, r.rows(t), "the branch whose PREPARE was refused left rows")
		again := r.prepare(t, ended, 3)
		require.NoError(t, ended.Commit(ctx, again.XID()))
	})
}
