package txnsinktest_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/txnsink/txnsinktest"
)

func TestWhatIsPrunedIsNotNamedAgain(t *testing.T) {
	cfg := config().WriterConfig(uuid.New())
	var seen fault.Recorder
	cfg.Faults = &seen
	w, claim := begun(t, txnsinktest.New(layouts...), cfg, state.NewMemory())
	for id := range 4 {
		require.NoError(t, w.Write(t.Context(), event(w, id)))
		decide(t, w, claim)
	}
	decide(t, w, claim)
	decide(t, w, claim)
	pruned := seen.Count(fault.Before(fault.LedgerPrune))
	require.Positive(t, pruned)
	decide(t, w, claim)
	require.Equal(t, pruned, seen.Count(fault.Before(fault.LedgerPrune)))
}

// owned is a claim and the store that gave it.
type owned struct {
	state.Claim
	store uuid.UUID
}

// begun is a writer driven by hand up to its claim's own decision.
func begun(t *testing.T, db *txnsinktest.DB, cfg txnsink.WriterConfig, store *state.Memory) (txnsink.Writer, owned) {
	t.Helper()
	ctx := t.Context()
	w, err := db.NewWriter(ctx, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	info, err := store.Peek(ctx, cfg.Job)
	require.NoError(t, err)
	floor, err := w.Look(ctx, store.ID(), info)
	require.NoError(t, err)
	given, err := store.Claim(ctx, cfg.Job, state.ClaimRequest{Floor: floor, Run: uuid.New()})
	require.NoError(t, err)
	claim := owned{given, store.ID()}
	_, err = w.Recover(ctx, recovery.Owner{Job: cfg.Job, Store: store.ID(), Run: uuid.New(), Epoch: claim.Epoch()}, claim.History())
	require.NoError(t, err)
	decide(t, w, claim)
	return w, claim
}

// decide takes a checkpoint.
func decide(t *testing.T, w txnsink.Writer, claim owned) {
	t.Helper()
	part, err := w.Prepare(t.Context())
	require.NoError(t, err)
	d := accept(t, claim, part)
	require.NoError(t, w.Commit(t.Context(), d))
	require.NoError(t, w.Commit(t.Context(), d), "a repeat is a no-op")
}

func accept(t *testing.T, claim owned, part state.Part) state.Decision {
	t.Helper()
	for _, r := range part.Pending {
		require.Positive(t, r.Rows, "a branch without rows was prepared")
	}
	d := state.Next(claim.Last(), claim.Epoch(), claim.store, uuid.New(), config().Job, []state.Position{{Source: "s", Data: []byte("p")}}, part, time.Now())
	require.NoError(t, claim.Commit(t.Context(), d))
	return d
}

func TestAWriterDrivenByHand(t *testing.T) {
	db := txnsinktest.New(layouts...)
	store := state.NewMemory()
	cfg := config().WriterConfig(uuid.New())
	w, claim := begun(t, db, cfg, store)
	require.NoError(t, w.Write(t.Context(), event(w, 1)))
	require.NoError(t, w.Flush(t.Context()))
	_, err := w.Prepare(t.Context())
	require.NoError(t, err)
	require.NoError(t, w.Write(t.Context(), event(w, 2)), "a checkpoint that was given up before its decision")
	part, err := w.Prepare(t.Context())
	require.NoError(t, err)
	require.Equal(t, uint64(2), part.Pending[0].To)
	d := accept(t, claim, part)
	require.NoError(t, w.Write(t.Context(), event(w, 3)), "between decision and COMMIT")
	require.Empty(t, db.Rows("events"))
	require.NoError(t, w.Commit(t.Context(), d))
	require.Len(t, db.Rows("events"), 2)
	rows, branches := w.Held()
	require.Equal(t, []int{1, 0}, []int{int(rows), branches})
	require.ErrorContains(t, w.Finished(t.Context()), "1 rows are open")
}

func TestADecisionThatIsNotMadeOfWhatPrepareGaveIsRefused(t *testing.T) {
	db := txnsinktest.New(layouts...)
	w, claim := begun(t, db, config().WriterConfig(uuid.New()), state.NewMemory())
	require.NoError(t, w.Write(t.Context(), event(w, 1)))
	part, err := w.Prepare(t.Context())
	require.NoError(t, err)
	part.Pending[0].To++
	require.ErrorContains(t, w.Commit(t.Context(), accept(t, claim, part)), "not made of what Prepare gave")
	require.Empty(t, db.Rows("events"))
}

func TestAnAttachedDatabaseSplitsNothing(t *testing.T) {
	db := txnsinktest.NewAttached(layouts...)
	w, claim := begun(t, db, config().WriterConfig(uuid.New()), state.NewMemory())
	require.NoError(t, w.Write(t.Context(), event(w, 1)))
	require.NoError(t, w.Flush(t.Context()))
	require.Empty(t, db.Prepared())
	part, err := w.Prepare(t.Context())
	require.NoError(t, err)
	b := event(w, 2)
	require.ErrorIs(t, w.Write(t.Context(), b), txnsink.ErrNeedsCheckpoint)
	why, needed := w.NeedsCheckpoint()
	require.True(t, needed)
	require.Equal(t, txnsink.ReasonPending, why)
	require.NoError(t, w.Commit(t.Context(), accept(t, claim, part)))
	require.NoError(t, w.Write(t.Context(), b), "the same Write again")
	decide(t, w, claim)
	require.Len(t, db.Rows("events"), 2)
}

func TestAnOlderOwnerIsFencedByTheJobRow(t *testing.T) {
	db := txnsinktest.New(layouts...)
	store := state.NewMemory()
	cfg := config().WriterConfig(uuid.New())
	older, _ := begun(t, db, cfg, store)
	require.NoError(t, older.Write(t.Context(), event(older, 1)))
	slow, err := db.NewWriter(t.Context(), cfg)
	require.NoError(t, err)
	info, err := store.Peek(t.Context(), cfg.Job)
	require.NoError(t, err)
	_, err = slow.Look(t.Context(), store.ID(), info)
	require.NoError(t, err)

	newer, claim := begun(t, db, cfg, store)
	require.NoError(t, newer.Write(t.Context(), event(newer, 1)), "the older owner's open rows, and their locks, are gone")
	decide(t, newer, claim)
	_, err = older.Prepare(t.Context())
	require.ErrorIs(t, err, txnsink.ErrFenced)
	require.Empty(t, db.Prepared())
	_, err = slow.Recover(t.Context(), recovery.Owner{Job: cfg.Job, Store: store.ID(), Run: uuid.New(), Epoch: 2}, nil)
	require.ErrorIs(t, err, txnsink.ErrFenced, "the job row changed since it was looked at")
	require.NoError(t, slow.Close())
	require.Len(t, db.Rows("events"), 1)
}

func TestWritersKeepTheOrderOfCalls(t *testing.T) {
	for _, mode := range []txnsink.Mode{txnsink.ExactlyOnce, txnsink.AtLeastOnce} {
		cfg := config().WriterConfig(uuid.New())
		cfg.Mode = mode
		for name, call := range map[string]func(txnsink.Writer) error{
			"write":   func(w txnsink.Writer) error { return w.Write(t.Context(), event(w, 1)) },
			"prepare": func(w txnsink.Writer) error { _, err := w.Prepare(t.Context()); return err },
			"commit":  func(w txnsink.Writer) error { return w.Commit(t.Context(), state.Decision{}) },
			"recover": func(w txnsink.Writer) error {
				_, err := w.Recover(t.Context(), recovery.Owner{Job: cfg.Job}, nil)
				return err
			},
		} {
			w, err := txnsinktest.New(layouts...).NewWriter(t.Context(), cfg)
			require.NoError(t, err)
			first := call(w)
			require.Error(t, first, "%s %s", mode, name)
			var failed *txnsink.FailedError
			require.ErrorAs(t, call(w), &failed)
			require.Equal(t, first, failed.Cause)
			require.NoError(t, w.Close())
			require.NoError(t, w.Close())
			require.ErrorIs(t, call(w), txnsink.ErrClosed)
		}
	}
}

func TestTwoGoroutinesAreDetected(t *testing.T) {
	for _, mode := range []txnsink.Mode{txnsink.ExactlyOnce, txnsink.AtLeastOnce} {
		db := txnsinktest.New(layouts...)
		cfg := config().WriterConfig(uuid.New())
		cfg.Mode = mode
		entered, release := make(chan struct{}), make(chan struct{})
		cfg.Faults = waits{entered, release}
		w, err := db.NewWriter(t.Context(), cfg)
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() { _, err := w.Look(context.Background(), uuid.New(), state.Info{}); done <- err }()
		<-entered
		require.ErrorIs(t, w.Sweep(t.Context()), txnsink.ErrConcurrentUse)
		require.ErrorIs(t, w.Close(), txnsink.ErrConcurrentUse)
		_ = w.Stats()
		close(release)
		require.NoError(t, <-done)
		require.NoError(t, w.Close())
	}
}

// waits holds the first Recover.
type waits struct{ entered, release chan struct{} }

func (w waits) At(_ context.Context, p fault.Point) error {
	if p == fault.Before(fault.Recover) {
		close(w.entered)
		<-w.release
	}
	return nil
}

func (w waits) String() string { return "waits" }
