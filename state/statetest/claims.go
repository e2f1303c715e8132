package statetest

import (
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/state"
)

func storeHasOneID(t *testing.T, b *bench) {
	id := b.Store.ID()
	require.NotEqual(t, uuid.Nil, id)
	b.commit(t, b.claim(t))
	require.Equal(t, id, b.Store.ID())
	require.NotEqual(t, id, b.open(t).Store.ID(), "two stores have two IDs")
	if b.Reopen != nil {
		require.Equal(t, id, b.Reopen(t).ID())
	}
}

func peekClaimsNothing(t *testing.T, b *bench) {
	require.Equal(t, state.Info{}, b.peek(t))
	require.Equal(t, state.Info{}, b.peek(t))
	run := newRun(t)
	c, err := b.Store.Claim(t.Context(), b.Job, state.ClaimRequest{After: new(uint64(0)), Run: run})
	require.NoError(t, err, "peek leaves the job as never claimed")
	require.Nil(t, c.Last())
	require.Empty(t, c.History())
	require.Equal(t, state.Info{Epoch: c.Epoch(), Run: run}, b.peek(t))
	d := b.commit(t, c)
	require.Equal(t, state.Info{Epoch: c.Epoch(), Run: run, Last: &d}, b.peek(t))
	b.commit(t, c)
}

func jobsAreKeptApart(t *testing.T, b *bench) {
	c := b.claim(t)
	d := b.commit(t, c)
	if b.Other == "" {
		_, err := b.Store.Peek(t.Context(), b.Job+"x")
		require.ErrorIs(t, err, state.ErrOtherJob)
		require.ErrorContains(t, err, b.Job+"x")
		_, err = b.Store.Claim(t.Context(), b.Job+"x", state.ClaimRequest{})
		require.ErrorIs(t, err, state.ErrOtherJob)
	} else {
		info, err := b.Store.Peek(t.Context(), b.Other)
		require.NoError(t, err)
		require.Equal(t, state.Info{}, info)
		other, err := b.Store.Claim(t.Context(), b.Other, state.ClaimRequest{Floor: 100})
		require.NoError(t, err)
		require.Nil(t, other.Last())
	}
	require.Equal(t, c.Epoch(), b.peek(t).Epoch)
	require.Equal(t, &d, b.peek(t).Last)
	b.commit(t, c)
}

func claimsAreMonotone(t *testing.T, b *bench) {
	epoch := uint64(0)
	for range 5 {
		c := b.claim(t)
		require.Greater(t, c.Epoch(), epoch)
		epoch = c.Epoch()
		require.Equal(t, epoch, b.peek(t).Epoch)
		require.NoError(t, c.Close())
		require.Equal(t, epoch, b.peek(t).Epoch, "the epoch of a closed claim stays used")
	}
}

func claimIsAboveFloor(t *testing.T, b *bench) {
	c, err := b.Store.Claim(t.Context(), b.Job, state.ClaimRequest{Floor: 1000})
	require.NoError(t, err)
	require.Greater(t, c.Epoch(), uint64(1000))
	low, err := b.Store.Claim(t.Context(), b.Job, state.ClaimRequest{Floor: 10})
	require.NoError(t, err)
	require.Greater(t, low.Epoch(), c.Epoch(), "a floor never lowers")
	again, err := b.Store.Claim(t.Context(), b.Job, state.ClaimRequest{After: new(low.Epoch()), Floor: 5000})
	require.NoError(t, err)
	require.Greater(t, again.Epoch(), uint64(5000))
	_, err = b.Store.Claim(t.Context(), b.Job, state.ClaimRequest{Floor: ^uint64(0)})
	require.Error(t, err, "nothing is above the highest epoch")
	require.Equal(t, again.Epoch(), b.peek(t).Epoch)
}

