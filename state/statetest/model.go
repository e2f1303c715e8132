package statetest

import (
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/state"
)

// modelJob is what a store must know of one job: the smallest thing that keeps the rules.
type modelJob struct {
	epoch uint64
	run   uuid.UUID
	all   []state.Decision // every accepted one
}

func (m *modelJob) last() *state.Decision {
	if len(m.all) == 0 {
		return nil
	}
	return &m.all[len(m.all)-1]
}

// holder is a claim of any age, and the write of it that is in doubt.
type holder struct {
	claim state.Claim
	doubt *state.Decision
}

// model makes random calls, in random order, on claims of any age, with faults, and compares every answer with the
// model's. On failure rapid prints the seed and the shortest run that it finds.
func model(t *testing.T, b *bench) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{t: t, bench: newBench(t, b.open)}
		defer func() { require.NoError(rt, m.Store.Close()) }()
		actions := map[string]func(*rapid.T){
			"":                m.compare,
			"claim":           m.claimAny,
			"claim after":     m.claimAfter,
			"commit next":     m.commitNext,
			"commit again":    m.commitAgain,
			"commit old copy": m.commitOld,
			"commit number":   m.commitNumber,
		}
		if m.Faults != nil {
			actions["commit with fault"] = m.commitWithFault
		}
		if m.Reopen != nil {
			actions["open again"] = m.openAgain
		}
		rt.Repeat(actions)
	})
}

type machine struct {
	*bench
	t       *testing.T
	model   modelJob
	holders []*holder
	sent    []state.Decision // every decision that was ever given to a Commit
}

func (m *machine) compare(rt *rapid.T) {
	info, err := m.Store.Peek(m.t.Context(), m.Job)
	require.NoError(rt, err)
	require.Equal(rt, state.Info{Epoch: m.model.epoch, Run: m.model.run, Last: m.model.last()}, info)
	if len(m.holders) == 0 {
		return
	}
	if h := m.holders[len(m.holders)-1]; h.doubt == nil && h.claim.Epoch() == m.model.epoch {
		require.Equal(rt, m.model.last(), h.claim.Last())
		m.compareHistory(rt, h.claim.History())
	}
}

// compareHistory: all from the newest whole one on is there, as it was accepted, and all else is a predecessor.
func (m *machine) compareHistory(rt *rapid.T, history []state.Decision) {
	last := m.model.last()
	if last == nil || !m.keepsHistory() {
		return
	}
	kept := map[uint64]bool{}
	needed := map[uint64]bool{}
	for _, d := range history {
		require.Equal(rt, m.model.all[d.Number-1], d)
		kept[d.Number] = true
		needed[d.Predecessor] = true
	}
	require.True(rt, kept[last.Number])
	whole := uint64(0) // the highest that was ever recorded, for what is gone stays gone
	for _, d := range m.model.all {
		whole = max(whole, d.Whole)
		if d.Whole == 0 && len(d.Pending) == 0 {
			whole = d.Number
		}
	}
	for n := max(whole, 1); n <= last.Number; n++ {
		require.True(rt, kept[n], "decision %d, the newest whole one is %d", n, whole)
	}
	for n := range kept {
		require.True(rt, n >= last.Whole || needed[n], "decision %d is kept for nothing", n)
	}
}

func (m *machine) claimed(rt *rapid.T, r state.ClaimRequest) {
	c, err := m.Store.Claim(m.t.Context(), m.Job, r)
	require.NoError(rt, err)
	require.Greater(rt, c.Epoch(), m.model.epoch)
	require.Greater(rt, c.Epoch(), r.Floor)
	m.model.epoch, m.model.run = c.Epoch(), r.Run
	m.holders = append(m.holders, &holder{claim: c})
}

func (m *machine) claimAny(rt *rapid.T) {
	m.claimed(rt, state.ClaimRequest{
		Run:   newRun(m.t),
		Floor: rapid.Uint64Range(0, m.model.epoch+3).Draw(rt, "floor"),
	})
}

func (m *machine) claimAfter(rt *rapid.T) {
	after := rapid.Uint64Range(0, m.model.epoch+1).Draw(rt, "after")
	r := state.ClaimRequest{Run: newRun(m.t), After: &after}
	if after == m.model.epoch {
		m.claimed(rt, r)
		return
	}
	_, err := m.Store.Claim(m.t.Context(), m.Job, r)
	require.ErrorIs(rt, err, state.ErrFenced)
}

