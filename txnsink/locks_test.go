package txnsink

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// blockedWrite is a Write that meets a stranger's row lock in its middle, while earlier rows are open or pending.
type blockedWrite struct {
	name   string
	change func(*Config)
	setUp  func(r *rig)
	lock   string
	at     int // the Write that is blocked
}

func blockedWrites() []blockedWrite {
	return []blockedWrite{
		{
			name:  "second lane",
			setUp: func(r *rig) { r.exec("INSERT INTO `%s`.totals VALUES ('t2', 0, 0)") },
			lock:  "UPDATE `%s`.totals SET n = n WHERE name = 't2'",
			at:    2, // its total is the first of t2, and behind its events
		},
		{
			name:   "third statement",
			change: func(c *Config) { c.BatchRows = 1 },
			setUp:  func(*rig) {},
			lock:   "INSERT INTO `%s`.orders VALUES (3, 'a stranger')", // the orders of Write 3 are behind its events and total
			at:     3,
		},
		{
			name:   "second statement of one lane, with rows pending and open",
			change: func(c *Config) { c.BatchRows = 1; c.Tables[0].MaxSegmentRows = 3 },
			setUp:  func(*rig) {},
			lock:   "INSERT INTO `%s`.events VALUES (7, 'a stranger')", // the second event of Write 3
			at:     3,
		},
	}
}

func (r *rig) exec(query string) {
	r.t.Helper()
	servertest.Exec(r.t, r.db, fmt.Sprintf(query, r.database))
}

func (b blockedWrite) rig(t *testing.T, s servertest.Server) (r *rig, unlock func()) {
	t.Helper()
	r = newRig(t, s)
	b.setUp(r)
	return r, r.lock(fmt.Sprintf(b.lock, r.database))
}

func TestBlockedWriteIsCutAndEveryRowCountsOnce(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		for _, b := range blockedWrites() {
			t.Run(b.name, func(t *testing.T) {
				r, unlock := b.rig(t, server)
				waits, cut := 0, ""
				r.change = func(c *Config) {
					if b.change != nil {
						b.change(c)
					}
					c.Observer.LockWait = func(_, _ string, own bool) {
						require.True(t, own, "rows of the sink are open: they might hold the lock")
						waits++
						unlock()
					}
					c.Observer.Decided = func(d state.Decision, why Reason) {
						if why == ReasonLockWait {
							cut = string(d.Positions[0].Data)
						}
					}
				}
				s := r.open()
				require.NoError(t, run(t.Context(), s, 6, 0, 0))
				require.Equal(t, 1, waits)
				require.Equal(t, uint64(1), s.Stats().Checkpoints[ReasonLockWait])
				require.Equal(t, strconv.Itoa(b.at), cut, "the cut is before the blocked Write")
				require.NoError(t, s.Finish(t.Context()))
				r.verify(6)
			})
		}
	})
}

// The points are sampled: each run waits for a lock for a second, and on MariaDB for a detach as well.
func TestBlockedWriteIsCutAndCrashedAndEveryRowCountsOnce(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		samples := 12
		if server.Flavour == xa.MariaDB {
			samples = 4
		}
		for _, b := range blockedWrites() {
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				points := crashAfterLockWait(t, server, b, 1<<30)
				require.Greater(t, points, 30, "points behind the lock wait")
				for k := 1; k <= points; k += max(1, points/samples) {
					t.Run(fmt.Sprintf("point%d", k), func(t *testing.T) {
						t.Parallel()
						crashAfterLockWait(t, server, b, k)
					})
				}
			})
		}
	})
}

