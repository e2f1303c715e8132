package txnsink

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// crashBeforeCommit leaves n Writes in branches that are prepared, and that a decision lists.
func (r *rig) crashBeforeCommit(n int) {
	r.t.Helper()
	r.faults = fault.FailAt(fault.Before(fault.Commit), 1, errors.New("the link is cut"))
	r.change = func(c *Config) { c.CommitTimeout = 10 * time.Millisecond } // the committer may not try again
	s, err := Open(r.t.Context(), r.config())
	require.NoError(r.t, err)
	for i := range n {
		write(r.t, s, i)
	}
	require.Error(r.t, s.Checkpoint(r.t.Context()))
	require.NoError(r.t, s.Close())
	r.faults, r.change = nil, nil
	require.NotEmpty(r.t, r.server.Prepared(r.t, r.job))
}

// An ALTER TABLE waits for the branches of a job that crashed, and whoever looks at the table waits for it: the job must
// settle its branches all the same.
func TestL18_AWaitingAlterDoesNotKeepAJobFromItsRecovery(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		t.Parallel()
		r := newRig(t, server)
		r.crashBeforeCommit(3)
		altered := make(chan error, 1)
		go func() {
			_, err := r.db.ExecContext(t.Context(), "ALTER TABLE `"+r.database+"`.events ADD COLUMN note VARCHAR(10)")
			altered <- err
		}()
		require.Eventually(t, func() bool { return r.waits("ALTER TABLE `" + r.database) }, 10*time.Second, 10*time.Millisecond)
		r.change = func(c *Config) { c.Tables[0].Columns = []string{"id", "body"} }
		s := r.open()
		require.Equal(t, 3, s.Recovered().Committed)
		require.NoError(t, <-altered)
		require.NoError(t, run(t.Context(), s, 5, 2, 2))
		require.NoError(t, s.Finish(t.Context()))
		r.verify(5)
	})
}

// waits tells whether a statement that begins with prefix waits for a prepared branch: on MySQL for its metadata lock, on
// MariaDB, which has let go of that one, for its rows (server-facts.md, 5).
func (r *rig) waits(prefix string) bool {
	return slices.ContainsFunc(servertest.Processes(r.t, r.db), func(p servertest.Process) bool {
		return strings.HasPrefix(p.Info, prefix) &&
			(strings.Contains(p.State, "metadata lock") || p.State == "preparing for alter table")
	})
}

// A table that somebody locked is nothing that is wrong with the configuration; what is settled before it is found out
// stays settled.
func TestALockedTableIsUnavailableAndOpensLater(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		t.Parallel()
		r := newRig(t, server)
		r.crashBeforeCommit(3)
		servertest.Exec(t, r.db, "CREATE TABLE `"+r.database+"`.other (id INT PRIMARY KEY)")
		r.change = func(c *Config) { c.Tables = append(c.Tables, Table{Name: "other"}) }
		conn, err := r.db.Conn(t.Context())
		require.NoError(t, err)
		_, err = conn.ExecContext(t.Context(), "LOCK TABLES `"+r.database+"`.other WRITE")
		require.NoError(t, err)
		_, err = Open(t.Context(), r.config())
		var unavailable *UnavailableError
		require.ErrorAs(t, err, &unavailable)
		require.Equal(t, "table other", unavailable.What)
		require.ErrorContains(t, err, "LOCK TABLES")
		var config *ConfigError
		require.NotErrorAs(t, err, &config)
		require.Equal(t, int64(6), r.visible("events"), "recovery did not wait for the table")
		_, err = conn.ExecContext(t.Context(), "UNLOCK TABLES")
		require.NoError(t, errors.Join(err, conn.Close()))
		require.NoError(t, r.openAndClose())
	})
}

// refusing is a server that answers every query with one error.
type refusing struct {
	xa.Queryer
	err error
}

func (r refusing) QueryContext(context.Context, string, ...any) (*sql.Rows, error) { return nil, r.err }

