package xa_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/xa"
	"github.com/xasink/xasink/xa/xasim"
)

// A server answers KILL before the session is gone: KillSession returns when it is.
func TestKillSessionWaitsUntilTheSessionIsGone(t *testing.T) {
	inMemory(t, func(t *testing.T, sim *xasim.Server, server *xa.Server) {
		conn, err := server.DB().Conn(t.Context())
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		var session uint64
		require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&session))
		kill := fmt.Sprintf("KILL CONNECTION %d", session)
		sim.Inject(xasim.Fault{Statement: kill, Act: xasim.Swallow})
		time.AfterFunc(3*time.Second, func() { _, _ = server.DB().ExecContext(t.Context(), kill) })
		start := time.Now()
		require.NoError(t, server.KillSession(t.Context(), session))
		require.GreaterOrEqual(t, time.Since(start), 3*time.Second)
		alive, err := server.SessionAlive(t.Context(), session)
		require.NoError(t, err)
		require.False(t, alive)
	})
}
