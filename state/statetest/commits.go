package statetest

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/state"
)

func numbersHaveNoGap(t *testing.T, b *bench) {
	c := b.claim(t)
	for _, number := range []uint64{2, 3, ^uint64(0)} {
		d := b.next(t, c, func(d *state.Decision) { d.Number = number })
		require.ErrorIs(t, c.Commit(t.Context(), d), state.ErrRefused, "number %d is first", number)
	}
	require.Nil(t, b.peek(t).Last)
	require.Nil(t, c.Last())
	for number := uint64(1); number <= 4; number++ {
		require.Equal(t, number, b.commit(t, c).Number)
		for _, wrong := range []uint64{number - 1, number, number + 2, number + 1000} {
			d := b.next(t, c, predecessor(0), whole(0), func(d *state.Decision) {
				d.Number = wrong
				d.Pending[0].Belongs = 1
			})
			err := c.Commit(t.Context(), d)
			if wrong == 0 {
				require.True(t, errors.Is(err, state.ErrUnreadable) || errors.Is(err, state.ErrRefused), "%v", err)
				continue
			}
			require.ErrorIs(t, err, state.ErrRefused, "number %d after %d", wrong, number)
		}
		require.Equal(t, number, c.Last().Number)
		require.Equal(t, number, b.peek(t).Last.Number)
	}
}

func equalRepeatSucceeds(t *testing.T, b *bench) {
	c := b.claim(t)
	for range 3 {
		d := b.commit(t, c)
		history := c.History()
		for range 3 {
			require.NoError(t, c.Commit(t.Context(), d))
		}
		require.Equal(t, d, *c.Last())
		require.Equal(t, history, c.History())
		require.Equal(t, &d, b.peek(t).Last)
	}
}

func nearEqualRepeatIsRefused(t *testing.T, b *bench) {
	c := b.claim(t)
	b.commit(t, c)
	b.commit(t, c)
	d := b.commit(t, c)
	for name, near := range nearlyEqual(d) {
		require.NoError(t, near.Check(), name)
		require.ErrorIs(t, c.Commit(t.Context(), near), state.ErrRefused, name)
		require.Equal(t, d, *c.Last(), name)
		require.Equal(t, &d, b.peek(t).Last, name)
	}
	require.NoError(t, c.Commit(t.Context(), d))
}

func foreignDecisionIsRefused(t *testing.T, b *bench) {
	b.claim(t)
	c := b.claim(t)
	last := b.commit(t, c)
	for name, change := range map[string]func(*state.Decision){
		"lower epoch":  func(d *state.Decision) { d.Epoch--; d.Pending, d.Lanes = nil, nil },
		"higher epoch": func(d *state.Decision) { d.Epoch++ },
		"job":          func(d *state.Decision) { d.Job += "x" },
		"store":        func(d *state.Decision) { d.Store = uuid.New() },
	} {
		require.ErrorIs(t, c.Commit(t.Context(), b.next(t, c, change)), state.ErrRefused, name)
		require.Equal(t, &last, b.peek(t).Last, name)
	}
	b.commit(t, c)
}

func lateCopyOfSameClaim(t *testing.T, b *bench) {
	c := b.claim(t)
	var sent []state.Decision
	for range 4 {
		sent = append(sent, b.commit(t, c))
	}
	for _, d := range sent[:len(sent)-1] {
		require.ErrorIs(t, c.Commit(t.Context(), d), state.ErrRefused, "copy of %d", d.Number)
	}
	require.Equal(t, sent[len(sent)-1], *c.Last())
	require.Equal(t, c.Last(), b.peek(t).Last)
}

