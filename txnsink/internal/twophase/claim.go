// Package twophase is what a two-phase writer knows under one claim, whatever it writes to: the branches that are
// prepared and not yet proven committed, the decisions that list them, watermarks, and proof rows to prune. It does no
// I/O.
package twophase

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// Branch is a prepared branch of this process that is not yet proven committed.
type Branch struct {
	ID       xa.ID
	Rows     uint64
	Belongs  uint64 // 0 until an accepted decision lists it
	Prepared time.Time
}

// Claim is the knowledge under one claim. It is not safe for concurrent use.
type Claim struct {
	owner   recovery.Owner
	server  state.Server
	bounds  state.Bounds
	current *state.Decision // the newest decision known to be accepted under this claim; nil before the claim's own
	whole   uint64          // number of the newest decision known to be wholly committed
	ready   bool
	proven  []state.Lane     // watermarks, and the tables of each lane
	kept    []state.Decision // what the store keeps: from the newest wholly committed one on
	pending []Branch         // in the order of PREPARE
	rows    []xa.ID          // proof rows of this process that are not pruned yet
	dead    []ledger.Span    // proof rows of earlier owners that may be pruned now
}

// New is what is known right after recovery: report and decisions, the store's history, are of the claim's recovery.
// lanes are the tables that this writer's lanes write now; what report knows of others is carried on.
func New(owner recovery.Owner, report recovery.Report, decisions []state.Decision, lanes []state.Lane) *Claim {
	c := &Claim{
		owner: owner, server: report.Part.Server, bounds: report.Part.Bounds, whole: report.Part.Whole,
		proven: state.MergeLanes(report.Part.Lanes, lanes), dead: report.Dead,
	}
	for _, d := range decisions {
		if d.Number >= c.whole {
			c.kept = append(c.kept, d)
		}
	}
	return c
}

// Owner holds the claim.
func (c *Claim) Owner() recovery.Owner { return c.owner }

// Ready tells whether the claim's own decision is wholly committed, so that branches may carry the epoch.
func (c *Claim) Ready() bool { return c.ready }

// Current is the newest decision known to be accepted under this claim; nil before the claim's own.
func (c *Claim) Current() *state.Decision { return c.current }

// CurrentNumber is Current's number, 0 before there is one.
func (c *Claim) CurrentNumber() uint64 {
	if c.current == nil {
		return 0
	}
	return c.current.Number
}

// Proven are the newest proven watermarks.
func (c *Claim) Proven() []state.Lane { return c.proven }

// Pending are the prepared branches not yet proven committed, the oldest first. The caller does not change them.
func (c *Claim) Pending() []Branch { return c.pending }

// Prepared adds a branch to the pending ones.
func (c *Claim) Prepared(id xa.ID, rows int64) {
	c.pending = append(c.pending, Branch{ID: id, Rows: uint64(rows), Prepared: time.Now()})
}

// Part is the writer's whole part of the next decision: all pending branches, carried-over ones too.
func (c *Claim) Part() state.Part {
	list := make([]state.Branch, 0, len(c.pending))
	for _, b := range c.pending {
		list = append(list, state.Branch{Server: c.server.Name, ID: b.ID, Belongs: b.Belongs, Rows: b.Rows})
	}
	return state.Part{Pending: state.Merge(list), Lanes: c.proven, Bounds: c.bounds, Whole: c.whole, Server: c.server}
}

// Decided is told of a decision that the store has definitely accepted. It gives the branches to commit, in the order in
// which they may be committed: all that belong to an earlier decision first, and of one decision each lane's highest
// seq last (docs/design.md, A checkpoint). again: d is wholly committed already and there is nothing to do. An error means that d is not
// this claim's, is older than what was accepted, or is not made of what Part gave; nothing is changed then.
func (c *Claim) Decided(d state.Decision) (commit []Branch, again bool, err error) {
	switch {
	case d.Job != c.owner.Job || d.Store != c.owner.Store || d.Epoch != c.owner.Epoch:
		return nil, false, fmt.Errorf("commit: decision %d of job %s, store %s, epoch %d is not of this writer's claim (job %s, store %s, epoch %d)",
			d.Number, d.Job, d.Store, d.Epoch, c.owner.Job, c.owner.Store, c.owner.Epoch)
	case c.current != nil && d.Number <= c.whole:
		return nil, true, nil
	case c.current != nil && d.Number < c.current.Number:
		return nil, false, fmt.Errorf("commit: decision %d of job %s is older than %d, which is accepted already", d.Number, d.Job, c.current.Number)
	}
	listed := func(b Branch) bool { return d.Lists(b.ID) }
	var n, have uint64
	for _, r := range d.Pending {
		n += r.To - r.From + 1
	}
	for _, b := range c.pending {
		if listed(b) {
			have++
		}
	}
	if n != have {
		return nil, false, fmt.Errorf("commit: decision %d lists %d branches, of which this writer has %d pending: it is not made of what Prepare gave",
			d.Number, n, have)
	}
	c.current = &d
	c.kept = slices.DeleteFunc(append(c.kept, d), func(k state.Decision) bool { return k.Number < d.Whole })
	for i := range c.pending {
		if b := &c.pending[i]; listed(*b) {
			b.Belongs = cmp.Or(b.Belongs, d.Number)
			commit = append(commit, *b)
		}
	}
	slices.SortFunc(commit, func(a, b Branch) int {
		return cmp.Or(cmp.Compare(a.Belongs, b.Belongs), a.ID.Compare(b.ID))
	})
	return commit, false, nil
}

// Committed is told that a branch is proven committed.
func (c *Claim) Committed(id xa.ID) {
	c.pending = slices.DeleteFunc(c.pending, func(b Branch) bool { return b.ID == id })
	c.proven = state.MergeLanes(c.proven, []state.Lane{{Number: id.Lane, Epoch: id.Epoch, Seq: id.Seq}})
	c.rows = append(c.rows, id)
}

// Whole is told that all branches of the current decision, and of all before it, are proven committed.
func (c *Claim) Whole() {
	c.whole, c.ready = c.current.Number, true
}

// Prunable are the proof rows that no kept decision needs any more.
func (c *Claim) Prunable() []ledger.Span {
	return append(recovery.Prunable(c.kept, c.rows), c.dead...)
}

// Unpruned is how many proof rows of this process wait to be pruned.
func (c *Claim) Unpruned() int { return len(c.rows) }

// Pruned is told that the rows of spans, which Prunable gave, are gone.
func (c *Claim) Pruned(spans []ledger.Span) {
	c.dead = nil
	c.rows = slices.DeleteFunc(c.rows, func(id xa.ID) bool {
		return slices.ContainsFunc(spans, func(s ledger.Span) bool {
			return s.Epoch == id.Epoch && s.Lane == id.Lane && s.From <= id.Seq && id.Seq <= s.To
		})
	})
}