func TestWhatTheServerRefusesForNowIsNoProblemOfTheTable(t *testing.T) {
	table := &table{name: "flights"}
	for number, lock := range map[uint16]bool{1205: true, 1290: false, 1792: false, 1836: false} {
		l := &loader{q: refusing{err: &mysql.MySQLError{Number: number, Message: "not now"}}}
		_, _, err := l.explain(t.Context(), table, "INSERT INTO flights VALUES ()")
		var unavailable *UnavailableError
		require.ErrorAs(t, err, &unavailable, "%d", number)
		require.Equal(t, lock, unavailable.lock, "%d", number)
		require.ErrorContains(t, err, "table flights cannot be written for now")
		require.ErrorContains(t, err, "open again")
		require.Empty(t, l.problems)
	}
	l := &loader{q: refusing{err: &mysql.MySQLError{Number: 1142, Message: "denied"}}}
	number, text, err := l.explain(t.Context(), table, "INSERT INTO flights VALUES ()")
	require.NoError(t, err)
	require.Equal(t, uint16(1142), number)
	require.Equal(t, "denied", text)
}

// An old copy of the state file, put back under the very epoch that the server knows, is told as what it is; and the
// newest copy is still good afterwards.
func TestOldStateFileOfTheSameEpochStopsAndLeavesTheNewestGood(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		t.Parallel()
		r := newRig(t, server)
		path := filepath.Join(t.TempDir(), "job.state")
		with := func(path string, do func()) {
			store, err := state.OpenFile(path, r.job, state.FileOptions{})
			require.NoError(t, err)
			r.change = func(c *Config) { c.Store = store }
			do()
			require.NoError(t, store.Close())
		}
		old := filepath.Join(filepath.Dir(path), "old.state")
		with(path, func() {
			s, err := Open(t.Context(), r.config())
			require.NoError(t, err)
			require.NoError(t, run(t.Context(), s, 4, 2, 2))
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(old, content, 0o600))
			require.NoError(t, run(t.Context(), s, 40, 2, 2))
			require.NoError(t, s.Close())
		})
		for range 2 {
			with(old, func() {
				_, err := Open(t.Context(), r.config())
				var stop *recovery.Stop
				require.ErrorAs(t, err, &stop)
				require.Equal(t, recovery.StopStoreBehind, stop.Kind)
				require.ErrorContains(t, err, "put the newest copy of the state store back")
			})
			r.verify(40)
		}
		with(path, func() {
			s, err := Open(t.Context(), r.config())
			require.NoError(t, err)
			require.NoError(t, run(t.Context(), s, 44, 2, 2))
			require.NoError(t, s.Finish(t.Context()))
			require.NoError(t, s.Close())
		})
		r.verify(44)
	})
}

// Without its proof rows a job must not go on, and what may have happened to them is said.
func TestLedgerThatLostItsRowsStopsTheJob(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		t.Parallel()
		for name, loss := range map[string]string{
			"rows":  "DELETE FROM `%s`.branches",
			"all":   "DELETE FROM `%[1]s`.branches; DELETE FROM `%[1]s`.jobs",
			"table": "DROP TABLE `%s`.branches",
			"base":  "DROP DATABASE `%s`",
		} {
			t.Run(name, func(t *testing.T) {
				r := newRig(t, server)
				base := server.Database(t)
				r.change = func(c *Config) { c.LedgerDatabase = base }
				s := r.open()
				require.NoError(t, run(t.Context(), s, 6, 2, 2))
				require.NoError(t, s.Close())
				for _, statement := range strings.Split(fmt.Sprintf(loss, base), "; ") {
					servertest.Exec(t, r.db, statement)
				}
				for range 2 {
					_, err := Open(t.Context(), r.config())
					var stop *recovery.Stop
					require.ErrorAs(t, err, &stop)
					require.Equal(t, recovery.StopTakenBack, stop.Kind)
					require.ErrorContains(t, err, "the ledger was emptied or dropped")
				}
				r.verify(6)
			})
		}
	})
}

// The ledger's tables are not for a sink's rows.
func TestTablesOfTheLedgerAreNoTargets(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		t.Parallel()
		r := newRig(t, server)
		require.NoError(t, r.openAndClose())
		r.change = func(c *Config) {
			c.Tables = append(c.Tables, Table{Name: "jobs", Operations: Upsert}, Table{Name: r.database + ".branches"})
		}
		_, err := Open(t.Context(), r.config())
		var problems *ConfigError
		require.ErrorAs(t, err, &problems)
		require.Len(t, problems.Problems, 2)
		for _, p := range problems.Problems {
			require.Contains(t, p, "it is a table of the ledger")
		}
	})
}

