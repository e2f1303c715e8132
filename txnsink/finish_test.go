package txnsink

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// Rule 15: the end is reported only on the start of the server that recovery saw.
func TestFinishOnARestartedServerIsAFailure(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	s, err := Open(t.Context(), r.config())
	require.NoError(t, err)
	write(t, s, 0)
	w, ok := s.writer.(*exactlyOnce)
	require.True(t, ok)
	w.identity.Started = w.identity.Started.Add(-time.Minute)
	var other *ServerError
	require.ErrorAs(t, s.Finish(t.Context()), &other)
	require.NoError(t, s.Close())
	r.finish(2)
}

// Rule 15: the end is not reported while XA RECOVER shows a branch of the job that no sweep may touch.
func TestN22_FinishIsNotReportedWhileABranchOfTheJobIsLeft(t *testing.T) {
	r := newRig(t, servertest.Get(t, xa.MySQL))
	s, err := Open(t.Context(), r.config())
	require.NoError(t, err)
	write(t, s, 0)
	left := xa.ID{Job: r.job, Epoch: 1, Lane: 63, Seq: 1}.XID().SQL()
	conn, err := r.db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	for _, q := range []string{
		"XA START " + left, fmt.Sprintf("INSERT INTO `%s`.events VALUES (1000, 'left')", r.database), "XA END " + left, "XA PREPARE " + left,
	} {
		_, err := conn.ExecContext(t.Context(), q)
		require.NoError(t, err, q)
	}
	require.ErrorContains(t, s.Finish(t.Context()), "XA RECOVER")
	require.NoError(t, s.Close())
	_, err = conn.ExecContext(t.Context(), "XA ROLLBACK "+left)
	require.NoError(t, err)
	r.finish(2)
}

// docs/design.md, Order of an opening: no branch carries the epoch before the claim's own decision is accepted and committed.
func TestWriterWritesNothingBeforeTheClaimsOwnDecision(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		for _, mode := range []Mode{ExactlyOnce, AtLeastOnce} {
			t.Run(mode.String(), func(t *testing.T) {
				r := newRig(t, server)
				cfg := r.config()
				cfg.Mode = mode
				w, err := NewWriter(t.Context(), cfg.WriterConfig(uuid.New()))
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, w.Close()) })
				info, err := r.store.Peek(t.Context(), r.job)
				require.NoError(t, err)
				floor, err := w.Look(t.Context(), r.store.ID(), info)
				require.NoError(t, err)
				claim, err := r.store.Claim(t.Context(), r.job, state.ClaimRequest{Floor: floor})
				require.NoError(t, err)
				_, err = w.Recover(t.Context(), recovery.Owner{Job: r.job, Store: r.store.ID(), Run: uuid.New(), Epoch: claim.Epoch()}, claim.History())
				require.NoError(t, err)
				b := w.Batch()
				b.Insert("events").Int64(1).String("early")
				require.ErrorContains(t, w.Write(t.Context(), b), "own decision")
				require.Zero(t, r.visible("events"))
				require.Empty(t, r.server.Prepared(t, r.job))
			})
		}
	})
}
