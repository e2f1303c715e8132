package state

import (
	"cmp"
	"slices"
)

// Lane is what d knows of lane n; false when that is nothing.
func (d Decision) Lane(n uint32) (Lane, bool) {
	i := slices.IndexFunc(d.Lanes, func(l Lane) bool { return l.Number == n })
	if i < 0 {
		return Lane{}, false
	}
	return d.Lanes[i], true
}

// Covers tells whether the watermark of l is at or above the branch (epoch, seq) of its lane.
func (l Lane) Covers(epoch, seq uint64) bool {
	return cmp.Or(cmp.Compare(l.Epoch, epoch), cmp.Compare(l.Seq, seq)) >= 0
}

// MergeLanes brings base up to date: each watermark becomes the higher of the two, so that none is ever lowered, and
// the tables are those of update where it names any. Lanes that only base has, because they are no longer used, are
// carried on. The result is sorted by number and shares nothing with base or update; nil where there are no lanes.
func MergeLanes(base, update []Lane) []Lane {
	var merged []Lane
	index := map[uint32]int{}
	for _, l := range slices.Concat(base, update) {
		l.Tables = sortedTables(l.Tables)
		i, known := index[l.Number]
		if !known {
			index[l.Number] = len(merged)
			merged = append(merged, l)
			continue
		}
		m := &merged[i]
		if !m.Covers(l.Epoch, l.Seq) {
			m.Epoch, m.Seq = l.Epoch, l.Seq
		}
		if len(l.Tables) > 0 {
			m.Tables = l.Tables
		}
	}
	slices.SortFunc(merged, func(a, b Lane) int { return cmp.Compare(a.Number, b.Number) })
	return merged
}

// sortedTables is tables as a decision holds them: sorted, each once, nil for none, not shared with the argument.
func sortedTables(tables []string) []string {
	if len(tables) == 0 {
		return nil
	}
	sorted := slices.Clone(tables)
	slices.Sort(sorted)
	return slices.Clip(slices.Compact(sorted))
}
