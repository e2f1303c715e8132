// Package statetest is the suite that every state store must pass. A store's own test calls Exercise:
//
//	func TestStore(t *testing.T) {
//		statetest.Exercise(t, func(t *testing.T) statetest.Backend {
//			faults := new(statetest.Faults)
//			store := open(t, faults)
//			return statetest.Backend{Store: store, Job: "orders", Faults: faults}
//		})
//	}
package statetest

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/state"
)

// Backend is a store to be tried, empty, and what can be done with it.
type Backend struct {
	Store state.Store
	Job   string // a job that the store can hold
	// Reopen ends the store and opens again what it kept. nil: it keeps nothing.
	Reopen func(t *testing.T) state.Store
	// Faults is the injector that the store was opened with, also when it is opened again. nil: it takes none.
	Faults *Faults
	// Other is another job that the store can hold as well. Empty: it holds one, and knows ErrOtherJob.
	Other string
}

// Faults is an injector whose behaviour a test changes as it goes. The zero value does nothing.
type Faults struct {
	mu sync.Mutex
	in fault.Injector
}

// Set makes in act from now on; nil: nothing does.
func (f *Faults) Set(in fault.Injector) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.in = in
}

// At is of fault.Injector.
func (f *Faults) At(ctx context.Context, p fault.Point) error {
	f.mu.Lock()
	in := f.in
	f.mu.Unlock()
	return fault.At(ctx, in, p)
}

// String is of fault.Injector.
func (f *Faults) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.in == nil {
		return "none"
	}
	return f.in.String()
}

// Exercise tries every contract of state.Store on stores that open gives, each new and empty. open cleans up by
// t.Cleanup. What a backend declares that it cannot do is skipped with a printed reason.
func Exercise(t *testing.T, open func(t *testing.T) Backend) {
	for _, story := range []struct {
		name string
		tell func(t *testing.T, b *bench)
	}{
		{"a store has one ID", storeHasOneID},
		{"peek claims nothing and makes nothing", peekClaimsNothing},
		{"jobs are kept apart", jobsAreKeptApart},
		{"each claim has a higher epoch", claimsAreMonotone},
		{"a claim is above its floor", claimIsAboveFloor},
		{"a claim on condition compares and sets", claimComparesAndSets},
		{"of concurrent claims on one condition one wins", oneConcurrentClaimWins},
		{"concurrent claims never share an epoch", concurrentClaimsDiffer},
		{"a claim reads all that was accepted before it", claimReadsAllBefore},
		{"a claim and a commit at once: seen or fenced", claimAndCommitAtOnce},
		{"decisions are numbered without a gap", numbersHaveNoGap},
		{"an equal repeat succeeds", equalRepeatSucceeds},
		{"a repeat that differs anywhere is refused", nearEqualRepeatIsRefused},
		{"a decision of another claim, store or job is refused", foreignDecisionIsRefused},
		{"a late copy of an older write of the same claim is refused", lateCopyOfSameClaim},
		{"a late copy of an older claim's accepted write is fenced", lateCopyOfAccepted},
		{"a late copy of an older claim's unaccepted write is fenced", lateCopyOfUnaccepted},
		{"history goes back to the newest whole decision", historyGoesBackToWhole},
		{"history keeps what going back needs", historyKeepsPredecessors},
		{"a decision comes back as it was", decisionComesBack},
		{"what cannot be encoded is not stored", unencodableIsNotStored},
		{"an ended context stores nothing", endedContextStoresNothing},
		{"a claim is dead after the store is closed", claimDiesWithStore},
		{"a closed claim writes nothing", closedClaimWritesNothing},
		{"decision write times out and is lost", inDoubtAndLost},
		{"decision write times out but landed", inDoubtAndLanded},
		{"a newer claim settles a write in doubt", claimSettlesDoubt},
		{"a claim whose answer is lost uses its epoch up", claimAnswerLost},
		{"reads fail and change nothing", readFails},
		{"what was accepted is there after opening again", reopenKeeps},
		{"model", model},
	} {
		t.Run(story.name, func(t *testing.T) { story.tell(t, newBench(t, open)) })
	}
}

// bench is a backend with the steps that stories are told in.
type bench struct {
	Backend
	open func(t *testing.T) Backend
}

func newBench(t *testing.T, open func(t *testing.T) Backend) *bench {
	b := &bench{Backend: open(t), open: open}
	require.NotNil(t, b.Store)
	require.NotEmpty(t, b.Job)
	return b
}

func (b *bench) keepsHistory() bool {
	k, ok := b.Store.(state.KeepsHistory)
	return !ok || k.KeepsHistory()
}

func (b *bench) claim(t *testing.T) state.Claim {
	t.Helper()
	c, err := b.Store.Claim(t.Context(), b.Job, state.ClaimRequest{Run: newRun(t)})
	require.NoError(t, err)
	return c
}

func (b *bench) peek(t *testing.T) state.Info {
	t.Helper()
	info, err := b.Store.Peek(t.Context(), b.Job)
	require.NoError(t, err)
	return info
}

// commit writes a decision that follows the claim's last.
func (b *bench) commit(t *testing.T, c state.Claim, change ...func(*state.Decision)) state.Decision {
	t.Helper()
	d := b.next(t, c, change...)
	require.NoError(t, c.Commit(t.Context(), d))
	require.Equal(t, d, *c.Last())
	return d
}

// needFaults skips the story where the backend takes no faults.
func (b *bench) needFaults(t *testing.T) {
	t.Helper()
	if b.Faults == nil {
		t.Skip("the backend declares that it takes no faults")
	}
	t.Cleanup(func() { b.Faults.Set(nil) })
}
