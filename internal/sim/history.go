package sim

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
	"github.com/xasink/xasink/xa/xasim"
)

// Breach is what was not kept.
type Breach string

// The breaches that are told apart in sums; rules are named by their number in the design's section 2.
const (
	Lost      Breach = "lost"
	Doubled   Breach = "doubled"
	Reordered Breach = "reordered"
	Stuck     Breach = "stuck"      // the job does not get through although nothing disturbs it any more
	FalseStop Breach = "false stop" // the job stopped, or believed itself fenced, without reason
	Strange   Breach = "foreign"    // a stranger's branch was touched
	Limbo     Breach = "limbo"      // a branch that an opening left in no list went unnoticed (section 8)
	Unswept   Breach = "unswept"    // an orphan that a Write waited for was not rolled back at once (section 7)
)

func rule(n int) Breach { return Breach("rule " + strconv.Itoa(n)) }

// Violation is one thing that was not kept.
type Violation struct {
	Breach Breach
	Text   string
}

func (v Violation) String() string { return string(v.Breach) + ": " + v.Text }

// proofTable holds the proof rows.
const proofTable = ledger.DefaultDatabase + ".branches"

// fate of a branch, as the server's events tell it.
type fate uint8

const (
	fateOpen fate = iota + 1
	fatePrepared
	fateCommitted
	fateRolledBack
	fateGone // the server does not know it any more, without having been told
)

// history follows what server and store did, in one order, and checks each step against what was accepted by then.
type history struct {
	job    string
	server *xasim.Server
	seen   int // events looked at

	claimed  uint64         // the newest epoch whose claim returned
	claims   []uint64       // all of them
	current  state.Decision // the newest accepted decision; Number 0: none
	accepted []state.Decision
	branches map[xa.ID]fate
	told     int // the newest position that the source was told is committed
	boots    int
	operator bool    // what happens is an operator's doing
	limbo    []xa.ID // branches that are in no list and keep their locks, until the server restarts
	most     int     // most branches that may be prepared and not committed; 0: not checked
	gone     bool    // a listed branch is gone from the server, or another one is committed: the job has to stop

	violations []Violation
	trace      []string // nil: not kept
	keep       bool
}

func newHistory(job string, server *xasim.Server, keep bool) *history {
	return &history{job: job, server: server, branches: map[xa.ID]fate{}, keep: keep}
}

func (h *history) breach(b Breach, format string, args ...any) {
	v := Violation{b, fmt.Sprintf(format, args...)}
	h.note("VIOLATION %s", v)
	h.violations = append(h.violations, v)
}

func (h *history) note(format string, args ...any) {
	if h.keep {
		h.trace = append(h.trace, fmt.Sprintf(format, args...))
	}
}

// sync looks at what the server did since the last call, under the decisions accepted so far.
func (h *history) sync() {
	events := h.server.EventsSince(h.seen)
	h.seen += len(events)
	for _, e := range events {
		if h.keep {
			h.note("%s %s", e.At.Format("15:04:05.000"), e)
		}
		h.event(e)
	}
}

func (h *history) event(e xasim.Event) {
	switch e.Kind {
	case xasim.Booted:
		h.boots++
		for _, id := range h.limbo {
			h.branches[id] = fatePrepared
		}
		h.limbo = nil
		return
	case xasim.Started, xasim.Prepared, xasim.Committed, xasim.RolledBack, xasim.Lost, xasim.Limbo:
	default:
		return
	}
	if e.XID == (xasim.XID{}) {
		return
	}
	id, ok := e.XID.ID()
	if !ok || id.Job != h.job {
		if e.Kind == xasim.Committed || e.Kind == xasim.RolledBack {
			h.breach(Strange, "%s", e)
		}
		return
	}
	before := h.branches[id]
	switch e.Kind {
	case xasim.Started:
		if before != 0 {
			h.breach(rule(7), "branch %s is started a second time", id)
		}
		h.branches[id] = fateOpen
	case xasim.Prepared:
		h.branches[id] = fatePrepared
		h.prepared(id, e)
	case xasim.Committed:
		h.branches[id] = fateCommitted
		if h.operator {
			h.gone = h.gone || !h.current.Lists(id)
			return
		}
		h.committed(id, before)
	case xasim.RolledBack:
		if h.operator {
			h.branches[id] = fateGone
			h.gone = h.gone || h.current.Lists(id)
			return
		}
		h.branches[id] = fateRolledBack
		h.rolledBack(id, before)
	case xasim.Lost:
		h.branches[id] = fateGone
		h.gone = h.gone || h.current.Lists(id)
	case xasim.Limbo:
		h.branches[id] = fateGone
		h.limbo = append(h.limbo, id)
	default: // event passed nothing else on
	}
}

