package recovery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// ActionKind is what is to be done with one XID.
type ActionKind uint8

// The kinds, in the order in which a plan is carried out.
const (
	ActionInvalid          ActionKind = iota
	ActionEndAndRescan                // a COMMIT is being executed elsewhere: end that session, scan again
	ActionCommit                      // listed and prepared: COMMIT
	ActionAlreadyCommitted            // listed, and its proof row is there: nothing to do
	ActionLost                        // listed, not prepared, no proof row
	ActionRollBack                    // ours, prepared, unlisted: ROLLBACK, the source replays
	ActionUntouched                   // not ours
)

// Action is the fate of one XID.
type Action struct {
	XID      xa.XID
	ID       xa.ID // zero for ActionUntouched
	Kind     ActionKind
	Reason   string
	Evidence Evidence
}

// Evidence is what the fate was decided by.
type Evidence struct {
	Decision  uint64      // number of the current decision; 0: none
	Belongs   uint64      // decision that the branch belongs to; 0: not listed
	Prepared  bool        // in XA RECOVER
	Proven    bool        // its proof row is there
	Watermark *state.Lane // the lane's watermark in the current decision; nil: none
}

// String tells e for logs.
func (e Evidence) String() string {
	parts := make([]string, 0, 4)
	if e.Belongs != 0 {
		parts = append(parts, fmt.Sprintf("listed by decision %d, belongs to %d", e.Decision, e.Belongs))
	} else {
		parts = append(parts, fmt.Sprintf("not listed by decision %d", e.Decision))
	}
	if e.Prepared {
		parts = append(parts, "prepared")
	}
	if e.Proven {
		parts = append(parts, "proof row")
	}
	if w := e.Watermark; w != nil {
		parts = append(parts, fmt.Sprintf("watermark e%d.w%d.s%d", w.Epoch, w.Number, w.Seq))
	}
	return strings.Join(parts, ", ")
}

// Plan decides the fate of every branch of job that is prepared on the server (scan) or listed by the current
// decision, the last of decisions. It does no I/O and is total: each XID of either is in exactly one action. decisions
// are the kept ones, oldest first; empty for a new job. epoch is the claim's. scan must have been taken before proofs
// were read.
//
// Actions are in the order in which they are to be carried out; commits go by decision, and within a decision by lane
// with its highest seq last. With a *Stop none of them may be carried out. A lost branch among them means that nothing
// is committed, unless an EndAndRescan comes first.
func Plan(job string, decisions []state.Decision, epoch uint64, scan []xa.XID, proofs []ledger.Proof) ([]Action, *Stop) {
	p := newPlanner(job, decisions, epoch, proofs)
	for _, x := range scan {
		p.addPrepared(x)
	}
	for b := range p.current.Branches() {
		if _, known := p.seen[b.ID.XID()]; !known {
			p.addListed(b.ID)
		}
	}
	p.checkProofs()
	slices.SortFunc(p.actions, compareActions)
	return p.actions, p.stop()
}

// planner holds what one Plan reads, and collects what it finds.
type planner struct {
	job     string
	kept    []state.Decision
	current state.Decision // zero where there is none yet
	epoch   uint64
	proofs  []ledger.Proof
	proven  map[xa.ID]bool
	seen    map[xa.XID]struct{} // XIDs that have their action
	actions []Action
	stops   map[StopKind][]xa.ID
	again   bool // what is known as committed is prepared again
	missing bool // a watermark is without its proof row
}

func newPlanner(job string, decisions []state.Decision, epoch uint64, proofs []ledger.Proof) *planner {
	p := &planner{
		job: job, kept: decisions, epoch: epoch, proofs: proofs,
		proven: make(map[xa.ID]bool, len(proofs)), seen: map[xa.XID]struct{}{}, stops: map[StopKind][]xa.ID{},
	}
	if n := len(decisions); n > 0 {
		p.current = decisions[n-1]
	}
	for _, proof := range proofs {
		p.proven[proof.ID] = true
	}
	return p
}

// add gives x its action, once.
func (p *planner) add(x xa.XID, id xa.ID, kind ActionKind, e Evidence, reason string) {
	p.seen[x] = struct{}{}
	p.actions = append(p.actions, Action{XID: x, ID: id, Kind: kind, Reason: reason, Evidence: e})
}