func lateCopyOfAccepted(t *testing.T, b *bench) {
	old := b.claim(t)
	first := b.commit(t, old)
	second := b.commit(t, old)
	c := b.claim(t)
	for _, d := range []state.Decision{first, second} {
		require.ErrorIs(t, old.Commit(t.Context(), d), state.ErrFenced, "copy of %d, before a decision", d.Number)
	}
	last := b.commit(t, c)
	for _, d := range []state.Decision{first, second} {
		require.ErrorIs(t, old.Commit(t.Context(), d), state.ErrFenced, "copy of %d", d.Number)
	}
	require.Equal(t, last, *c.Last())
	require.Equal(t, &last, b.peek(t).Last)
}

func lateCopyOfUnaccepted(t *testing.T, b *bench) {
	old := b.claim(t)
	b.commit(t, old)
	never := b.next(t, old)
	c := b.claim(t)
	require.ErrorIs(t, old.Commit(t.Context(), never), state.ErrFenced, "before the new owner's own decision")
	own := b.commit(t, c)
	require.Equal(t, never.Number, own.Number)
	require.ErrorIs(t, old.Commit(t.Context(), never), state.ErrFenced, "in place of the new owner's decision")
	after := never
	after.Number = own.Number + 1
	require.ErrorIs(t, old.Commit(t.Context(), after), state.ErrFenced, "with the number that would be right")
	require.Equal(t, &own, b.peek(t).Last)
	b.commit(t, c)
}

func historyGoesBackToWhole(t *testing.T, b *bench) {
	c := b.claim(t)
	require.Equal(t, []uint64{1}, b.commitKeeps(t, c, nothingPending))
	if !b.keepsHistory() {
		require.Equal(t, []uint64{2}, b.commitKeeps(t, c))
		require.Equal(t, []uint64{2}, numbers(b.claim(t).History()))
		return
	}
	require.Equal(t, []uint64{1, 2}, b.commitKeeps(t, c, whole(1)))
	require.Equal(t, []uint64{1, 2, 3}, b.commitKeeps(t, c, whole(1)))
	require.Equal(t, []uint64{2, 3, 4}, b.commitKeeps(t, c, whole(2)))
	require.Equal(t, []uint64{2, 3, 4, 5}, b.commitKeeps(t, c, whole(1)), "what is gone does not come back")
	require.Equal(t, []uint64{5, 6}, b.commitKeeps(t, c, whole(5)))
	require.Equal(t, []uint64{5, 6, 7}, b.commitKeeps(t, c, whole(0)), "none known as whole: nothing goes")
	require.Equal(t, []uint64{8}, b.commitKeeps(t, c, whole(0), nothingPending), "nothing pending: whole in itself")

	next := b.claim(t)
	require.Equal(t, []uint64{8}, numbers(next.History()), "an older claim's decisions are part of it")
	require.Equal(t, []uint64{8, 9}, b.commitKeeps(t, next, whole(8)))
	require.Equal(t, next.History(), b.claim(t).History())
}

func historyKeepsPredecessors(t *testing.T, b *bench) {
	if !b.keepsHistory() {
		t.Skip("the backend declares that it keeps no history")
	}
	c := b.claim(t)
	b.commit(t, c)
	b.commit(t, c)
	for range 3 {
		b.commit(t, c, whole(2))
	}
	require.Equal(t, []uint64{2, 3, 4, 5}, numbers(c.History()))
	// Going back to 3 writes it again as 6, which then follows 2 and not 5.
	require.Equal(t, []uint64{2, 3, 4, 5, 6}, b.commitKeeps(t, c, whole(2), predecessor(2)))
	require.Equal(t, []uint64{2, 4, 5, 6, 7}, b.commitKeeps(t, c, whole(4)), "6 follows 2, and 4 needs 3 no more")
	require.Equal(t, numbers(c.History()), numbers(b.claim(t).History()))
	c = b.claim(t)
	require.Equal(t, []uint64{6, 7, 8}, b.commitKeeps(t, c, whole(6)), "what a whole decision follows is not needed")
}

// commitKeeps writes the next decision and gives the numbers that are kept then.
func (b *bench) commitKeeps(t *testing.T, c state.Claim, change ...func(*state.Decision)) []uint64 {
	t.Helper()
	d := b.commit(t, c, change...)
	require.Equal(t, d, c.History()[len(c.History())-1])
	return numbers(c.History())
}

