package recovery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// LostError means that branches that a decision lists are neither prepared nor committed, so that rows would be missing.
// Where it comes from Commit it names the branch and the cause; from Recover the report is complete. Nothing was
// committed or rolled back because of it.
type LostError struct {
	Job       string
	Server    string // address
	Epoch     uint64 // the claim that found it
	Decision  uint64 // the current decision; 0: not told
	Time      time.Time
	Lost      []LostBranch
	Committed []ledger.Proof   // branches of kept decisions that have their proof row
	Prepared  []xa.ID          // listed branches that are still prepared
	Tables    []TableReport    // tables that the branches at hand wrote
	Target    uint64           // newest kept decision that lists none of the lost branches; 0: none is kept
	From      []state.Position // its positions
	To        []state.Position // positions of the current decision
	After     []ledger.Proof   // committed branches of decisions after Target
	Ways      []Way
	Cause     error // what the server said, where it said something
}

// LostBranch is one lost branch. Range is the one that the decision lists it in, with the rows of the whole range.
type LostBranch struct {
	ID    xa.ID
	Range state.Range
}

// TableReport is what is known of one table in the decisions at hand.
type TableReport struct {
	Table     string
	Committed uint64 // rows in branches that have their proof row
	Lost      bool   // a lane with lost branches last wrote it
}

// Error is the whole report.
func (e *LostError) Error() string {
	var b strings.Builder
	ids := make([]xa.ID, len(e.Lost))
	for i, l := range e.Lost {
		ids[i] = l.ID
	}
	fmt.Fprintf(&b, "job %s on %s: %s lost: neither prepared nor committed, so rows would be missing",
		e.Job, e.Server, count(len(ids), "branch is", "branches are"))
	if e.Cause != nil {
		fmt.Fprintf(&b, " (%s)", e.Cause)
	}
	fmt.Fprintf(&b, "\n  lost: %s", listed(ids))
	if e.Decision == 0 {
		b.WriteString("\n  open the job anew for the whole report")
		return b.String()
	}
	fmt.Fprintf(&b, "\n  found by epoch %d at %s; current decision %d", e.Epoch, e.Time.UTC().Format(time.RFC3339), e.Decision)
	for _, r := range e.ranges() {
		fmt.Fprintf(&b, "\n  they belong to decision %d, as part of e%d.w%d.s%d to s%d with %s in all",
			r.Belongs, r.Epoch, r.Lane, r.From, r.To, count(int(r.Rows), "row", "rows"))
	}
	fmt.Fprintf(&b, "\n  committed: %s", orNone(proofIDs(e.Committed)))
	fmt.Fprintf(&b, "\n  still prepared: %s", orNone(e.Prepared))
	for _, t := range e.Tables {
		fmt.Fprintf(&b, "\n  table %s: %s committed", t.Table, count(int(t.Committed), "row", "rows"))
		if t.Lost {
			b.WriteString(", rows lost")
		}
	}
	writePositions(&b, fmt.Sprintf("from (decision %d)", e.Target), e.From)
	writePositions(&b, fmt.Sprintf("to (decision %d)", e.Decision), e.To)
	writeWays(&b, e.Ways)
	return b.String()
}

func (e *LostError) Unwrap() error { return e.Cause }

// ranges are the ranges of the lost branches, each once.
func (e *LostError) ranges() []state.Range {
	var ranges []state.Range
	for _, l := range e.Lost {
		if !slices.Contains(ranges, l.Range) {
			ranges = append(ranges, l.Range)
		}
	}
	return ranges
}

func writePositions(b *strings.Builder, what string, positions []state.Position) {
	for _, p := range positions {
		fmt.Fprintf(b, "\n  position %s: source %q: %q", what, p.Source, p.Data)
	}
}

func orNone(ids []xa.ID) string {
	if len(ids) == 0 {
		return "none"
	}
	return listed(ids)
}

func proofIDs(proofs []ledger.Proof) []xa.ID {
	ids := make([]xa.ID, len(proofs))
	for i, p := range proofs {
		ids[i] = p.ID
	}
	return ids
}

