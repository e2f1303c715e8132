package recovery

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// TestStories runs the files of testdata/stories/recovery. Each file is one world that its commands build up; the
// expected output is the whole of what the pure functions answer. `go test -run TestStories -rewrite` writes it anew:
// read the difference.
//
//	reset                                   a new world
//	decision number=5 epoch=2 [pred=4] [whole=4]   with lines
//	    pending e2.w2.s1-3 belongs=5 rows=10 [server=s]
//	    lane w2 [e2.s7] [tables=a,b]
//	    position SOURCE DATA
//	prepared [add]                          with lines e1.w2.s1, or other/e1.w2.s1, or xid FORMAT GTRID BQUAL
//	proofs [add]                            with lines e1.w2.s1 [TABLE:KIND:ROWS…] [replayable]
//	plan epoch=3                            what Plan answers; ways=true shows the ways on of a stop
//	lost epoch=3                            the report of the plan's lost branches
//	row store=A epoch=4 [lanes=8 marks=4]   the job row; row none
//	marks                                   with lines w2.m0 SESSION
//	check store=A epoch=4 [ways=true]       what View.Check answers to what the store knows, and the floor
//	sweep epoch=3                           what a sweep may do, with lines lane w2 e2.s7 for proven watermarks
//	prune                                   what Prunable answers for the proof rows
func TestStories(t *testing.T) {
	datadriven.Walk(t, "../testdata/stories/recovery", func(t *testing.T, path string) {
		w := &world{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return w.run(t, d) })
	})
}

const storyJob = "orders"

type world struct {
	decisions []state.Decision
	prepared  []xa.XID
	proofs    []ledger.Proof
	row       *ledger.Job
	marks     []xa.MarkHolder
}

func (w *world) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "reset":
		*w = world{}
		return ""
	case "decision":
		return w.decide(t, d)
	case "prepared":
		if !d.HasArg("add") {
			w.prepared = nil
		}
		for _, line := range lines(d.Input) {
			w.prepared = append(w.prepared, parseXID(t, line))
		}
		return fmt.Sprintf("%d prepared", len(w.prepared))
	case "proofs":
		if !d.HasArg("add") {
			w.proofs = nil
		}
		for _, line := range lines(d.Input) {
			w.proofs = append(w.proofs, parseProof(t, line))
		}
		return fmt.Sprintf("%d proof rows", len(w.proofs))
	case "plan":
		return w.plan(t, d)
	case "lost":
		return w.lost(t, d)
	case "row":
		return w.setRow(t, d)
	case "marks":
		w.marks = nil
		for _, line := range lines(d.Input) {
			var h xa.MarkHolder
			h.Mark.Job = storyJob
			_, err := fmt.Sscanf(line, "w%d.m%d %d", &h.Mark.Lane, &h.Mark.N, &h.Session)
			require.NoError(t, err, line)
			w.marks = append(w.marks, h)
		}
		return fmt.Sprintf("%d marks held", len(w.marks))
	case "check":
		return w.check(t, d)
	case "sweep":
		return w.sweep(t, d)
	case "prune":
		return w.prune()
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return ""
}

func (w *world) decide(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	n := argument(t, d, "number")
	next := state.Decision{
		Job: storyJob, Store: storeID("A"), Epoch: argument(t, d, "epoch"), Number: n, Predecessor: n - 1, Run: storeID("R"),
		Time: time.Unix(0, 0).UTC(), Server: state.Server{Name: "s", Started: time.Unix(0, 0).UTC()},
		Bounds: state.Bounds{Lanes: 100, Marks: 8},
	}
	if d.HasArg("pred") {
		next.Predecessor = argument(t, d, "pred")
	}
	if d.HasArg("whole") {
		next.Whole = argument(t, d, "whole")
	}
	for _, line := range lines(d.Input) {
		words := strings.Fields(line)
		switch words[0] {
		case "pending":
			next.Pending = append(next.Pending, parseRange(t, words[1:]))
		case "lane":
			next.Lanes = append(next.Lanes, parseLane(t, words[1:]))
		case "position":
			next.Positions = append(next.Positions, state.Position{Source: words[1], Data: []byte(words[2])})
		default:
			d.Fatalf(t, "unknown line %q", line)
		}
	}
	next.Pending = state.MergeRanges(next.Pending)
	require.NoError(t, next.Check(), "a story must tell a decision that a store could hold")
	w.decisions = append(w.decisions, next)
	kept := make([]string, len(w.decisions))
	for i, k := range w.decisions {
		kept[i] = strconv.FormatUint(k.Number, 10)
	}
	return "kept: " + strings.Join(kept, " ")
}

func (w *world) plan(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	actions, stop := Plan(storyJob, w.decisions, argument(t, d, "epoch"), w.prepared, w.proofs)
	var b strings.Builder
	for _, a := range actions {
		name := a.XID.String()
		if a.ID != (xa.ID{}) {
			name = a.ID.String()
		}
		fmt.Fprintf(&b, "%s: %s [%s] %s\n", a.Kind, name, a.Evidence, a.Reason)
	}
	b.WriteString(stopText(stop, d.HasArg("ways")))
	if b.Len() == 0 {
		return "nothing to do"
	}
	return b.String()
}

func (w *world) lost(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	owner := Owner{Job: storyJob, Store: storeID("A"), Run: storeID("R"), Epoch: argument(t, d, "epoch")}
	actions, stop := Plan(storyJob, w.decisions, owner.Epoch, w.prepared, w.proofs)
	require.Nil(t, stop)
	return reportLost("db:3306", owner, w.decisions, actions, w.proofs, time.Unix(1796000000, 0)).Error()
}