func numbers(history []state.Decision) []uint64 {
	var all []uint64
	for _, d := range history {
		all = append(all, d.Number)
	}
	return all
}

func decisionComesBack(t *testing.T, b *bench) {
	c := b.claim(t)
	d := b.next(t, c, func(d *state.Decision) {
		d.Positions = []state.Position{
			{Source: "a", Data: bytes.Repeat([]byte{0xff}, state.MaxPosition)},
			{Source: "b", Data: []byte{}},
			{Source: "c", Data: []byte("plain")},
		}
		d.Pending = append(d.Pending, state.Range{
			Server: "one", Epoch: d.Epoch, Lane: 2, From: 1, To: ^uint64(0), Belongs: 1, Rows: ^uint64(0),
		})
	})
	require.NoError(t, c.Commit(t.Context(), d))
	d.Positions[1].Data = nil // A position of no bytes has no other form.
	require.Equal(t, d, *c.Last())
	require.Equal(t, &d, b.peek(t).Last)
	require.Equal(t, &d, b.claim(t).Last())
}

func unencodableIsNotStored(t *testing.T, b *bench) {
	c := b.claim(t)
	last := b.commit(t, c)
	for name, change := range map[string]func(*state.Decision){
		"position too long": func(d *state.Decision) {
			d.Positions[0].Data = bytes.Repeat([]byte{1}, state.MaxPosition+1)
		},
		"source twice":    func(d *state.Decision) { d.Positions = append(d.Positions, d.Positions[0]) },
		"empty range":     func(d *state.Decision) { d.Pending[0].To = d.Pending[0].From - 1 },
		"belongs to none": func(d *state.Decision) { d.Pending[0].Belongs = 0 },
	} {
		err := c.Commit(t.Context(), b.next(t, c, change))
		require.ErrorIs(t, err, state.ErrUnreadable, name)
		require.NotErrorIs(t, err, state.ErrInDoubt, name)
		require.Equal(t, &last, b.peek(t).Last, name)
	}
	b.commit(t, c)
}

func endedContextStoresNothing(t *testing.T, b *bench) {
	c := b.claim(t)
	last := b.commit(t, c)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	d := b.next(t, c)
	require.ErrorIs(t, c.Commit(ended, d), state.ErrInDoubt)
	require.Equal(t, &last, b.peek(t).Last)
	require.NoError(t, c.Commit(t.Context(), d))

	_, err := b.Store.Claim(ended, b.Job, state.ClaimRequest{})
	require.ErrorIs(t, err, context.Canceled)
	_, err = b.Store.Peek(ended, b.Job)
	require.ErrorIs(t, err, context.Canceled)
	b.commit(t, c)
}

func claimDiesWithStore(t *testing.T, b *bench) {
	c := b.claim(t)
	b.commit(t, c)
	require.NoError(t, b.Store.Close())
	err := c.Commit(t.Context(), b.next(t, c))
	require.ErrorIs(t, err, state.ErrInDoubt, "whether an earlier write of it landed cannot be known any more")
	_, err = b.Store.Claim(t.Context(), b.Job, state.ClaimRequest{})
	require.Error(t, err)
	_, err = b.Store.Peek(t.Context(), b.Job)
	require.Error(t, err)
	require.NoError(t, b.Store.Close(), "closing again is no error")
}

func closedClaimWritesNothing(t *testing.T, b *bench) {
	c := b.claim(t)
	last := b.commit(t, c)
	require.NoError(t, c.Close())
	require.Error(t, c.Commit(t.Context(), b.next(t, c)))
	require.Equal(t, &last, b.peek(t).Last)
	require.Equal(t, c.Epoch(), b.peek(t).Epoch)
	require.Equal(t, &last, b.claim(t).Last(), "the store is open")
}
