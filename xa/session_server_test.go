package xa_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/xa"
)

// TestSettingsOfEverySession, whatever the DSN and the server say: sessions and DB alike.
func TestSettingsOfEverySession(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real, func(c *xa.Config) {
			c.DSN = withOption(c.DSN, "charset=latin1&collation=latin1_swedish_ci")
			c.TimeZone, c.LockWait, c.MetadataLockWait = "+05:30", 3*time.Second, 7*time.Second
		})
		s := take(t, r.pool(t))
		for name, q := range map[string]xa.Queryer{"session": s, "DB": r.server.DB()} {
			want := map[string]string{
				"@@autocommit": "1", "@@time_zone": "+05:30", "@@innodb_lock_wait_timeout": "3", "@@lock_wait_timeout": "7",
				"@@wait_timeout": "28800", "@@foreign_key_checks": "1", "@@unique_checks": "1",
				"@@character_set_client": "utf8mb4", "@@character_set_connection": "utf8mb4", "@@character_set_results": "utf8mb4",
				"@@sql_mode": "NO_AUTO_VALUE_ON_ZERO,STRICT_TRANS_TABLES,STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION",
			}
			if real.Flavour == xa.MariaDB {
				want["@@tx_isolation"], want["@@idle_write_transaction_timeout"], want["@@max_statement_time"] = "READ-COMMITTED", "0", "0"
			} else {
				want["@@transaction_isolation"] = "READ-COMMITTED"
			}
			for variable, value := range want {
				require.Equal(t, value, text(t, q, "SELECT "+variable), "%s of %s", variable, name)
			}
		}
	})
}

// text is the one value that a query gives.
func text(t *testing.T, q xa.Queryer, query string) string {
	t.Helper()
	rows, err := q.QueryContext(t.Context(), query)
	require.NoError(t, err, "%s", query)
	defer func() { _ = rows.Close() }()
	require.True(t, rows.Next(), "%s", query)
	var s string
	require.NoError(t, rows.Scan(&s))
	require.NoError(t, rows.Err())
	return s
}

func TestT79_FourByteText(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		s := take(t, r.pool(t))
		ctx := t.Context()
		id := r.id()
		require.NoError(t, s.Start(ctx, id))
		_, err := s.Exec(ctx, "INSERT INTO "+r.table()+" VALUES (1, '💶é')")
		require.NoError(t, err)
		require.NoError(t, s.End(ctx))
		require.NoError(t, s.Prepare(ctx))
		require.NoError(t, s.Commit(ctx, id.XID()))
		require.Equal(t, "F09F92B6C3A9", text(t, r.server.DB(), "SELECT HEX(v) FROM "+r.table()))
	})
}

func TestMarksAreHeldAndFreed(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t, func(c *xa.PoolConfig) { c.MarksPerLane = 2 })
		ctx := t.Context()
		a := take(t, p)
		id, held, err := r.server.MarkHolder(ctx, r.server.DB(), a.Mark())
		require.NoError(t, err)
		require.True(t, held)
		require.Equal(t, a.ConnectionID(), id)

		// Kept over a whole branch, and over the next.
		for row := range 2 {
			branch := r.prepare(t, a, row)
			require.NoError(t, a.Commit(ctx, branch.XID()))
		}
		b := take(t, p)
		holders, err := r.server.Holders(ctx, r.job, 300, 2)
		require.NoError(t, err)
		require.Equal(t, []xa.MarkHolder{{Mark: a.Mark(), Session: a.ConnectionID()}, {Mark: b.Mark(), Session: b.ConnectionID()}}, holders)

		// Another process under the same job name.
		second := xa.NewPool(r.server, xa.PoolConfig{Job: r.job, MarksPerLane: 2})
		_, err = second.Take(ctx, 0)
		require.ErrorIs(t, err, xa.ErrMarkHeld)
		require.Zero(t, second.Sessions())

		// A new owner ends it, and the mark is free at once.
		require.NoError(t, a.Start(ctx, r.id()))
		_, err = a.Exec(ctx, r.insert(10))
		require.NoError(t, err)
		require.NoError(t, r.server.KillSession(ctx, a.ConnectionID()))
		_, held, err = r.server.MarkHolder(ctx, r.server.DB(), a.Mark())
		require.NoError(t, err)
		require.False(t, held)
		fresh, err := second.Take(ctx, 0)
		require.NoError(t, err)
		require.Equal(t, a.Mark(), fresh.Mark())
		branch := r.id()
		branch.Epoch = 2
		require.NoError(t, fresh.Start(ctx, branch))
		_, err = fresh.Exec(ctx, r.insert(10))
		require.NoError(t, err, "the killed owner's row lock is still held")
		require.NoError(t, fresh.Abort(ctx))
		require.NoError(t, second.Close(ctx))

		// The old owner finds out.
		_, err = a.Exec(ctx, r.insert(11))
		require.ErrorIs(t, err, xa.ErrSessionLost)
		require.NoError(t, p.Discard(ctx, a))
	})
}

