package state

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestWhatIsKeptIsBounded(t *testing.T) {
	store := uuid.New()
	part := Part{
		Pending: []Range{{Server: "one", Epoch: 1, From: 1, To: 1, Belongs: 1, Rows: 1}},
		Bounds:  Bounds{Lanes: 1},
	}
	held := image{epoch: 1}
	for range maxKept {
		held.kept = append(held.kept, Next(held.last(), 1, store, uuid.Nil, "orders", nil, part, time.Now()))
	}
	c := &claim{job: "orders", store: store, epoch: 1}
	d := Next(held.last(), 1, store, uuid.Nil, "orders", nil, part, time.Now())
	_, _, err := held.accepts(c, d)
	require.ErrorIs(t, err, ErrRefused)
	require.ErrorContains(t, err, "1025 decisions would have to be kept, the limit is 1024")

	d.Whole = 2
	_, repeat, err := held.accepts(c, d)
	require.NoError(t, err)
	require.False(t, repeat)
	require.Len(t, held.with(d).kept, maxKept)
}
