package kill_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/e2e/demo/flights"
	"github.com/xasink/xasink/e2e/demo/flights/flightstest"
	"github.com/xasink/xasink/e2e/servers"
)

// The server is killed while the job is busy, at several moments, and comes back. The worker ends with an error, the next
// one goes on.
func TestG003_V19_D07_ServerKilledInTheMiddle(t *testing.T) {
	for _, flavour := range []servers.Flavour{servers.MySQL, servers.MariaDB} {
		t.Run(string(flavour), func(t *testing.T) {
			s := servers.OwnForTest(t, flavour)
			stand := newStand(t, s, flights.File())
			stand.Job.WriteRows, stand.Job.CheckpointWrites = 250, 4
			for _, rows := range []int64{250, 3000, 7250, 12000} {
				killed := false
				end, err := flights.Launch(t.Context(), stand.Job, func(e flights.Event) {
					if e.Rows >= rows && !killed {
						killed = true
						require.NoError(t, s.Kill(t.Context()))
					}
				})
				require.NoError(t, err)
				require.True(t, killed)
				require.Equal(t, 1, end.Code, "%+v", end)
				require.Contains(t, end.Message, s.Addr(), "the error names the server")
				require.NotContains(t, end.Message, "xasink@", "the error holds no password")
				require.NoError(t, s.Restart(t.Context()))
			}
			flightstest.Finish(t, stand)
		})
	}
}

// A server that stops in order and starts again between two Writes is not trusted by the running job either.
func TestG003_ServerRestartedBetweenTwoWrites(t *testing.T) {
	for _, flavour := range []servers.Flavour{servers.MySQL, servers.MariaDB} {
		t.Run(string(flavour), func(t *testing.T) {
			s := servers.OwnForTest(t, flavour)
			stand := newStand(t, s, flights.File())
			restarted := false
			end, err := flights.Launch(t.Context(), stand.Job, func(e flights.Event) {
				if e.Rows >= 1000 && !restarted {
					restarted = true
					require.NoError(t, s.Restart(t.Context()))
				}
			})
			require.NoError(t, err)
			require.True(t, restarted)
			require.Equal(t, 1, end.Code, "%+v", end)
			flightstest.Finish(t, stand)
		})
	}
}

// With no server there is one clear error, and nothing is lost by it.
func TestServerGoneAtTheStart(t *testing.T) {
	for _, flavour := range []servers.Flavour{servers.MySQL, servers.MariaDB} {
		t.Run(string(flavour), func(t *testing.T) {
			s := servers.OwnForTest(t, flavour)
			stand := newStand(t, s, flightstest.ShortFile(t))
			flightstest.Live(t, stand, "kill@after:decision-write#3")
			require.NoError(t, s.Kill(t.Context()))
			end, err := flights.Launch(t.Context(), stand.Job, nil)
			require.NoError(t, err)
			require.Equal(t, 1, end.Code)
			require.Contains(t, end.Message, s.Addr())
			require.Contains(t, end.Message, "check that the server runs")
			require.NotContains(t, end.Message, "xasink@")
			require.NoError(t, s.Restart(t.Context()))
			flightstest.Finish(t, stand)
		})
	}
}

// Names of two format ids in one binary log: MySQL's crash recovery loses branches of other programs then, and must not
// lose ours.
func TestServerKillKeepsOurBranchesWhateverOthersUse(t *testing.T) {
	s := servers.OwnForTest(t, servers.MySQL)
	input := flightstest.ShortFile(t)
	alone := func(name string) int {
		kept := othersKept(t, s, newStand(t, s, input), name, func() {}, 1, 0)
		t.Logf("%s: without ours, %d of %d prepared branches of another program were kept", name, kept, othersPrepared)
		return kept
	}
	fault := alone("probe") < othersPrepared

	for name, n := range map[string]int{"few": 1, "many": 20} {
		stand := newStand(t, s, input)
		stand.Job.SegmentRows = 100
		kept := othersKept(t, s, stand, name, func() { flightstest.Live(t, stand, "kill@after:decision-write#3") }, n, n)
		t.Logf("%s: beside ours, %d of %d were kept", name, kept, othersPrepared)
		end := flightstest.Finish(t, stand)
		require.Equal(t, 9, end.Opening.Prepared, "eight branches of flights and one of totals, all there after the crash")
		require.Equal(t, 9, end.Opening.Committed)
	}
	if kept := alone("again"); fault {
		require.Less(t, kept, othersPrepared, "the server has the fault, so that a name like any other is lost to it")
	}
}

const othersPrepared = 20

// othersKept commits some branches with one format id, leaves some with another one prepared, runs ours, commits some more,
// kills the server, and tells how many of the prepared ones are there after it came back. Those are rolled back.
func othersKept(t *testing.T, s *servers.Server, stand *flights.Stand, name string, ours func(), before, after int) int {
	t.Helper()
	ctx := t.Context()
	_, err := stand.DB.ExecContext(ctx, "CREATE TABLE strangers (id INT AUTO_INCREMENT PRIMARY KEY)")
	require.NoError(t, err)
	_, err = stand.DB.ExecContext(ctx, "FLUSH BINARY LOGS")
	require.NoError(t, err)
	branch := func(xid string, verbs ...string) {
		conn, err := stand.DB.Conn(ctx)
		require.NoError(t, err)
		for _, q := range []string{"XA START " + xid, "INSERT INTO strangers VALUES ()", "XA END " + xid} {
			_, err := conn.ExecContext(ctx, q)
			require.NoError(t, err, q)
		}
		for _, verb := range verbs {
			_, err := conn.ExecContext(ctx, verb+" "+xid)
			require.NoError(t, err, "%s %s", verb, xid)
		}
		require.NoError(t, conn.Close())
	}
	// By their format ids these names are smaller than the prepared ones, by their length greater.
	committed := func(from, n int) {
		for i := from; i < from+n; i++ {
			branch(fmt.Sprintf("'committed by another %-7.7s%03d','bb',1", name, i), "XA PREPARE", "XA COMMIT")
		}
	}
	committed(0, before)
	for i := range othersPrepared {
		branch(fmt.Sprintf("'1%-5.5s%02d','bb',9", name, i), "XA PREPARE")
	}
	ours()
	committed(before, after)

	require.NoError(t, s.Kill(ctx))
	require.NoError(t, s.Restart(ctx))
	kept := preparedByOthers(t, stand)
	for _, xid := range kept {
		_, err := stand.DB.ExecContext(ctx, "XA ROLLBACK "+xid)
		require.NoError(t, err)
	}
	return len(kept)
}

// preparedByOthers are the prepared branches with their format id, as arguments of an XA statement.
func preparedByOthers(t *testing.T, stand *flights.Stand) (kept []string) {
	t.Helper()
	rows, err := stand.DB.QueryContext(t.Context(), "XA RECOVER")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		var format, gtrid, bqual int
		var data string
		require.NoError(t, rows.Scan(&format, &gtrid, &bqual, &data))
		if format == 9 {
			kept = append(kept, fmt.Sprintf("'%s','%s',9", data[:gtrid], data[gtrid:]))
		}
	}
	require.NoError(t, rows.Err())
	return kept
}