func (w *world) setRow(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	if d.HasArg("none") {
		w.row = nil
		return "no job row"
	}
	w.row = &ledger.Job{
		Name: storyJob, Store: storeID(text(t, d, "store")), Run: storeID("R"), Epoch: argument(t, d, "epoch"), Lanes: 8, Marks: 4,
	}
	return fmt.Sprintf("job row of epoch %d", w.row.Epoch)
}

func (w *world) check(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	v := View{Name: storyJob, Address: "db:3306", Ledger: "xasink", Job: w.row, Prepared: w.prepared, Marks: w.marks}
	stop := v.Check(storeID(text(t, d, "store")), state.Info{Epoch: argument(t, d, "epoch")})
	if stop == nil {
		return fmt.Sprintf("may be claimed, above epoch %d", v.Floor())
	}
	return stopText(stop, d.HasArg("ways"))
}

func (w *world) sweep(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var proven []state.Lane
	for _, line := range lines(d.Input) {
		proven = append(proven, parseLane(t, strings.Fields(line)[1:]))
	}
	current := w.decisions[len(w.decisions)-1]
	owner := Owner{Job: storyJob, Epoch: argument(t, d, "epoch")}
	orphans, stop := sweepable(owner, current, state.MergeLanes(current.Lanes, proven), ours(w.prepared, storyJob))
	if stop != nil {
		return stopText(stop, d.HasArg("ways"))
	}
	return "roll back: " + orNone(orphans)
}

func (w *world) prune() string {
	var b strings.Builder
	for _, s := range Prunable(w.decisions, proofIDs(w.proofs)) {
		fmt.Fprintf(&b, "e%d.w%d.s%d-%d\n", s.Epoch, s.Lane, s.From, s.To)
	}
	if b.Len() == 0 {
		return "nothing"
	}
	return b.String()
}

func stopText(s *Stop, ways bool) string {
	switch {
	case s == nil:
		return ""
	case ways:
		return "STOP " + s.Error()
	}
	return fmt.Sprintf("STOP %s: %s: %s", s.Kind, orNone(s.Branches), s.Reason)
}

func lines(input string) []string {
	var kept []string
	for line := range strings.Lines(input) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			kept = append(kept, line)
		}
	}
	return kept
}

func argument(t *testing.T, d *datadriven.TestData, name string) uint64 {
	t.Helper()
	var n uint64
	d.ScanArgs(t, name, &n)
	return n
}

func text(t *testing.T, d *datadriven.TestData, name string) string {
	t.Helper()
	var s string
	d.ScanArgs(t, name, &s)
	return s
}

// storeID is the id of a store, or of a run, that a story names by a letter.
func storeID(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)) }

func parseXID(t *testing.T, line string) xa.XID {
	t.Helper()
	words := strings.Fields(line)
	if words[0] == "xid" {
		format, err := strconv.ParseInt(words[1], 10, 64)
		require.NoError(t, err)
		return xa.XID{Format: format, GTRID: words[2], BQUAL: words[3]}
	}
	if !strings.Contains(line, "/") {
		line = storyJob + "/" + line
	}
	id, err := xa.Parse(line)
	require.NoError(t, err)
	return id.XID()
}

func parseProof(t *testing.T, line string) ledger.Proof {
	t.Helper()
	words := strings.Fields(line)
	id, ok := parseXID(t, words[0]).ID()
	require.True(t, ok)
	p := ledger.Proof{ID: id}
	for _, word := range words[1:] {
		if word == "replayable" {
			p.Replayable = true
			continue
		}
		parts := strings.Split(word, ":")
		rows, err := strconv.ParseUint(parts[2], 10, 64)
		require.NoError(t, err)
		p.Tables = append(p.Tables, ledger.TableUse{Table: parts[0], Kind: parts[1], Rows: rows})
	}
	return p
}

// parseRange reads e2.w2.s1-3 belongs=5 rows=10; one seq may stand alone.
func parseRange(t *testing.T, words []string) state.Range {
	t.Helper()
	r := state.Range{Server: "s"}
	first, last, many := strings.Cut(words[0], "-")
	id, ok := parseXID(t, first).ID()
	require.True(t, ok)
	r.Epoch, r.Lane, r.From, r.To = id.Epoch, id.Lane, id.Seq, id.Seq
	if many {
		to, err := strconv.ParseUint(last, 10, 64)
		require.NoError(t, err)
		r.To = to
	}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		if name == "server" {
			r.Server = value
			continue
		}
		n, err := strconv.ParseUint(value, 10, 64)
		require.NoError(t, err)
		switch name {
		case "belongs":
			r.Belongs = n
		case "rows":
			r.Rows = n
		default:
			require.Fail(t, "unknown word", word)
		}
	}
	return r
}

// parseLane reads w2 [e2.s7] [tables=a,b].
func parseLane(t *testing.T, words []string) state.Lane {
	t.Helper()
	var l state.Lane
	_, err := fmt.Sscanf(words[0], "w%d", &l.Number)
	require.NoError(t, err)
	for _, word := range words[1:] {
		if tables, ok := strings.CutPrefix(word, "tables="); ok {
			l.Tables = strings.Split(tables, ",")
			continue
		}
		_, err := fmt.Sscanf(word, "e%d.s%d", &l.Epoch, &l.Seq)
		require.NoError(t, err, word)
	}
	return l
}