func TestAdmitRefusalLeavesNothingOnTheServer(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		fenced := errors.New("fenced")
		var id uint64
		var mark xa.Mark
		p := r.pool(t, func(c *xa.PoolConfig) {
			c.Admit = func(ctx context.Context, s *xa.Session) error {
				id, mark = s.ConnectionID(), s.Mark()
				require.Equal(t, "1", text(t, s, "SELECT 1"))
				return fenced
			}
		})
		_, err := p.Take(t.Context(), 0)
		require.ErrorIs(t, err, fenced)
		alive, err := r.server.SessionAlive(t.Context(), id)
		require.NoError(t, err)
		require.False(t, alive)
		_, held, err := r.server.MarkHolder(t.Context(), r.server.DB(), mark)
		require.NoError(t, err)
		require.False(t, held)
	})
}

// TestT58_FailedOpensLeaveNoSessions (G031): the number of sessions on the server is what it was.
func TestT58_FailedOpensLeaveNoSessions(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		user, password := real.User(t, privileges(real)...)
		r := newRig(t, real)
		none := func() bool {
			n, err := r.processes(t, "USER = '"+user+"'")
			return err == nil && n == 0
		}
		require.Eventually(t, none, 5*time.Second, 10*time.Millisecond)
		refused := errors.New("refused")
		for round := range 25 {
			server, err := xa.Connect(t.Context(), xa.Config{DSN: real.UserDSN(user, password, "")})
			require.NoError(t, err)
			bad := xa.NewPool(server, xa.PoolConfig{Job: r.job, Admit: func(context.Context, *xa.Session) error { return refused }})
			for range 3 {
				_, err := bad.Take(t.Context(), 0)
				require.ErrorIs(t, err, refused)
			}
			good := xa.NewPool(server, xa.PoolConfig{Job: r.job})
			s, err := good.Take(t.Context(), 0)
			require.NoError(t, err)
			require.NoError(t, s.Start(t.Context(), xa.ID{Job: r.job, Epoch: 1, Seq: uint64(1 + round)}))
			require.NoError(t, good.Close(t.Context()))
			require.NoError(t, bad.Close(t.Context()))
			require.NoError(t, server.Close())
		}
		require.Eventually(t, none, 5*time.Second, 10*time.Millisecond)
	})
}

// privileges are what a user needs to open this server at all.
func privileges(real servertest.Server) []string {
	if real.Flavour == xa.MySQL {
		return []string{"XA_RECOVER_ADMIN ON *.*"}
	}
	return []string{"PROCESS ON *.*"}
}