// prepared checks rules 2, 6 and 9.
func (h *history) prepared(id xa.ID, e xasim.Event) {
	if e.Rows == 0 {
		h.breach(rule(6), "branch %s is prepared without a row", id)
	}
	if !slices.Contains(e.Tables, proofTable) {
		h.breach(rule(2), "branch %s is prepared without its proof row", id)
	}
	n := 0
	for other, f := range h.branches {
		if f == fatePrepared && other.Epoch == id.Epoch {
			n++
		}
	}
	if h.most > 0 && n > h.most && id.Epoch == h.claimed {
		h.breach(rule(9), "branch %s is the %d-th that is prepared and not committed, the cap is %d", id, n, h.most)
	}
}

// preparedWith is told of a branch that the sink has prepared. A row in it need not change anything: a DELETE may find none.
func (h *history) preparedWith(id xa.ID, rows int64) {
	if rows <= 0 {
		h.breach(rule(6), "branch %s is prepared, with %d rows in it", id, rows)
	}
}

// committed checks rules 1 and 4, and the order of section 5.
func (h *history) committed(id xa.ID, before fate) {
	if before != fatePrepared {
		h.breach(rule(1), "branch %s is committed and was not prepared", id)
	}
	if !h.current.Lists(id) {
		h.breach(rule(1), "branch %s is committed, decision %d does not list it", id, h.current.Number)
		return
	}
	belongs := uint64(0)
	for _, r := range h.current.Pending {
		if r.Epoch == id.Epoch && r.Lane == id.Lane && r.From <= id.Seq && id.Seq <= r.To {
			belongs = r.Belongs
		}
	}
	for b := range h.current.Branches() {
		switch {
		case h.branches[b.ID] == fateCommitted:
		case b.Belongs < belongs:
			h.breach("order", "branch %s is committed before %s, which belongs to an earlier decision", id, b.ID)
		case b.ID.Lane == id.Lane && b.Belongs == belongs && b.ID.Compare(id) < 0 && h.highest(id, belongs):
			h.breach("order", "branch %s is its lane's highest and is committed before %s", id, b.ID)
		}
	}
}

// highest tells whether id is the highest of its lane in the current decision among those that belong to belongs.
func (h *history) highest(id xa.ID, belongs uint64) bool {
	for _, r := range h.current.Pending {
		if r.Lane == id.Lane && r.Belongs == belongs && (r.Epoch > id.Epoch || r.Epoch == id.Epoch && r.To > id.Seq) {
			return false
		}
	}
	return true
}

// rolledBack checks rules 1 and 5.
func (h *history) rolledBack(id xa.ID, before fate) {
	if before != fatePrepared {
		return
	}
	if h.current.Lists(id) {
		h.breach(rule(1), "branch %s is rolled back, decision %d lists it", id, h.current.Number)
	}
	if id.Epoch >= h.claimed {
		h.breach(rule(5), "branch %s is prepared and rolled back under the claim of epoch %d", id, h.claimed)
	}
}