// crashAfterLockWait fails the k-th point that is reached after the lock wait, and all after it, and goes on from
// there. It returns how many points were reached.
func crashAfterLockWait(t *testing.T, server servertest.Server, b blockedWrite, k int) int {
	t.Helper()
	r, unlock := b.rig(t, server)
	crash := &failNth{n: k, stopped: true}
	r.faults = crash
	r.change = func(c *Config) {
		if b.change != nil {
			b.change(c)
		}
		c.Observer.LockWait = func(string, string, bool) {
			unlock()
			crash.start()
		}
		// The dead client would repeat its COMMIT for as long.
		c.DecisionTimeout, c.CommitTimeout = 50*time.Millisecond, 3*time.Second
	}
	s, err := Open(t.Context(), r.config())
	require.NoError(t, err)
	err = run(t.Context(), s, b.at+1, 0, 0)
	if err == nil {
		err = s.Finish(t.Context())
	}
	at, fired := crash.fired()
	if err != nil {
		require.True(t, fired, "failed without a fault: %v", err)
	}
	if err := s.Close(); err != nil {
		require.True(t, fired)
		t.Logf("dead from %s on, so that closing could not end its sessions: %v", at, err)
	}
	r.change = b.change
	r.finish(6)
	return crash.reached
}

func TestSecondLockWaitNamesTableKeyAndBlocker(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		for _, b := range blockedWrites() {
			t.Run(b.name, func(t *testing.T) {
				r, unlock := b.rig(t, server)
				r.change = b.change
				s, err := Open(t.Context(), r.config())
				require.NoError(t, err)
				err = run(t.Context(), s, 6, 0, 0)
				var blocked *BlockedError
				require.ErrorAs(t, err, &blocked)
				require.ErrorIs(t, err, xa.ErrLockWait)
				require.NotEmpty(t, blocked.Table)
				require.NotEmpty(t, blocked.Keys)
				require.Contains(t, blocked.Blocker, "connection ", "an administrator sees who holds the lock")
				require.NoError(t, s.Close())
				unlock()
				r.finish(6)
			})
		}
	})
}

// A trigger of one table writes a row of another. Where the sink sees that there is a trigger, which MariaDB shows to every
// user, one branch holds both; where it may not see it, the Write cannot end, and the error says what it is that waits.
func TestTriggerThatWritesAnotherTableOfTheSink(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		t.Parallel()
		r := newRig(t, server)
		servertest.Exec(t, r.db, "CREATE TRIGGER `"+r.database+"`.tr AFTER INSERT ON `"+r.database+"`.orders FOR EACH ROW "+
			"UPDATE `"+r.database+"`.totals SET n = n WHERE name = 't0'")
		base := server.Database(t)
		grants := []string{"SELECT, INSERT, UPDATE, DELETE ON `" + r.database + "`.*", "ALL ON `" + base + "`.*", "PROCESS ON *.*"}
		if server.Flavour == xa.MySQL {
			grants = append(grants, "XA_RECOVER_ADMIN ON *.*", "SELECT ON performance_schema.*")
		}
		user, password := server.User(t, grants...)
		admin := r.config().DSN
		r.change = func(c *Config) { c.LedgerDatabase, c.DSN = base, server.UserDSN(user, password, r.database) }
		if server.Flavour == xa.MySQL {
			s, err := Open(t.Context(), r.config())
			require.NoError(t, err)
			err = run(t.Context(), s, 1, 0, 0)
			var blocked *BlockedError
			require.ErrorAs(t, err, &blocked)
			require.Equal(t, "orders", blocked.Table)
			require.Contains(t, blocked.Blocker, r.database+".totals in another branch")
			require.Contains(t, blocked.Blocker, "TRIGGER")
			require.NoError(t, s.Close())
		} else {
			r.finish(3)
		}
		r.change = func(c *Config) { c.LedgerDatabase, c.DSN = base, admin }
		r.finish(6)
	})
}