// TestAPlainUserEndsItsOwnSessionsOnly, without any privilege for it.
func TestAPlainUserEndsItsOwnSessionsOnly(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		user, password := real.User(t, append(privileges(real), "SELECT, INSERT ON `"+r.db+"`.*")...)
		plain, err := xa.Connect(t.Context(), xa.Config{DSN: real.UserDSN(user, password, "")})
		require.NoError(t, err)
		defer func() { require.NoError(t, plain.Close()) }()
		p := xa.NewPool(plain, xa.PoolConfig{Job: r.job})
		defer func() { require.NoError(t, p.Close(t.Context())) }()
		s := take(t, p)
		require.NoError(t, plain.KillSession(t.Context(), s.ConnectionID()))
		alive, err := r.server.SessionAlive(t.Context(), s.ConnectionID())
		require.NoError(t, err)
		require.False(t, alive)

		others := take(t, r.pool(t))
		err = plain.KillSession(t.Context(), others.ConnectionID())
		if real.Flavour == xa.MariaDB {
			require.ErrorContains(t, err, "not ours to end", "with PROCESS the session is seen")
		} else {
			require.NoError(t, err, "without PROCESS another user's session looks gone")
		}
		_, held, err := plain.MarkHolder(t.Context(), plain.DB(), others.Mark())
		require.NoError(t, err)
		require.True(t, held, "whoever ends a mark's holder sees that it was not ended")
	})
}

func TestCloseLeavesPreparedBranchesAndNothingElse(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		ctx := t.Context()
		prepared, open, idle := take(t, p), take(t, p), take(t, p)
		id := r.prepare(t, prepared, 1)
		require.NoError(t, open.Start(ctx, r.id()))
		_, err := open.Exec(ctx, r.insert(2))
		require.NoError(t, err)
		p.Return(idle)
		require.NoError(t, p.Close(ctx))
		for _, s := range []*xa.Session{prepared, open, idle} {
			alive, err := r.server.SessionAlive(ctx, s.ConnectionID())
			require.NoError(t, err)
			require.False(t, alive)
			require.Equal(t, xa.Broken, s.State())
		}
		require.Equal(t, []xa.ID{id}, real.Prepared(t, r.job))
		require.Zero(t, r.rows(t))
		if !r.server.Abilities().Detached {
			awaitDetach(t)
		}
		s := take(t, r.pool(t))
		require.NoError(t, s.Commit(ctx, id.XID()))
		require.EqualValues(t, 1, r.rows(t))
	})
}

// TestG046_ManySessionsAtOnce: each has a mark and a branch of its own.
func TestG046_ManySessionsAtOnce(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t, func(c *xa.PoolConfig) { c.MarksPerLane = 12 })
		var all sync.WaitGroup
		marks := make(chan xa.Mark, 12)
		errs := make(chan error, 12)
		for n := range 12 {
			all.Go(func() {
				s, err := p.Take(t.Context(), 0)
				if err == nil {
					marks <- s.Mark()
					err = s.Start(t.Context(), xa.ID{Job: r.job, Epoch: 1, Seq: uint64(1 + n)})
				}
				errs <- err
			})
		}
		all.Wait()
		close(marks)
		close(errs)
		for err := range errs {
			require.NoError(t, err)
		}
		seen := map[xa.Mark]bool{}
		for m := range marks {
			require.False(t, seen[m], "%s is held twice", m)
			seen[m] = true
		}
		require.Len(t, seen, 12)
	})
}

func TestIdentityAndStart(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		require.NoError(t, r.server.Settled(t.Context()))
		elsewhere, err := xa.Connect(t.Context(), xa.Config{DSN: real.DSN(""), TimeZone: "-11:00"})
		require.NoError(t, err)
		defer func() { require.NoError(t, elsewhere.Close()) }()
		s := take(t, r.pool(t))
		first, err := r.server.Identify(t.Context(), r.server.DB())
		require.NoError(t, err)
		second, err := r.server.Identify(t.Context(), s)
		require.NoError(t, err)
		require.True(t, first.SameStart(second), "%+v %+v", first, second)
		third, err := elsewhere.Identify(t.Context(), elsewhere.DB())
		require.NoError(t, err)
		require.True(t, first.SameStart(third), "the session's time zone got in: %+v %+v", first, third)
		require.NotEmpty(t, first.Name)
		require.True(t, first.SameServer(second))
		require.True(t, first.Started.Before(time.Now().Add(time.Minute)))

		later := first
		later.Started = later.Started.Add(xa.StartTolerance + time.Second)
		require.True(t, first.SameServer(later))
		require.False(t, first.SameStart(later))
		later.Started = first.Started.Add(-xa.StartTolerance)
		require.True(t, first.SameStart(later))
		other := first
		other.Name = "another"
		require.False(t, first.SameServer(other))
		require.False(t, first.SameStart(other))
	})
}

