package recovery

import (
	"slices"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// Prunable are the proof rows that may be deleted. kept must be every decision that is still kept, from the newest
// wholly committed one on, oldest first; rows are proof rows of the job that are known to be there, each lane's highest
// among them. A row may go when no kept decision lists it, none names it as a watermark, it is at or below its lane's
// watermark in the oldest kept decision, and it is not the lane's highest. It is pure, and names rows, never "all but".
func Prunable(kept []state.Decision, rows []xa.ID) []ledger.Span {
	if len(kept) == 0 {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(rows), xa.ID.Compare)
	sorted = slices.Compact(sorted)
	var spans []ledger.Span
	for i, id := range sorted {
		highest := i+1 == len(sorted) || sorted[i+1].Lane != id.Lane
		if highest || !settled(kept, id) {
			continue
		}
		if n := len(spans); n > 0 {
			last := &spans[n-1]
			if last.Epoch == id.Epoch && last.Lane == id.Lane && last.To+1 == id.Seq {
				last.To = id.Seq
				continue
			}
		}
		spans = append(spans, ledger.Span{Epoch: id.Epoch, Lane: id.Lane, From: id.Seq, To: id.Seq})
	}
	return spans
}

// settled tells whether no kept decision needs the row of id any more.
func settled(kept []state.Decision, id xa.ID) bool {
	oldest, known := kept[0].Lane(id.Lane)
	if !known || !oldest.Covers(id.Epoch, id.Seq) {
		return false
	}
	return !slices.ContainsFunc(kept, func(d state.Decision) bool {
		l, known := d.Lane(id.Lane)
		return d.Job != id.Job || d.Lists(id) || known && l.Epoch == id.Epoch && l.Seq == id.Seq
	})
}
