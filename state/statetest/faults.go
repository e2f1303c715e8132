package statetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/state"
)

func inDoubtAndLost(t *testing.T, b *bench) {
	b.needFaults(t)
	c := b.claim(t)
	last := b.commit(t, c)
	d := b.next(t, c)
	b.Faults.Set(fault.FailAt(fault.Before(fault.DecisionWrite), 0, nil))
	for range 3 {
		requireDoubt(t, c.Commit(t.Context(), d))
		require.Equal(t, &last, b.peek(t).Last)
		require.Equal(t, last, *c.Last())
	}
	b.Faults.Set(nil)
	require.NoError(t, c.Commit(t.Context(), d), "the identical write settles it")
	require.Equal(t, d, *c.Last())
	require.Equal(t, &d, b.peek(t).Last)
	b.commit(t, c)
}

func inDoubtAndLanded(t *testing.T, b *bench) {
	b.needFaults(t)
	c := b.claim(t)
	last := b.commit(t, c)
	d := b.next(t, c)
	b.Faults.Set(fault.FailAt(fault.After(fault.DecisionWrite), 0, nil))
	for range 3 {
		requireDoubt(t, c.Commit(t.Context(), d))
		require.Equal(t, last, *c.Last(), "what is in doubt is not Last")
		require.Equal(t, &d, b.peek(t).Last)
	}
	b.Faults.Set(nil)
	other := b.next(t, c, nothingPending)
	require.ErrorIs(t, c.Commit(t.Context(), other), state.ErrRefused, "another decision in its place")
	require.NoError(t, c.Commit(t.Context(), d), "the identical write settles it")
	require.Equal(t, d, *c.Last())
	require.Equal(t, d.Number+1, b.commit(t, c).Number)
}

func requireDoubt(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, state.ErrInDoubt)
	require.NotErrorIs(t, err, state.ErrRefused)
	require.NotErrorIs(t, err, state.ErrUnreadable)
	require.NotErrorIs(t, err, state.ErrFenced)
}

func claimSettlesDoubt(t *testing.T, b *bench) {
	b.needFaults(t)
	c := b.claim(t)
	b.commit(t, c)
	for _, p := range []fault.Point{fault.Before(fault.DecisionWrite), fault.After(fault.DecisionWrite)} {
		d := b.next(t, c)
		b.Faults.Set(fault.FailAt(p, 0, nil))
		requireDoubt(t, c.Commit(t.Context(), d))
		b.Faults.Set(nil)

		next := b.claim(t)
		if p.After {
			require.Equal(t, d, *next.Last())
		} else {
			require.Equal(t, d.Number-1, next.Last().Number)
		}
		require.ErrorIs(t, c.Commit(t.Context(), d), state.ErrFenced, "the repeat comes too late")
		require.Equal(t, next.Last(), b.peek(t).Last)
		b.commit(t, next)
		c = next
	}
}

func claimAnswerLost(t *testing.T, b *bench) {
	b.needFaults(t)
	c := b.claim(t)
	b.commit(t, c)
	run := newRun(t)
	for _, p := range []fault.Point{fault.Before(fault.Claim), fault.After(fault.Claim), fault.Before(fault.DecisionRead)} {
		held := b.peek(t)
		b.Faults.Set(fault.FailAt(p, 0, nil))
		_, err := b.Store.Claim(t.Context(), b.Job, state.ClaimRequest{After: new(held.Epoch), Run: run})
		require.Error(t, err, "%s", p)
		require.NotErrorIs(t, err, state.ErrFenced)
		b.Faults.Set(nil)

		info := b.peek(t)
		require.Equal(t, held.Last, info.Last)
		if p == fault.Before(fault.Claim) {
			require.Equal(t, held, info)
			b.commit(t, c)
			continue
		}
		require.Greater(t, info.Epoch, held.Epoch, "%s: the claim was made", p)
		require.Equal(t, run, info.Run, "its run tells whose it is")
		require.ErrorIs(t, c.Commit(t.Context(), b.next(t, c)), state.ErrFenced)
		c = b.claim(t)
		require.Greater(t, c.Epoch(), info.Epoch)
		b.commit(t, c)
	}
}

func readFails(t *testing.T, b *bench) {
	b.needFaults(t)
	c := b.claim(t)
	d := b.commit(t, c)
	for _, p := range []fault.Point{fault.Before(fault.DecisionRead), fault.After(fault.DecisionRead)} {
		b.Faults.Set(fault.FailAt(p, 0, nil))
		info, err := b.Store.Peek(t.Context(), b.Job)
		require.Error(t, err)
		require.Equal(t, state.Info{}, info)
		b.Faults.Set(nil)
		require.Equal(t, &d, b.peek(t).Last)
	}
	b.commit(t, c)
}

func reopenKeeps(t *testing.T, b *bench) {
	if b.Reopen == nil {
		t.Skip("the backend declares that it keeps nothing when it is closed")
	}
	c := b.claim(t)
	b.commit(t, c)
	b.commit(t, c)
	b.commit(t, c, whole(1))
	id, info, history := b.Store.ID(), b.peek(t), c.History()

	b.Store = b.Reopen(t)
	require.Equal(t, id, b.Store.ID())
	require.Equal(t, info, b.peek(t))
	err := c.Commit(t.Context(), b.next(t, c))
	require.Error(t, err, "claims do not outlive their store")
	require.Equal(t, info, b.peek(t))

	next, err := b.Store.Claim(t.Context(), b.Job, state.ClaimRequest{After: new(info.Epoch)})
	require.NoError(t, err)
	require.Greater(t, next.Epoch(), c.Epoch())
	if b.keepsHistory() {
		require.Equal(t, history, next.History())
	}
	require.Equal(t, info.Last.Number+1, b.commit(t, next).Number)
}