func TestAbilitiesOfRealServers(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		can := r.server.Abilities()
		require.Equal(t, real.Flavour, can.Flavour)
		require.Equal(t, text(t, r.server.DB(), "SELECT VERSION()"), can.Version)
		require.True(t, can.ProcessRights)
		require.Positive(t, can.MaxPacket)
		require.Positive(t, can.MaxConns)
		if real.Flavour == xa.MariaDB {
			require.False(t, can.Detached)
		}
	})
}

func TestLimboIsNotSeenWhereThereIsNone(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		s := take(t, p)
		r.prepare(t, s, 1)
		require.NoError(t, p.Discard(t.Context(), s))
		if !r.server.Abilities().Detached {
			awaitDetach(t)
		}
		// The server's list of transactions is a little old.
		require.Eventually(t, func() bool {
			detached, prepared, err := r.server.Limbo(t.Context())
			return err == nil && detached > 0 && detached <= prepared
		}, 10*time.Second, 300*time.Millisecond)
	})
}

// TestT55_AnIdleSessionThatTheServerClosed is replaced before it is used (G004); in a branch it is lost.
func TestT55_AnIdleSessionThatTheServerClosed(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		ctx := t.Context()
		idle, busy := take(t, p), take(t, p)
		for _, s := range []*xa.Session{idle, busy} {
			_, err := s.ExecContext(ctx, "SET SESSION wait_timeout = 1")
			require.NoError(t, err)
		}
		require.NoError(t, busy.Start(ctx, r.id()))
		_, err := busy.Exec(ctx, r.insert(1))
		require.NoError(t, err)
		p.Return(idle)
		require.Eventually(t, func() bool {
			a, errA := r.server.SessionAlive(ctx, idle.ConnectionID())
			b, errB := r.server.SessionAlive(ctx, busy.ConnectionID())
			return errA == nil && errB == nil && !a && !b
		}, 10*time.Second, 50*time.Millisecond)
		fresh := take(t, p)
		require.NotEqual(t, idle.ConnectionID(), fresh.ConnectionID())
		_, err = busy.Exec(ctx, r.insert(2))
		require.ErrorIs(t, err, xa.ErrSessionLost)
		require.NoError(t, p.Discard(ctx, busy))
		id := r.prepare(t, fresh, 1)
		require.NoError(t, fresh.Commit(ctx, id.XID()))
		require.EqualValues(t, 1, r.rows(t))
	})
}

// TestG015_AStatementAboveTheServersLimit is refused by the driver, which asked the server for it.
func TestG015_AStatementAboveTheServersLimit(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		s := take(t, r.pool(t))
		require.NoError(t, s.Start(t.Context(), r.id()))
		_, err := s.Exec(t.Context(), "INSERT INTO "+r.table()+" VALUES (1, '"+strings.Repeat("x", r.server.Abilities().MaxPacket)+"')")
		require.ErrorContains(t, err, "max_allowed_packet")
		require.Equal(t, xa.Refused, xa.OutcomeOf(err))
		require.Equal(t, xa.Poisoned, s.State())
		require.NoError(t, s.Abort(t.Context()))
	})
}

// TestTheDriverPrintsNothing on stderr: what it has to say about a dead connection goes to the logger.
func TestTheDriverPrintsNothing(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		var printed lines
		r := newRig(t, real, func(c *xa.Config) {
			c.Logger = slog.New(slog.NewTextHandler(&printed, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		p := r.pool(t)
		s := take(t, p)
		require.NoError(t, r.server.KillSession(t.Context(), s.ConnectionID()))
		_, err := s.ExecContext(t.Context(), "DO 1")
		require.ErrorIs(t, err, xa.ErrSessionLost)
		require.NoError(t, p.Discard(t.Context(), s))
		require.Contains(t, printed.String(), "msg=driver message=")
	})
}

// lines is a buffer for several goroutines.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