// addPrepared is the lines of the table for an XID that XA RECOVER shows; the first that fits counts.
func (p *planner) addPrepared(x xa.XID) {
	if _, known := p.seen[x]; known {
		return
	}
	id, ours := x.ID()
	if !ours || id.Job != p.job {
		p.add(x, xa.ID{}, ActionUntouched, Evidence{Decision: p.current.Number, Prepared: true}, "not a branch of this job")
		return
	}
	e := p.evidence(id)
	e.Prepared = true
	w := e.Watermark
	switch {
	case e.Proven:
		p.add(x, id, ActionEndAndRescan, e, "prepared, and its proof row is there: a COMMIT is being executed")
	case e.Belongs != 0:
		p.add(x, id, ActionCommit, e, "the current decision lists it")
	case id.Epoch >= p.epoch:
		p.add(x, id, ActionUntouched, e, "its epoch is not below the claim: we are fenced")
		p.stopFor(StopFenced, id)
	case w != nil && w.Epoch == id.Epoch && id.Seq <= w.Seq:
		p.add(x, id, ActionUntouched, e, "the store knows it as committed, and it is prepared again: the server took commits back")
		p.stopFor(StopTakenBack, id)
		p.again = true
	default:
		p.add(x, id, ActionRollBack, e, "of an older epoch, and the current decision does not list it: the source replays its rows")
	}
}

// addListed is the lines of the table for a branch that the current decision lists and XA RECOVER does not show.
func (p *planner) addListed(id xa.ID) {
	e := p.evidence(id)
	if e.Proven {
		p.add(id.XID(), id, ActionAlreadyCommitted, e, "its proof row is there")
		return
	}
	p.add(id.XID(), id, ActionLost, e, "the current decision lists it, it is not prepared, and it has no proof row")
}

// checkProofs is the lines of the table that are about proof rows alone.
func (p *planner) checkProofs() {
	for _, proof := range p.proofs {
		id := proof.ID
		if _, prepared := p.seen[id.XID()]; prepared || id.Job != p.job || p.listedByKept(id) {
			continue
		}
		if l, known := p.current.Lane(id.Lane); !known || !l.Covers(id.Epoch, id.Seq) {
			p.stopFor(StopStoreBehind, id)
		}
	}
	for _, l := range p.current.Lanes {
		w := xa.ID{Job: p.job, Epoch: l.Epoch, Lane: l.Number, Seq: l.Seq}
		if l.Epoch != 0 && !p.proven[w] {
			p.stopFor(StopTakenBack, w)
			p.missing = true
		}
	}
}

func (p *planner) listedByKept(id xa.ID) bool {
	return slices.ContainsFunc(p.kept, func(d state.Decision) bool { return d.Lists(id) })
}

func (p *planner) evidence(id xa.ID) Evidence {
	e := Evidence{Decision: p.current.Number, Belongs: belongs(p.current, id), Proven: p.proven[id]}
	if l, known := p.current.Lane(id.Lane); known && l.Epoch != 0 {
		e.Watermark = &l
	}
	return e
}

// belongs is the decision that a branch belongs to, 0 where d does not list it.
func belongs(d state.Decision, id xa.ID) uint64 {
	if !d.Lists(id) {
		return 0
	}
	return rangeOf(d, id).Belongs
}

func (p *planner) stopFor(kind StopKind, id xa.ID) { p.stops[kind] = append(p.stops[kind], id) }

// stop is the one that is told: being fenced before all others, because then the other signs are somebody else's. Where
// proof rows are missing and others are unknown, the store is old: its watermarks' rows have been pruned since.
func (p *planner) stop() *Stop {
	order := []StopKind{StopFenced, StopStoreBehind, StopTakenBack}
	if p.again {
		order = []StopKind{StopFenced, StopTakenBack, StopStoreBehind}
	}
	for _, kind := range order {
		if ids := p.stops[kind]; len(ids) > 0 {
			return p.stopOf(kind, ids)
		}
	}
	return nil
}

// stopOf is the stop of a kind that a plan can find.
func (p *planner) stopOf(kind StopKind, ids []xa.ID) *Stop {
	ids = slices.Compact(slices.SortedFunc(slices.Values(ids), xa.ID.Compare))
	s := &Stop{Kind: kind, Job: p.job, Branches: ids}
	s.Reason, s.Ways = p.explain(s)
	return s
}

// ofKind are the actions of one kind, in their order.
func ofKind(actions []Action, kind ActionKind) []Action {
	return slices.DeleteFunc(slices.Clone(actions), func(a Action) bool { return a.Kind != kind })
}

func compareActions(a, b Action) int {
	return cmp.Or(
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Evidence.Belongs, b.Evidence.Belongs),
		a.ID.Compare(b.ID),
		cmp.Compare(a.XID.Format, b.XID.Format),
		cmp.Compare(a.XID.GTRID, b.XID.GTRID),
		cmp.Compare(a.XID.BQUAL, b.XID.BQUAL),
	)
}

func (k ActionKind) String() string {
	switch k {
	case ActionEndAndRescan:
		return "end and rescan"
	case ActionCommit:
		return "commit"
	case ActionAlreadyCommitted:
		return "already committed"
	case ActionLost:
		return "lost"
	case ActionRollBack:
		return "roll back"
	case ActionUntouched:
		return "untouched"
	case ActionInvalid:
	}
	return fmt.Sprintf("action(%d)", uint8(k))
}