// claim is told of a claim that the store gave. A process that was held may be told of its own after a newer one was.
func (h *history) claim(stored state.Info) {
	epoch := stored.Epoch
	h.sync()
	h.note("claim of epoch %d", epoch)
	last := uint64(0)
	if stored.Last != nil {
		last = stored.Last.Number
	}
	if last != h.current.Number {
		h.breach(rule(8), "the store gives epoch %d decision %d, accepted was %d", epoch, last, h.current.Number)
	}
	if slices.Contains(h.claims, epoch) {
		h.breach(rule(8), "epoch %d is claimed a second time", epoch)
	}
	h.claims = append(h.claims, epoch)
	h.claimed = max(h.claimed, epoch)
}

// accept is told of a decision that the store accepted, repeats too.
func (h *history) accept(d state.Decision) {
	if slices.ContainsFunc(h.accepted, func(a state.Decision) bool { return a.Number == d.Number && a.Epoch == d.Epoch }) {
		return
	}
	h.sync()
	h.note("decision %d of epoch %d at position %s lists %v, whole %d", d.Number, d.Epoch, position(d), d.Pending, d.Whole)
	if d.Epoch != h.claimed {
		h.breach(rule(8), "decision %d of epoch %d is accepted after the claim of epoch %d", d.Number, d.Epoch, h.claimed)
	}
	if h.current.Number > 0 && number(position(d)) < number(position(h.current)) {
		h.breach(rule(10), "decision %d is at position %s, and decision %d before it at %s", d.Number, position(d),
			h.current.Number, position(h.current))
	}
	for _, r := range d.Pending {
		if r.Rows < r.To-r.From+1 {
			h.breach(rule(6), "decision %d lists %d branches with %d rows", d.Number, r.To-r.From+1, r.Rows)
		}
	}
	for b := range h.current.Branches() {
		if h.branches[b.ID] != fateCommitted && !d.Lists(b.ID) {
			h.breach(rule(1), "decision %d no longer lists %s, which decision %d lists and which is not committed", d.Number, b.ID, h.current.Number)
		}
	}
	for b := range d.Branches() {
		h.gone = h.gone || h.branches[b.ID] == fateGone
	}
	h.current = d
	h.accepted = append(h.accepted, d)
}

// tell checks rule 14: the source is told that what is before a position may be forgotten. A process that was held may
// tell what is true and old.
func (h *history) tell(at []byte, held bool) {
	h.sync()
	n := number(at)
	h.note("told that %d is committed", n)
	if n < h.told && !held {
		h.breach(rule(14), "position %d is told to be committed after %d", n, h.told)
	}
	h.told = max(h.told, n)
	reached := false
	for _, d := range h.accepted {
		reached = reached || number(position(d)) >= n
		for b := range d.Branches() {
			if number(position(d)) <= n && h.branches[b.ID] != fateCommitted {
				h.breach(rule(14), "position %d is told to be committed, and branch %s of decision %d is not", n, b.ID, d.Number)
			}
		}
	}
	if !reached {
		h.breach(rule(14), "position %d is told to be committed, no accepted decision is that far", n)
	}
}

// orphans are our branches of owners before the present one that are prepared, and not to be committed.
func (h *history) orphans() []xa.ID {
	h.sync()
	return slices.DeleteFunc(h.left(), func(id xa.ID) bool { return id.Epoch >= h.claimed || h.current.Lists(id) })
}

// mayStop tells whether the job has a reason to stop.
func (h *history) mayStop() bool { return h.gone || len(h.limbo) > 0 }

// listed are our branches that are prepared and that the current decision lists.
func (h *history) listed() []xa.ID {
	h.sync()
	return slices.DeleteFunc(h.left(), func(id xa.ID) bool { return !h.current.Lists(id) })
}

// left are our branches that are prepared.
func (h *history) left() []xa.ID {
	var left []xa.ID
	for id, f := range h.branches {
		if f == fatePrepared {
			left = append(left, id)
		}
	}
	slices.SortFunc(left, xa.ID.Compare)
	return left
}

func position(d state.Decision) []byte {
	if len(d.Positions) == 0 {
		return nil
	}
	return d.Positions[0].Data
}

// number is a position as the source counts.
func number(p []byte) int {
	n, err := strconv.Atoi(string(bytes.TrimSpace(p)))
	if err != nil {
		return -1
	}
	return n
}
