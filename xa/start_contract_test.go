package xa_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/xa"
	"github.com/xasink/xasink/xa/xasim"
)

// inMemory runs story in a bubble, on each kind of server in memory.
func inMemory(t *testing.T, story func(t *testing.T, sim *xasim.Server, server *xa.Server)) {
	t.Helper()
	for _, kind := range xasim.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim := xasim.New(kind)
				server, err := xa.Connect(t.Context(), xa.Config{Connector: sim.Connector(), Address: "simulated"})
				require.NoError(t, err)
				t.Cleanup(func() {
					require.NoError(t, server.Close())
					sim.Kill()
					synctest.Wait()
				})
				story(t, sim, server)
			})
		})
	}
}

// However soon a server is restarted again: once it has settled, the later start is told from the earlier one.
func TestALaterStartIsToldFromASettledOne(t *testing.T) {
	inMemory(t, func(t *testing.T, sim *xasim.Server, server *xa.Server) {
		for _, late := range []time.Duration{0, 300 * time.Millisecond, 999 * time.Millisecond} {
			time.Sleep(late) // in the bubble: where within a second the start lies
			sim.Restart(xasim.Crash{})
			require.NoError(t, server.Settled(t.Context()))
			before, err := server.Identify(t.Context(), server.DB())
			require.NoError(t, err)
			again, err := server.Identify(t.Context(), server.DB())
			require.NoError(t, err)
			require.True(t, before.SameStart(again))
			sim.Restart(xasim.Crash{})
			after, err := server.Identify(t.Context(), server.DB())
			require.NoError(t, err)
			require.True(t, before.SameServer(after))
			require.False(t, before.SameStart(after), "%s and %s", before.Started, after.Started)
		}
	})
}

// A server of another name is another one, whenever it was started.
func TestAnotherServerIsNotTheSameStart(t *testing.T) {
	one := xa.Identity{Name: "one", Started: time.Unix(1000, 0)}
	other := one
	other.Name = "other"
	require.False(t, one.SameStart(other))
	require.False(t, one.SameServer(other))
}

// The mark is held before Admit reads the job row: a new owner, who raises the row first and then looks for marks, sees
// one or the other.
func TestTheMarkIsHeldWhileAdmitDecides(t *testing.T) {
	inMemory(t, func(t *testing.T, _ *xasim.Server, server *xa.Server) {
		asked := 0
		pool := xa.NewPool(server, xa.PoolConfig{Job: "job", Admit: func(ctx context.Context, s *xa.Session) error {
			asked++
			holder, held, err := server.MarkHolder(ctx, server.DB(), xa.Mark{Job: "job", Lane: 2})
			require.NoError(t, err)
			require.True(t, held)
			require.Equal(t, s.ConnectionID(), holder)
			return nil
		}})
		_, err := pool.Take(t.Context(), 2)
		require.NoError(t, err)
		require.Equal(t, 1, asked)
		require.NoError(t, pool.Close(t.Context()))
	})
}