// anyHolder is mostly the newest.
func (m *machine) anyHolder(rt *rapid.T) *holder {
	if len(m.holders) == 0 {
		rt.Skip("nobody has claimed")
	}
	back := rapid.IntRange(0, min(3, len(m.holders)-1)).Draw(rt, "claims back")
	return m.holders[len(m.holders)-1-back]
}

func (m *machine) drawNext(rt *rapid.T, h *holder) state.Decision {
	d := m.next(m.t, h.claim)
	if last := h.claim.Last(); last != nil {
		d.Whole = rapid.Uint64Range(0, last.Number).Draw(rt, "whole")
		d.Predecessor = rapid.Uint64Range(0, last.Number).Draw(rt, "predecessor")
	}
	if rapid.Bool().Draw(rt, "nothing pending") {
		d.Pending = nil
	}
	return d
}

// try commits d and compares the answer. It tells the model's.
func (m *machine) try(rt *rapid.T, h *holder, d state.Decision) {
	m.sent = append(m.sent, d)
	err := h.claim.Commit(m.t.Context(), d)
	want := m.answer(h, d)
	if want == nil {
		require.NoError(rt, err)
		h.doubt = nil
		m.accept(d)
		return
	}
	require.ErrorIs(rt, err, want)
	require.NotErrorIs(rt, err, state.ErrInDoubt)
}

func (m *machine) answer(h *holder, d state.Decision) error {
	last := m.model.last()
	switch {
	case h.claim.Epoch() != m.model.epoch:
		return state.ErrFenced
	case d.Epoch != h.claim.Epoch():
		return state.ErrRefused
	case last != nil && equal(d, *last):
		return nil
	case d.Number != uint64(len(m.model.all))+1:
		return state.ErrRefused
	}
	return nil
}

func (m *machine) accept(d state.Decision) {
	if last := m.model.last(); last == nil || last.Number < d.Number {
		m.model.all = append(m.model.all, d)
	}
}

func equal(a, b state.Decision) bool {
	first, errA := state.Encode(a)
	second, errB := state.Encode(b)
	return errors.Join(errA, errB) == nil && string(first) == string(second)
}

func (m *machine) commitNext(rt *rapid.T) {
	h := m.anyHolder(rt)
	if h.doubt != nil {
		rt.Skip("its write is in doubt: only that one is to be repeated")
	}
	m.try(rt, h, m.drawNext(rt, h))
}

func (m *machine) commitAgain(rt *rapid.T) {
	h := m.anyHolder(rt)
	switch {
	case h.doubt != nil:
		m.try(rt, h, *h.doubt)
	case h.claim.Last() != nil:
		m.try(rt, h, *h.claim.Last())
	}
}

// commitOld sends a copy of any write there ever was, under any claim.
func (m *machine) commitOld(rt *rapid.T) {
	h := m.anyHolder(rt)
	if h.doubt != nil || len(m.sent) == 0 {
		rt.Skip("nothing to copy, or only the write in doubt")
	}
	m.try(rt, h, rapid.SampledFrom(m.sent).Draw(rt, "copy"))
}

func (m *machine) commitNumber(rt *rapid.T) {
	h := m.anyHolder(rt)
	if h.doubt != nil {
		rt.Skip("its write is in doubt: only that one is to be repeated")
	}
	d := m.drawNext(rt, h)
	d.Number = rapid.Uint64Range(1, d.Number+2).Draw(rt, "number")
	d.Predecessor, d.Whole, d.Pending = 0, 0, nil
	m.try(rt, h, d)
}

// commitWithFault leaves the write in doubt: lost with a fault before it, landed, or refused, with a fault after it.
func (m *machine) commitWithFault(rt *rapid.T) {
	h := m.anyHolder(rt)
	d := m.drawNext(rt, h)
	if h.doubt != nil {
		d = *h.doubt
	}
	p := fault.Point{Op: fault.DecisionWrite, After: rapid.Bool().Draw(rt, "after")}
	m.Faults.Set(fault.FailAt(p, 0, nil))
	defer m.Faults.Set(nil)
	err := h.claim.Commit(m.t.Context(), d)
	m.sent = append(m.sent, d)
	want := m.answer(h, d)
	if p.After && want != nil {
		require.ErrorIs(rt, err, want)
		return
	}
	require.ErrorIs(rt, err, state.ErrInDoubt)
	h.doubt = &d
	if p.After {
		m.accept(d)
	}
}

// openAgain is a restart of the process: its claims are gone.
func (m *machine) openAgain(*rapid.T) {
	m.Store = m.Reopen(m.t)
	m.holders = nil
}
