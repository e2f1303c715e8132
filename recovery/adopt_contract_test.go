package recovery_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// A store that is gone: another one takes the job over, above every epoch that the server knows, and not before the
// operator has said a word about every branch.
func TestAdoptionNeedsAWordForEveryBranchAndClaimsAboveAll(t *testing.T) {
	onKinds(t, anyKind, func(t *testing.T, w *world) {
		for range 2 {
			_, err := w.open()
			require.NoError(t, err)
		}
		o, err := w.open()
		require.NoError(t, err)
		kept, dropped := w.id(3, 2, 1), w.id(3, 3, 1)
		o.prepare(kept, 1)
		o.prepare(dropped, 2)
		require.NoError(t, o.pool.Close(t.Context()))

		w.store = state.NewMemory()
		_, err = w.open()
		var stop *recovery.Stop
		require.ErrorAs(t, err, &stop)
		require.Equal(t, recovery.StopOtherStore, stop.Kind)

		adopt := func(fates map[xa.ID]recovery.Fate) (recovery.Adoption, error) {
			return recovery.Adopt(t.Context(), recovery.AdoptRequest{
				Server: w.handle, Ledger: w.ledger, Store: w.store, Job: w.job, Run: uuid.New(),
				Positions: []state.Position{{Source: "s", Data: []byte("stated")}}, Branches: fates,
				Bounds: state.Bounds{Lanes: 8, Marks: 2},
			})
		}
		_, err = adopt(map[xa.ID]recovery.Fate{kept: recovery.FateCommit})
		require.ErrorAs(t, err, &stop)
		require.Equal(t, recovery.StopUndecided, stop.Kind)
		require.Equal(t, []xa.ID{dropped}, stop.Branches)
		require.Equal(t, []xa.ID{kept, dropped}, w.prepared(), "nothing was touched")

		done, err := adopt(map[xa.ID]recovery.Fate{kept: recovery.FateCommit, dropped: recovery.FateRollBack})
		require.NoError(t, err)
		require.Greater(t, done.Epoch, uint64(3))
		require.Equal(t, []int{1}, w.rows())
		require.Empty(t, w.prepared())
		opened, err := w.open()
		require.NoError(t, err)
		require.Greater(t, opened.owner.Epoch, done.Epoch)
		lane, known := done.Decision.Lane(kept.Lane)
		require.True(t, known)
		require.Equal(t, kept.Seq, lane.Seq, "the watermark is the highest proof row")
	})
}
