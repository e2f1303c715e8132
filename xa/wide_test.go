package xa_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/xa"
)

// TestProcessListWithWideCharacters: while any session of the server executes a statement with characters of four
// bytes, MySQL 9.7 refuses to read information_schema.PROCESSLIST at all (3854). Sessions are found and ended all the
// same.
func TestProcessListWithWideCharacters(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		ctx := t.Context()
		done := make(chan error, 1)
		go func() {
			_, err := r.admin.ExecContext(ctx, "DO SLEEP(1.5), '\U0001F600'")
			done <- err
		}()
		require.Eventually(t, func() bool {
			var n int
			err := r.admin.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'DO SLEEP(1.5)%'").Scan(&n)
			return err != nil || n > 0
		}, time.Second, 5*time.Millisecond)

		s := take(t, p)
		alive, err := r.server.SessionAlive(ctx, s.ConnectionID())
		require.NoError(t, err)
		require.True(t, alive)
		require.NoError(t, r.server.KillSession(ctx, s.ConnectionID()))
		alive, err = r.server.SessionAlive(ctx, s.ConnectionID())
		require.NoError(t, err)
		require.False(t, alive)
		require.NoError(t, p.Discard(ctx, s))
		require.NoError(t, <-done)
	})
}

// TestConnectWithWideCharacters: the list of transactions is refused in the same way, which is no lack of a right.
func TestConnectWithWideCharacters(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		ctx := t.Context()
		done := make(chan error, 1)
		go func() {
			_, err := r.admin.ExecContext(ctx, "INSERT INTO "+r.table()+" VALUES (77, '\U0001F600'), (78 + SLEEP(3), '\U0001F600')")
			done <- err
		}()
		require.Eventually(t, func() bool {
			var n int
			err := r.admin.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_query LIKE '%SLEEP(3)%'").Scan(&n)
			return err != nil || n > 0
		}, 2500*time.Millisecond, 150*time.Millisecond) // the list is renewed only when nobody read it for 0.1 s
		server, err := xa.Connect(ctx, xa.Config{DSN: real.DSN("")})
		require.NoError(t, err)
		require.True(t, server.Abilities().ProcessRights)
		require.NoError(t, server.Close())
		require.NoError(t, <-done)
	})
}