func claimComparesAndSets(t *testing.T, b *bench) {
	_, err := b.Store.Claim(t.Context(), b.Job, state.ClaimRequest{After: new(uint64(1))})
	require.ErrorIs(t, err, state.ErrFenced)
	require.Equal(t, state.Info{}, b.peek(t))

	first, err := b.Store.Claim(t.Context(), b.Job, state.ClaimRequest{After: new(uint64(0)), Run: newRun(t)})
	require.NoError(t, err)
	for _, wrong := range []uint64{0, first.Epoch() - 1, first.Epoch() + 1} {
		held := b.peek(t)
		_, err = b.Store.Claim(t.Context(), b.Job, state.ClaimRequest{After: new(wrong), Run: newRun(t)})
		require.ErrorIs(t, err, state.ErrFenced, "after %d", wrong)
		require.Equal(t, held, b.peek(t))
	}
	b.commit(t, first)

	second, err := b.Store.Claim(t.Context(), b.Job, state.ClaimRequest{After: new(first.Epoch())})
	require.NoError(t, err)
	require.Greater(t, second.Epoch(), first.Epoch())
	third := b.claim(t)
	require.Greater(t, third.Epoch(), second.Epoch(), "without a condition it is given whatever is held")
}

// claimAtOnce makes n claims with request at the same time.
func (b *bench) claimAtOnce(t *testing.T, n int, request state.ClaimRequest) (claims []state.Claim, errs []error) {
	t.Helper()
	claims, errs = make([]state.Claim, n), make([]error, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			claims[i], errs[i] = b.Store.Claim(t.Context(), b.Job, request)
		})
	}
	close(start)
	all.Wait()
	return claims, errs
}

func oneConcurrentClaimWins(t *testing.T, b *bench) {
	held := b.claim(t)
	claims, errs := b.claimAtOnce(t, 8, state.ClaimRequest{After: new(held.Epoch())})
	var won state.Claim
	for i, err := range errs {
		if err != nil {
			require.ErrorIs(t, err, state.ErrFenced)
			continue
		}
		require.Nil(t, won, "two claims were given on one condition")
		won = claims[i]
	}
	require.NotNil(t, won)
	require.ErrorIs(t, held.Commit(t.Context(), b.next(t, held)), state.ErrFenced)
	b.commit(t, won)
}

func concurrentClaimsDiffer(t *testing.T, b *bench) {
	claims, errs := b.claimAtOnce(t, 8, state.ClaimRequest{})
	seen := map[uint64]bool{}
	newest := claims[0]
	for i, c := range claims {
		require.NoError(t, errs[i])
		require.False(t, seen[c.Epoch()], "epoch %d was given twice", c.Epoch())
		seen[c.Epoch()] = true
		if c.Epoch() > newest.Epoch() {
			newest = c
		}
	}
	for _, c := range claims {
		if c != newest {
			require.ErrorIs(t, c.Commit(t.Context(), b.next(t, c)), state.ErrFenced)
		}
	}
	b.commit(t, newest)
}

func claimReadsAllBefore(t *testing.T, b *bench) {
	first := b.claim(t)
	b.commit(t, first)
	d := b.commit(t, first)
	sent := b.next(t, first)

	second := b.claim(t)
	require.Equal(t, d, *second.Last(), "an older claim's decision is part of what a new one reads")
	require.Equal(t, second.Last(), &second.History()[len(second.History())-1])
	require.ErrorIs(t, first.Commit(t.Context(), sent), state.ErrFenced)
	require.Equal(t, &d, b.peek(t).Last, "what a claim read is final")
	require.Equal(t, d.Number+1, b.commit(t, second).Number)
}

// claimAndCommitAtOnce: a commit that runs beside a claim is either accepted, and then the claim has read it, or fenced.
func claimAndCommitAtOnce(t *testing.T, b *bench) {
	c := b.claim(t)
	b.commit(t, c)
	for range 20 {
		d := b.next(t, c)
		var committed error
		var all sync.WaitGroup
		all.Go(func() { committed = c.Commit(t.Context(), d) })
		next := b.claim(t)
		all.Wait()
		if committed == nil {
			require.Equal(t, d, *next.Last(), "it was accepted and the newer claim does not know it")
		} else {
			require.ErrorIs(t, committed, state.ErrFenced)
			require.Equal(t, d.Number-1, next.Last().Number, "it was fenced and is there all the same")
		}
		require.Equal(t, next.Last(), b.peek(t).Last)
		c = next
	}
}