// reportLost is the whole report of a plan with lost branches. It is pure. decisions are not empty.
func reportLost(address string, owner Owner, decisions []state.Decision, actions []Action, proofs []ledger.Proof,
	now time.Time) *LostError {
	current := decisions[len(decisions)-1]
	e := &LostError{
		Job: owner.Job, Server: address, Epoch: owner.Epoch, Decision: current.Number, Time: now, To: current.Positions,
	}
	for _, a := range ofKind(actions, ActionLost) {
		e.Lost = append(e.Lost, LostBranch{ID: a.ID, Range: rangeOf(current, a.ID)})
	}
	for _, a := range ofKind(actions, ActionCommit) {
		e.Prepared = append(e.Prepared, a.ID)
	}
	target, found := e.target(decisions)
	if found {
		e.Target, e.From = target.Number, target.Positions
	}
	for _, p := range proofs {
		n := firstBelongs(decisions, p.ID)
		if n == 0 {
			continue
		}
		e.Committed = append(e.Committed, p)
		if n > e.Target {
			e.After = append(e.After, p)
		}
	}
	e.Tables = e.tables(current)
	e.Ways = e.ways(found)
	return e
}

// target is the newest kept decision, along the predecessors, that lists none of the lost branches.
func (e *LostError) target(decisions []state.Decision) (state.Decision, bool) {
	d := decisions[len(decisions)-1]
	for {
		if !slices.ContainsFunc(e.Lost, func(l LostBranch) bool { return d.Lists(l.ID) }) {
			return d, true
		}
		i := slices.IndexFunc(decisions, func(k state.Decision) bool { return k.Number == d.Predecessor })
		if i < 0 {
			return state.Decision{}, false
		}
		d = decisions[i]
	}
}

// firstBelongs is the decision that a branch belongs to by any of the kept ones, 0 for none.
func firstBelongs(decisions []state.Decision, id xa.ID) uint64 {
	for _, d := range decisions {
		if n := belongs(d, id); n != 0 {
			return n
		}
	}
	return 0
}

func (e *LostError) tables(current state.Decision) []TableReport {
	reports := map[string]*TableReport{}
	at := func(table string) *TableReport {
		if reports[table] == nil {
			reports[table] = &TableReport{Table: table}
		}
		return reports[table]
	}
	for _, p := range e.Committed {
		for _, t := range p.Tables {
			at(t.Table).Committed += t.Rows
		}
	}
	for _, l := range e.Lost {
		lane, _ := current.Lane(l.ID.Lane)
		for _, t := range lane.Tables {
			at(t).Lost = true
		}
	}
	tables := make([]TableReport, 0, len(reports))
	for _, r := range reports {
		tables = append(tables, *r)
	}
	slices.SortFunc(tables, func(a, b TableReport) int { return cmp.Compare(a.Table, b.Table) })
	return tables
}

func (e *LostError) ways(found bool) []Way {
	ways := []Way{
		wayLook(e.Job, ""),
		{What: "if the right server is another one (a failover, a restored copy): bring that one back, then open the job"},
	}
	if found {
		when := fmt.Sprintf("go back to decision %d (its positions are told above as from), with RollBack as the fate of each "+
			"prepared branch", e.Target)
		switch {
		case len(e.After) == 0:
			when += ": no branch after it is committed, so each row still counts once"
		case !slices.ContainsFunc(e.After, func(p ledger.Proof) bool { return !p.Replayable }):
			when += ": what is committed after it went to replayable tables only, so each row still counts once"
		default:
			when += fmt.Sprintf(": but the rows of %s after it are in the target already and would be written twice; take them "+
				"out first", listed(proofIDs(e.After)))
		}
		ways = append(ways, wayAdopt(e.Job, when))
	} else {
		ways = append(ways, wayReset(e.Job, "no decision without the lost branches is kept; if every table can be written again from the start"))
	}
	return append(ways, wayAdopt(e.Job, fmt.Sprintf("if the lost rows were written by hand: go on at decision %d (its positions "+
		"are told above as to), with Commit as the fate of each prepared branch", e.Decision)))
}

// rangeOf is the range of d that lists id.
func rangeOf(d state.Decision, id xa.ID) state.Range {
	i := slices.IndexFunc(d.Pending, func(r state.Range) bool {
		return r.Epoch == id.Epoch && r.Lane == id.Lane && r.From <= id.Seq && id.Seq <= r.To
	})
	if i < 0 {
		return state.Range{}
	}
	return d.Pending[i]
}
