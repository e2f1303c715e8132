package txnsink

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

func TestReopenInTheProcessNeedsTheEpochHeld(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	s := r.open()
	_, err := Open(t.Context(), r.config())
	require.ErrorContains(t, err, "close that first")
	require.NoError(t, s.Close())
	s = r.open()
	require.NoError(t, s.Close())

	// Another process claims the job meanwhile.
	other, err := r.store.Claim(t.Context(), r.job, state.ClaimRequest{})
	require.NoError(t, err)
	require.NoError(t, other.Close())
	_, err = Open(t.Context(), r.config())
	require.ErrorIs(t, err, ErrFenced)
	_, err = Open(t.Context(), r.config())
	require.ErrorIs(t, err, ErrFenced, "for good")
	require.ErrorContains(t, err, "new process")
}

func TestFencedWhileRunningIsFinal(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	r.change = insertOnly
	s, err := Open(t.Context(), r.config())
	require.NoError(t, err)
	insert(t, s, 0)
	other, err := r.store.Claim(t.Context(), r.job, state.ClaimRequest{})
	require.NoError(t, err)
	require.NoError(t, other.Close())
	require.ErrorIs(t, s.Checkpoint(t.Context()), ErrFenced)
	require.Zero(t, r.visible("events"))
	require.NoError(t, s.Close())
	_, err = Open(t.Context(), r.config())
	require.ErrorIs(t, err, ErrFenced)
}

// An operator who has this process take a job over means it: also where the process was fenced from it before.
func TestAdoptInTheProcessLetsItOpenTheJobAgain(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		t.Parallel()
		r := newRig(t, real)
		s := r.open()
		require.NoError(t, run(t.Context(), s, 3, 2, 3))
		require.NoError(t, s.Close())
		other, err := r.store.Claim(t.Context(), r.job, state.ClaimRequest{})
		require.NoError(t, err)
		require.NoError(t, other.Close())
		_, err = Open(t.Context(), r.config())
		require.ErrorIs(t, err, ErrFenced)

		server, err := xa.Connect(t.Context(), xa.Config{DSN: real.DSN(r.database), Job: r.job})
		require.NoError(t, err)
		base, err := ledger.New(r.database)
		require.NoError(t, err)
		_, err = recovery.Adopt(t.Context(), recovery.AdoptRequest{
			Server: server, Ledger: base, Store: r.store, Job: r.job, Run: uuid.New(),
			Positions: []state.Position{{Source: r.config().withDefaults().Source, Data: []byte("3")}},
		})
		require.NoError(t, err)
		require.NoError(t, server.Close())

		s = r.open()
		require.Equal(t, "3", string(s.Position()))
		require.NoError(t, run(t.Context(), s, 6, 2, 3))
		require.NoError(t, s.Finish(t.Context()))
		r.verify(6)
	})
}
