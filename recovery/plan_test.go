package recovery

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// A small space of names, so that scans, decisions and proof rows meet often.
func drawID(t *rapid.T, label string) xa.ID {
	return xa.ID{
		Job:   rapid.SampledFrom([]string{storyJob, storyJob, storyJob, "other"}).Draw(t, label+" job"),
		Epoch: rapid.Uint64Range(1, 5).Draw(t, label+" epoch"),
		Lane:  rapid.Uint32Range(2, 3).Draw(t, label+" lane"),
		Seq:   rapid.Uint64Range(1, 5).Draw(t, label+" seq"),
	}
}

func drawXID(t *rapid.T, label string) xa.XID {
	x := drawID(t, label).XID()
	switch rapid.IntRange(0, 9).Draw(t, label+" kind") {
	case 0:
		x.Format = 1
	case 1:
		x.BQUAL = "e1.w2.s1"
	}
	return x
}

// drawDecision need not hold what Decision.Check demands: Plan must be total for anything.
func drawDecision(t *rapid.T, number uint64) state.Decision {
	d := state.Decision{Job: storyJob, Number: number, Predecessor: number - 1}
	for range rapid.IntRange(0, 3).Draw(t, "ranges") {
		id := drawID(t, "range")
		d.Pending = append(d.Pending, state.Range{
			Server: "s", Epoch: id.Epoch, Lane: id.Lane, From: id.Seq, To: id.Seq + rapid.Uint64Range(0, 2).Draw(t, "length"),
			Belongs: number,
		})
	}
	for lane := uint32(2); lane <= 3; lane++ {
		if rapid.Bool().Draw(t, "watermark") {
			id := drawID(t, "watermark")
			d.Lanes = append(d.Lanes, state.Lane{Number: lane, Epoch: id.Epoch, Seq: id.Seq})
		}
	}
	return d
}

type planInput struct {
	decisions []state.Decision
	epoch     uint64
	scan      []xa.XID
	proofs    []ledger.Proof
}

func drawPlanInput(t *rapid.T) planInput {
	in := planInput{epoch: rapid.Uint64Range(1, 6).Draw(t, "epoch")}
	for n := range rapid.Uint64Range(0, 3).Draw(t, "decisions") {
		in.decisions = append(in.decisions, drawDecision(t, n+1))
	}
	for range rapid.IntRange(0, 8).Draw(t, "prepared") {
		in.scan = append(in.scan, drawXID(t, "prepared"))
	}
	for range rapid.IntRange(0, 6).Draw(t, "proofs") {
		in.proofs = append(in.proofs, ledger.Proof{ID: drawID(t, "proof")})
	}
	return in
}

// The plan is total, and it keeps rule 1: each XID is in exactly one action; COMMIT only for what the current decision
// lists; ROLLBACK only for what it does not, of an older epoch, that is ours; what is foreign is untouched; what has a
// proof row is neither committed nor rolled back. A stop is there exactly where a naive reading of the table has one.
func TestPlanIsTotalAndKeepsRule1(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawPlanInput(t)
		actions, stop := Plan(storyJob, in.decisions, in.epoch, in.scan, in.proofs)
		var current state.Decision
		if n := len(in.decisions); n > 0 {
			current = in.decisions[n-1]
		}
		want := map[xa.XID]bool{}
		for _, x := range in.scan {
			want[x] = true
		}
		for b := range current.Branches() {
			want[b.ID.XID()] = true
		}
		require.Len(t, actions, len(want))
		for _, a := range actions {
			require.True(t, want[a.XID], "%s is planned once and is known", a.XID)
			delete(want, a.XID)
			requireRule1(t, in, current, a)
		}
		require.Equal(t, naiveStop(in, current), stop != nil)
	})
}

func requireRule1(t *rapid.T, in planInput, current state.Decision, a Action) {
	id, ours := a.XID.ID()
	ours = ours && id.Job == storyJob
	prepared := slices.Contains(in.scan, a.XID)
	proven := slices.ContainsFunc(in.proofs, func(p ledger.Proof) bool { return ours && p.ID == id })
	require.NotEmpty(t, a.Reason)
	require.Equal(t, prepared, a.Evidence.Prepared)
	switch a.Kind {
	case ActionCommit:
		require.True(t, ours && prepared && current.Lists(id) && !proven)
	case ActionRollBack:
		require.True(t, ours && prepared && !current.Lists(id) && !proven && id.Epoch < in.epoch)
	case ActionAlreadyCommitted:
		require.True(t, ours && !prepared && current.Lists(id) && proven)
	case ActionLost:
		require.True(t, ours && !prepared && current.Lists(id) && !proven)
	case ActionEndAndRescan:
		require.True(t, ours && prepared && proven)
	case ActionUntouched:
		require.True(t, prepared && (!ours || !current.Lists(id) && !proven))
		if ours {
			require.True(t, naiveStop(in, current), "ours is untouched only under a stop")
		}
	default:
		require.Fail(t, "unknown action", a.Kind)
	}
}