// MariaDB hides the parent of a foreign key from a user without rights on it; such a job opens all the same.
func TestChildOfATableWithoutRightsIsWritten(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		t.Parallel()
		r := newRig(t, server)
		servertest.Exec(t, r.db, "CREATE TABLE `"+r.database+"`.parent (id BIGINT PRIMARY KEY)")
		servertest.Exec(t, r.db, "INSERT INTO `"+r.database+"`.parent VALUES (1)")
		servertest.Exec(t, r.db, "CREATE TABLE `"+r.database+"`.child (id BIGINT PRIMARY KEY, p BIGINT NOT NULL, FOREIGN KEY (p) REFERENCES parent (id))")
		base := server.Database(t)
		grants := []string{"INSERT ON `" + r.database + "`.child", "ALL ON `" + base + "`.*"}
		if server.Flavour == xa.MySQL {
			grants = append(grants, "XA_RECOVER_ADMIN ON *.*")
		} else {
			grants = append(grants, "PROCESS ON *.*")
		}
		user, password := server.User(t, grants...)
		r.change = func(c *Config) {
			c.DSN, c.LedgerDatabase, c.Tables = server.UserDSN(user, password, r.database), base, []Table{{Name: "child"}}
		}
		s := r.open()
		require.False(t, s.writer.(*exactlyOnce).work[0].splittable, "the key is known, only its parent is not")
		b := s.Batch()
		b.Insert("child").Int64(7).Int64(1)
		require.NoError(t, s.Write(t.Context(), b, []byte("1")))
		require.NoError(t, s.Finish(t.Context()))
		require.Equal(t, int64(1), r.visible("child"))
	})
}

// At least once takes every table, and tells what a repeat does to it.
func TestAtLeastOnceWarnsOfTablesThatRepeatsHarm(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	servertest.Exec(t, r.db, "CREATE TABLE `"+r.database+"`.bare (id BIGINT)")
	var log strings.Builder
	r.change = func(c *Config) {
		c.Mode, c.Logger = AtLeastOnce, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		c.Tables = append(c.Tables, Table{Name: "bare"})
	}
	require.NoError(t, r.openAndClose())
	require.Contains(t, log.String(), "table=events because=\"an insert that is repeated after a failure is refused as a duplicate")
	require.Contains(t, log.String(), "table=totals because=\"what is repeated after a failure is added twice")
	require.Contains(t, log.String(), "table=bare because=\"an insert that is repeated after a failure is in the table twice")
	require.NotContains(t, log.String(), "table=orders")
}

// A file whose newest meta page is damaged is one decision older than the job: where that decision's branches are
// committed, their proof rows tell it.
func TestDamagedMetaPageIsAnOldStoreWhereTheLedgerKnowsMore(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		t.Parallel()
		r := newRig(t, server)
		path := filepath.Join(t.TempDir(), "job.state")
		begin := func(do func()) {
			store, err := state.OpenFile(path, r.job, state.FileOptions{})
			require.NoError(t, err)
			r.change = func(c *Config) { c.Store = store }
			do()
			require.NoError(t, store.Close())
		}
		begin(func() {
			s, err := Open(t.Context(), r.config())
			require.NoError(t, err)
			require.NoError(t, run(t.Context(), s, 6, 2, 2))
			require.NoError(t, s.Close())
		})
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		damaged := bytes.Clone(content)
		newest := newestMeta(content)
		damaged[newest+20] ^= 0xff
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		begin(func() {
			_, err := Open(t.Context(), r.config())
			var stop *recovery.Stop
			require.ErrorAs(t, err, &stop)
			require.Equal(t, recovery.StopStoreBehind, stop.Kind)
		})
		r.verify(6)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		begin(func() {
			s, err := Open(t.Context(), r.config())
			require.NoError(t, err)
			require.NoError(t, run(t.Context(), s, 9, 2, 2))
			require.NoError(t, errors.Join(s.Finish(t.Context()), s.Close()))
		})
		r.verify(9)
	})
}

// newestMeta is where the newer of a bbolt file's two meta pages begins: behind a page header of 16 bytes are the page
// size, at 8, and the transaction's number, at 48.
func newestMeta(file []byte) int {
	const header = 16
	size := int(binary.NativeEndian.Uint32(file[header+8:]))
	number := func(page int) uint64 { return binary.NativeEndian.Uint64(file[page*size+header+48:]) }
	if number(1) > number(0) {
		return size + header
	}
	return header
}

