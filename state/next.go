package state

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Next is the decision that follows last, nil before the job's first: it takes the number after last's, names it as
// its predecessor, and is last's successor in Bounds, which are never lowered. Branches of part that no accepted
// decision has listed yet (Belongs 0) belong to it. positions and part need not be sorted and are not changed; the
// result shares nothing with them but the bytes of positions. Times are cut to microseconds, UTC.
//
// Part.Lanes is the whole of it: a caller that has to carry lanes on does so with [MergeLanes]. Going back writes the
// result with its target's predecessor in place of last's.
func Next(last *Decision, claimEpoch uint64, store, run uuid.UUID, job string, positions []Position, part Part,
	now time.Time) Decision {
	d := Decision{
		Job: job, Store: store, Epoch: claimEpoch, Number: 1, Whole: part.Whole, Run: run, Time: stored(now),
		Positions: sortedPositions(positions),
		Lanes:     MergeLanes(nil, part.Lanes),
		Bounds:    part.Bounds,
		Server:    Server{Name: part.Server.Name, Started: stored(part.Server.Started)},
	}
	if last != nil {
		d.Number = last.Number + 1
		d.Predecessor = last.Number
		d.Bounds.Lanes = max(d.Bounds.Lanes, last.Bounds.Lanes)
		d.Bounds.Marks = max(d.Bounds.Marks, last.Bounds.Marks)
	}
	pending := slices.Clone(part.Pending)
	for i := range pending {
		if pending[i].Belongs == 0 {
			pending[i].Belongs = d.Number
		}
	}
	d.Pending = MergeRanges(pending)
	return d
}

// stored is t as it comes back from the store.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func sortedPositions(positions []Position) []Position {
	if len(positions) == 0 {
		return nil
	}
	sorted := slices.Clone(positions)
	slices.SortFunc(sorted, func(a, b Position) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), bytes.Compare(a.Data, b.Data))
	})
	return sorted
}
