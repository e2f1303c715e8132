package txnsink_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
)

// claimElsewhere is another process that claims the job.
func (s *shop) claimElsewhere() {
	s.t.Helper()
	c, err := s.store.Claim(s.t.Context(), "shop", state.ClaimRequest{})
	require.NoError(s.t, err)
	require.NoError(s.t, c.Close())
}

// Who was fenced while it ran never opens the job again in this process, however old the other owner is.
func TestAProcessThatWasFencedNeverOpensTheJobAgain(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		sink := s.open()
		require.NoError(t, put(t, sink, "1", anEvent(1)))
		s.claimElsewhere()
		require.ErrorIs(t, sink.Checkpoint(t.Context()), txnsink.ErrFenced)
		require.NoError(t, sink.Close())
		for range 2 {
			_, err := txnsink.Open(t.Context(), s.config())
			require.ErrorIs(t, err, txnsink.ErrFenced)
			require.ErrorContains(t, err, "start a new process")
		}
		require.Empty(t, s.content().Events)
	})
}

// A restart inside the process is a claim on condition that nobody claimed the job since.
func TestARestartInsideTheProcessNeedsTheClaimThatItHeld(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		require.NoError(t, s.open().Close())
		require.NoError(t, s.open().Close(), "nobody came between")
		s.claimElsewhere()
		_, err := txnsink.Open(t.Context(), s.config())
		require.ErrorIs(t, err, txnsink.ErrFenced)
	})
}

// A job's source is found by its name; one of another name does not begin anew in silence.
func TestASourceThatNoDecisionKnowsFailsTheStart(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		sink := s.open()
		require.NoError(t, put(t, sink, "1", anEvent(1)))
		require.NoError(t, sink.Finish(t.Context()))
		s.change = func(c *txnsink.Config) { c.Source = "renamed" }
		_, err := txnsink.Open(t.Context(), s.config())
		require.ErrorContains(t, err, "renamed")
		s.change = nil
		require.Equal(t, "1", string(s.open().Position()))
	})
}

// The caller may use the bytes of a position again.
func TestAPositionIsTheSinksOwn(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		sink := s.open()
		next := []byte("one")
		b := sink.Batch()
		anEvent(1)(b)
		require.NoError(t, sink.Write(t.Context(), b, next))
		copy(next, "XXX")
		require.NoError(t, sink.Checkpoint(t.Context()))
		require.Equal(t, "one", string(sink.Position()))
		require.Equal(t, "one", string(sink.Committed()))
	})
}
