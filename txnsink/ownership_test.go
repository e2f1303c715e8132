package txnsink

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
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
