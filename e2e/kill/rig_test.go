package kill_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/e2e/demo/flights"
	"github.com/xasink/xasink/e2e/demo/flights/flightstest"
	"github.com/xasink/xasink/e2e/servers"
)

func TestMain(m *testing.M) { flightstest.Main(m) }

// newStand is a short job on s, cleared after the test.
func newStand(t *testing.T, s *servers.Server, input string) *flights.Stand {
	t.Helper()
	return flightstest.NewStand(t, s, "xasink_kill", input)
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
