package state

import (
	"cmp"
	"iter"
	"slices"

	"github.com/xasink/xasink/xa"
)

// Branch is one pending branch: what a sink knows of it, before branches are merged into ranges.
type Branch struct {
	Server  string
	ID      xa.ID
	Belongs uint64
	Rows    uint64
}

// Compare orders ranges by server, lane, epoch and seq, which is the order in which a decision holds them. 0 means
// that the ranges are equal in every field.
func (r Range) Compare(o Range) int {
	return cmp.Or(
		cmp.Compare(r.Server, o.Server),
		cmp.Compare(r.Lane, o.Lane),
		cmp.Compare(r.Epoch, o.Epoch),
		cmp.Compare(r.From, o.From),
		cmp.Compare(r.To, o.To),
		cmp.Compare(r.Belongs, o.Belongs),
		cmp.Compare(r.Rows, o.Rows),
	)
}

// sameRun tells whether r and o are of one server, epoch and lane, so that their seqs count the same branches.
func (r Range) sameRun(o Range) bool {
	return r.Server == o.Server && r.Epoch == o.Epoch && r.Lane == o.Lane
}

// continues tells whether o is the direct continuation of r, so that both can be told as one range.
func (r Range) continues(o Range) bool {
	return r.sameRun(o) && r.Belongs == o.Belongs && r.To+1 == o.From
}

// Merge tells branches as the fewest ranges, sorted, as a decision holds them. Only neighbours of one server, epoch,
// lane and Belongs become one range; their rows are added up. All branches are of one job, which a range does not
// name. A branch that is given twice gives two overlapping ranges, which Check refuses.
func Merge(branches []Branch) []Range {
	ranges := make([]Range, len(branches))
	for i, b := range branches {
		ranges[i] = Range{
			Server: b.Server, Epoch: b.ID.Epoch, Lane: b.ID.Lane, From: b.ID.Seq, To: b.ID.Seq,
			Belongs: b.Belongs, Rows: b.Rows,
		}
	}
	return MergeRanges(ranges)
}

// MergeRanges is Merge for what is in ranges already. It does not change its argument; nil where there are none.
func MergeRanges(ranges []Range) []Range {
	if len(ranges) == 0 {
		return nil
	}
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, Range.Compare)
	merged := sorted[:1]
	for _, r := range sorted[1:] {
		last := &merged[len(merged)-1]
		if last.continues(r) {
			last.To = r.To
			last.Rows += r.Rows
			continue
		}
		merged = append(merged, r)
	}
	return slices.Clip(merged)
}

// Lists tells whether id is one of the branches that d is to commit.
func (d Decision) Lists(id xa.ID) bool {
	if id.Job != d.Job {
		return false
	}
	return slices.ContainsFunc(d.Pending, func(r Range) bool {
		return r.Epoch == id.Epoch && r.Lane == id.Lane && r.From <= id.Seq && id.Seq <= r.To
	})
}

// Branches yields every pending branch of d, in the order of Pending and within a range of seq. It holds one branch at
// a time, whatever the length of the ranges. Rows is told for a range of one branch only and is 0 elsewhere: the rows
// of a longer range are known of all its branches together.
func (d Decision) Branches() iter.Seq[Branch] {
	return func(yield func(Branch) bool) {
		for _, r := range d.Pending {
			rows := uint64(0)
			if r.From == r.To {
				rows = r.Rows
			}
			for id := range r.IDs(d.Job) {
				if !yield(Branch{Server: r.Server, ID: id, Belongs: r.Belongs, Rows: rows}) {
					return
				}
			}
		}
	}
}