// A ledger that is dropped while the job runs is told as that, and no row is lost by it.
func TestLedgerDroppedWhileTheJobRuns(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		t.Parallel()
		r := newRig(t, server)
		base := server.Database(t)
		r.change = func(c *Config) { c.LedgerDatabase = base }
		s, err := Open(t.Context(), r.config())
		require.NoError(t, err)
		write(t, s, 0)
		servertest.Exec(t, r.db, "DROP DATABASE `"+base+"`")
		err = s.Checkpoint(t.Context())
		require.ErrorIs(t, err, ledger.ErrAbsent)
		require.NotContains(t, err.Error(), "DSN")
		require.NoError(t, s.Close())
		r.change = func(c *Config) { c.LedgerDatabase = base }
		r.finish(4) // nothing was committed before, so that nothing is missed
	})
}

// DDL on the ledger that waits for a crashed job's branches holds the job up, too. It cannot settle them without reading
// its proof rows: it says what to end, and goes on when that is done.
func TestDDLOnTheLedgerThatWaitsForTheJobIsNamed(t *testing.T) {
	server := servertest.Get(t, xa.MySQL)
	r := newRig(t, server)
	base := server.Database(t)
	with := func(c *Config) { c.LedgerDatabase = base }
	r.change = with
	s, err := Open(t.Context(), r.config())
	require.NoError(t, err)
	write(t, s, 0)
	require.NoError(t, s.Flush(t.Context()))
	require.NoError(t, s.Close())
	require.NotEmpty(t, r.server.Prepared(t, r.job))
	conn, err := r.db.Conn(t.Context())
	require.NoError(t, err)
	var waiter uint64
	require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&waiter))
	ended := make(chan error, 1)
	go func() {
		_, err := conn.ExecContext(t.Context(), "ALTER TABLE `"+base+"`.branches FORCE")
		ended <- err
	}()
	require.Eventually(t, func() bool { return r.waits("ALTER TABLE `" + base) }, 10*time.Second, 10*time.Millisecond)
	_, err = Open(t.Context(), r.config())
	var unavailable *UnavailableError
	require.ErrorAs(t, err, &unavailable)
	require.ErrorIs(t, err, ledger.ErrHeld)
	require.ErrorContains(t, err, "KILL it")
	servertest.Exec(t, r.db, fmt.Sprintf("KILL CONNECTION %d", waiter))
	require.Error(t, <-ended)
	_ = conn.Close() // it was ended
	r.finish(4)
}

// Rights that show a table and its key, but not the key's column, are no more than rights that are missing.
func TestRightsThatHideTheKeysColumn(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		t.Parallel()
		r := newRig(t, server)
		servertest.Exec(t, r.db, "CREATE TABLE `"+r.database+"`.log (id BIGINT AUTO_INCREMENT PRIMARY KEY, body VARCHAR(20) NOT NULL)")
		base := server.Database(t)
		needed := []string{"ALL ON `" + base + "`.*", "PROCESS ON *.*"}
		if server.Flavour == xa.MySQL {
			needed = append(needed, "XA_RECOVER_ADMIN ON *.*")
		}
		for _, grant := range []string{"INSERT (body)", "DELETE", "TRIGGER", "ALTER", "DELETE, TRIGGER", "SELECT", "UPDATE (body)"} {
			for _, declared := range []Table{
				{Name: "log"}, {Name: "log", Columns: []string{"body"}}, {Name: "log", Operations: Upsert | Delete},
			} {
				user, password := server.User(t, append(needed, grant+" ON `"+r.database+"`.log")...)
				r.change = func(c *Config) {
					c.DSN, c.LedgerDatabase, c.Tables = server.UserDSN(user, password, r.database), base, []Table{declared}
				}
				s, err := Open(t.Context(), r.config())
				if grant == "INSERT (body)" && declared.Operations == 0 && err == nil {
					b := s.Batch()
					b.Insert("log").String("x")
					require.NoError(t, s.Write(t.Context(), b, []byte("1")))
					require.NoError(t, errors.Join(s.Checkpoint(t.Context()), s.Close()))
					continue
				}
				var problems *ConfigError
				require.ErrorAs(t, err, &problems, "%s, %v", grant, declared)
				require.Regexp(t, "GRANT|no column|no primary key", err.Error(), "%s, %v", grant, declared)
			}
		}
		require.Positive(t, r.visible("log"), "a right to insert into the one column is enough")
	})
}
