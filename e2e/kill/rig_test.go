package kill_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/e2e/demo/flights"
	"github.com/xasink/xasink/e2e/servers"
)

// eachFlavour runs fn with a server of each kind, which may be shared with others.
func eachFlavour(t *testing.T, fn func(t *testing.T, s *servers.Server)) {
	t.Helper()
	for _, flavour := range []servers.Flavour{servers.MySQL, servers.MariaDB} {
		t.Run(string(flavour), func(t *testing.T) { fn(t, servers.ForTest(t, flavour)) })
	}
}

// shortFile is the first records of the flights in a file of the test's own.
func shortFile(t *testing.T, records int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flights.csv")
	require.NoError(t, flights.Shorten(path, records))
	return path
}

// Rows of a short job: 2,000 in Writes of 100, a checkpoint every 800. Where the server detaches branches a checkpoint
// of 800 rows has four branches of flights and one of totals, elsewhere one of each.
const (
	shortRows        = 2000
	writeRows        = 100
	checkpointWrites = 8
)

// newStand is a short job on s, cleared after the test.
func newStand(t *testing.T, s *servers.Server, input string) *flights.Stand {
	t.Helper()
	stand, err := flights.NewStand(t.Context(), s.DSN(), "xasink_kill")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stand.Clear()) })
	stand.Job.Input = input
	stand.Job.WriteRows, stand.Job.CheckpointWrites, stand.Job.SegmentRows = writeRows, checkpointWrites, 200
	if s.Flavour == servers.MariaDB {
		stand.Job.SegmentRows = 100_000
	}
	return stand
}

// strangers are two branches that are not the job's and stay prepared: one with a name of some other program, one of
// another job of ours.
type strangers struct {
	stand *flights.Stand
	conns []*sql.Conn
	xids  []string
}

func plantStrangers(t *testing.T, stand *flights.Stand) *strangers {
	t.Helper()
	ctx := t.Context()
	_, err := stand.DB.ExecContext(ctx, "CREATE TABLE strangers (id INT PRIMARY KEY)")
	require.NoError(t, err)
	pad := func(s string) string { return s + strings.Repeat("=", 64-len(s)) }
	p := &strangers{stand: stand, xids: []string{
		fmt.Sprintf("'%s','b',1", stand.Database),
		fmt.Sprintf("'%s','%s',2147483647", pad("xasink1:"+stand.Job.Name+"x"), pad("e1.w2.s1")),
	}}
	for i, xid := range p.xids {
		conn, err := stand.DB.Conn(ctx)
		require.NoError(t, err)
		for _, q := range []string{"XA START " + xid, fmt.Sprintf("INSERT INTO strangers VALUES (%d)", i), "XA END " + xid, "XA PREPARE " + xid} {
			_, err := conn.ExecContext(ctx, q)
			require.NoError(t, err, q)
		}
		p.conns = append(p.conns, conn)
	}
	t.Cleanup(func() { p.requireUntouched(t) })
	return p
}

// requireUntouched rolls both back, which works only if they are still prepared.
func (p *strangers) requireUntouched(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for i, conn := range p.conns {
		_, err := conn.ExecContext(ctx, "XA ROLLBACK "+p.xids[i])
		require.NoError(t, err, "a branch that is not the job's was touched")
		require.NoError(t, conn.Close())
	}
	var n int
	require.NoError(t, p.stand.DB.QueryRowContext(ctx, "SELECT COUNT(*) FROM strangers").Scan(&n))
	require.Zero(t, n, "a branch that is not the job's was committed")
}

// live runs a worker with a fault script and wants it killed there.
func live(t *testing.T, stand *flights.Stand, script string) flights.End {
	t.Helper()
	job := stand.Job
	job.Faults = script
	end, err := flights.Launch(t.Context(), job, nil)
	require.NoError(t, err)
	require.True(t, end.Killed, "%s: the worker was not killed, it ended with code %d: %s", script, end.Code, end.Message)
	return end
}

// finish runs a worker without faults to its end, and wants each row once and nothing left.
func finish(t *testing.T, stand *flights.Stand) flights.End {
	t.Helper()
	end, err := flights.Launch(t.Context(), stand.Job, nil)
	require.NoError(t, err)
	require.True(t, end.Finished, "the worker did not finish, it ended with code %d: %s", end.Code, end.Message)
	requireExact(t, stand)
	return end
}

func requireExact(t *testing.T, stand *flights.Stand) {
	t.Helper()
	result, err := flights.Inspect(t.Context(), stand.DB, stand.Job.Name, stand.Job.Input)
	require.NoError(t, err)
	require.True(t, result.Exact(), "%+v", result)
}