func TestLockOfSomebodyElseIsMetByTheSameStatementAgain(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		r := newRig(t, server)
		recorder := &fault.Recorder{}
		r.faults = recorder
		unlock := r.lock(fmt.Sprintf("INSERT INTO `%s`.events VALUES (1, 'a stranger')", r.database))
		r.change = func(c *Config) {
			insertOnly(c)
			c.Observer.LockWait = func(_, _ string, own bool) {
				require.False(t, own)
				unlock()
			}
		}
		s := r.open()
		insert(t, s, 0) // the lane's own open rows need no savepoint
		insert(t, s, 1)
		require.Zero(t, recorder.Count(fault.Before(fault.Savepoint)))
		require.Equal(t, uint64(1), s.Stats().LockWaits)
		require.NoError(t, s.Finish(t.Context()))
		require.Equal(t, int64(2), r.visible("events"))
	})
}

func TestDuplicateOfAPendingRowSettlesAndIsThenARowError(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	r.change = insertOnly
	s, err := Open(t.Context(), r.config())
	require.NoError(t, err)
	insert(t, s, 0)
	require.NoError(t, s.Flush(t.Context()))
	b := s.Batch()
	b.Insert("events").Int64(0).String("again")
	err = s.Write(t.Context(), b, []byte("2"))
	var row *RowError
	require.ErrorAs(t, err, &row, "it waited for its own pending branch, settled, and is a duplicate: %v", err)
	require.Equal(t, uint16(1062), row.Code)
	require.Equal(t, int64(1), r.visible("events"))
	require.NoError(t, s.Close())
}

func TestDeadlockIsATaskFailureAndNothingIsLost(t *testing.T) { // L04, G094
	r := newRig(t, servertest.Get(t, xa.MySQL))
	r.exec("INSERT INTO `%s`.orders VALUES (100, 'x')")
	s, err := Open(t.Context(), r.config())
	require.NoError(t, err)
	write(t, s, 0)
	conn, err := r.db.Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	tx, err := conn.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	// The stranger changes many rows, so that the server picks the branch as its victim.
	for i := range 50 {
		_, err := tx.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO `%s`.orders VALUES (?, 's')", r.database), 1000+i)
		require.NoError(t, err)
	}
	_, err = tx.ExecContext(t.Context(), fmt.Sprintf("UPDATE `%s`.orders SET state = 's' WHERE id = 100", r.database))
	require.NoError(t, err)
	waiting := make(chan error, 1)
	go func() { // waits for the row of the sink's open branch
		_, err := tx.ExecContext(t.Context(), fmt.Sprintf("UPDATE `%s`.orders SET state = 's' WHERE id = 0", r.database))
		waiting <- err
	}()
	r.waitForLockWaiter()
	b := s.Batch()
	b.Upsert("orders").Int64(100).String("mine")
	err = s.Write(t.Context(), b, []byte("2"))
	require.Error(t, err)
	require.ErrorIs(t, err, xa.ErrRolledBack)
	require.NoError(t, <-waiting)
	require.NoError(t, errors.Join(tx.Rollback(), s.Close()))
	r.exec("DELETE FROM `%s`.orders WHERE id = 100")
	r.finish(5)
}

// A dead owner's branch that was prepared late locks a row. At least once rolls it back as well, and goes on.
func TestOrphansLockIsSweptInAtLeastOnceToo(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	r.change = func(c *Config) { insertOnly(c); c.Mode = AtLeastOnce }
	require.NoError(t, r.openAndClose())
	s := r.open()
	orphan := ids(r.job, 1, recovery.FirstLane, 9)[0]
	conn, err := r.db.Conn(t.Context())
	require.NoError(t, err)
	for _, q := range []string{
		"XA START " + orphan.XID().SQL(), fmt.Sprintf("INSERT INTO `%s`.events VALUES (0, 'late')", r.database),
		"XA END " + orphan.XID().SQL(), "XA PREPARE " + orphan.XID().SQL(),
	} {
		_, err := conn.ExecContext(t.Context(), q)
		require.NoError(t, err)
	}
	require.NoError(t, conn.Close())
	insert(t, s, 0)
	require.NoError(t, s.Flush(t.Context()))
	require.Equal(t, uint64(1), s.Stats().OrphansRolledBack)
	require.NoError(t, s.Finish(t.Context()))
	require.Equal(t, int64(1), r.visible("events"))
}
