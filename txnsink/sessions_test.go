package txnsink

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/xa"
)

func TestF25_OneServerSessionALaneAndNoneAfterClose(t *testing.T) { // G031, T58
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		r := newRig(t, server)
		for range 3 {
			s := r.open()
			require.NoError(t, run(t.Context(), s, 6, 2, 3))
			require.LessOrEqual(t, r.sessions(), 3+4)
			require.NoError(t, s.Close())
			require.Eventually(t, func() bool { return r.sessions() == 0 }, 5*time.Second, 10*time.Millisecond)
		}
	})
}

// sessions counts the server's sessions in the rig's database.
func (r *rig) sessions() int { return len(servertest.Sessions(r.t, r.db, r.database)) }

// Between two checkpoints no branch is open: a session that the server closed then costs nothing.
func TestT55_G003_G004_SessionsClosedByTheServerWhileIdleAreReplaced(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		for _, mode := range []Mode{ExactlyOnce, AtLeastOnce} {
			t.Run(mode.String(), func(t *testing.T) {
				r := newRig(t, server)
				r.change = func(c *Config) { insertOnly(c); c.Mode = mode }
				s := r.open()
				insert(t, s, 0)
				require.NoError(t, s.Checkpoint(t.Context()))
				require.Positive(t, r.killSessions())
				insert(t, s, 1)
				require.NoError(t, s.Finish(t.Context()))
				require.Equal(t, int64(2), r.visible("events"))
			})
		}
	})
}

func TestT55_SessionClosedByTheServerInABranchFailsTheTaskAndLosesNothing(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		r := newRig(t, server)
		s, err := Open(t.Context(), r.config())
		require.NoError(t, err)
		write(t, s, 0)
		require.NoError(t, s.Checkpoint(t.Context()))
		write(t, s, 1)
		require.Positive(t, r.killSessions())
		err = s.Checkpoint(t.Context())
		require.ErrorIs(t, err, xa.ErrSessionLost)
		require.ErrorContains(t, err, "close the sink and open it again")
		require.NoError(t, s.Close())
		r.finish(4)
	})
}

// killSessions ends every session in the rig's database, waits until they are gone, and tells how many there were.
func (r *rig) killSessions() (n int) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		list := servertest.Sessions(r.t, r.db, r.database)
		for _, id := range list {
			_, _ = r.db.ExecContext(r.t.Context(), fmt.Sprintf("KILL CONNECTION %d", id)) // unknown where it is gone already
		}
		n = max(n, len(list))
		return len(list) == 0
	}, 30*time.Second, 20*time.Millisecond)
	return n
}