// naiveStop reads the stop lines of the table again, each by itself.
func naiveStop(in planInput, current state.Decision) bool {
	proven := map[xa.ID]bool{}
	for _, p := range in.proofs {
		proven[p.ID] = true
	}
	prepared := map[xa.ID]bool{}
	for _, x := range in.scan {
		id, ours := x.ID()
		if !ours || id.Job != storyJob {
			continue
		}
		prepared[id] = true
		if proven[id] || current.Lists(id) {
			continue
		}
		w, known := current.Lane(id.Lane)
		if id.Epoch >= in.epoch || known && w.Epoch == id.Epoch && id.Seq <= w.Seq {
			return true
		}
	}
	for id := range proven {
		kept := slices.ContainsFunc(in.decisions, func(d state.Decision) bool { return d.Lists(id) })
		w, known := current.Lane(id.Lane)
		above := !known || w.Epoch < id.Epoch || w.Epoch == id.Epoch && w.Seq < id.Seq
		if id.Job == storyJob && !prepared[id] && !kept && above {
			return true
		}
	}
	return slices.ContainsFunc(current.Lanes, func(l state.Lane) bool {
		return l.Epoch != 0 && !proven[xa.ID{Job: storyJob, Epoch: l.Epoch, Lane: l.Number, Seq: l.Seq}]
	})
}

// Within a decision a lane's highest seq is committed last, and no branch before those of earlier decisions.
func TestPlanOrdersCommits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawPlanInput(t)
		actions, _ := Plan(storyJob, in.decisions, in.epoch, in.scan, in.proofs)
		var before *Action
		for i, a := range actions {
			if a.Kind != ActionCommit {
				continue
			}
			if before != nil {
				require.GreaterOrEqual(t, a.Evidence.Belongs, before.Evidence.Belongs)
				if a.Evidence.Belongs == before.Evidence.Belongs && a.ID.Lane == before.ID.Lane && a.ID.Epoch == before.ID.Epoch {
					require.Greater(t, a.ID.Seq, before.ID.Seq)
				}
			}
			before = &actions[i]
		}
	})
}

// The plan depends on no order of its inputs.
func TestPlanIsTheSameForAnyOrderOfTheScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawPlanInput(t)
		actions, stop := Plan(storyJob, in.decisions, in.epoch, in.scan, in.proofs)
		scan := rapid.Permutation(in.scan).Draw(t, "scan again")
		proofs := rapid.Permutation(in.proofs).Draw(t, "proofs again")
		again, stopAgain := Plan(storyJob, in.decisions, in.epoch, scan, proofs)
		require.Equal(t, actions, again)
		require.Equal(t, stop, stopAgain)
	})
}

// What Prunable gives up is never what a plan needs: with and without the pruned rows the plan is the same, for the
// current decision of any kept history.
func TestPrunedRowsAreNeverMissed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawPlanInput(t)
		actions, stop := Plan(storyJob, in.decisions, in.epoch, in.scan, in.proofs)
		if stop != nil {
			return // nothing is pruned after a stop
		}
		spans := Prunable(in.decisions, proofIDs(slices.DeleteFunc(slices.Clone(in.proofs), func(p ledger.Proof) bool {
			return p.ID.Job != storyJob
		})))
		left := slices.DeleteFunc(slices.Clone(in.proofs), func(p ledger.Proof) bool {
			return p.ID.Job == storyJob && slices.ContainsFunc(spans, func(s ledger.Span) bool {
				return s.Epoch == p.ID.Epoch && s.Lane == p.ID.Lane && s.From <= p.ID.Seq && p.ID.Seq <= s.To
			})
		})
		again, stopAgain := Plan(storyJob, in.decisions, in.epoch, in.scan, left)
		require.Nil(t, stopAgain)
		for i := range actions {
			if actions[i].Kind == ActionEndAndRescan {
				return // a row is being committed: recovery plans again before anything is pruned
			}
		}
		require.Equal(t, actions, again)
	})
}
