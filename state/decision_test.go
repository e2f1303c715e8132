package state_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// anyDecision draws a decision that passes Check, as Next makes it.
func anyDecision(rt *rapid.T) state.Decision {
	const job = "orders"
	name := rapid.StringN(1, 20, 64)
	moment := rapid.Custom(func(rt *rapid.T) time.Time {
		return time.UnixMicro(rapid.Int64Range(-62135596800000000, 253402300799999999).Draw(rt, "microseconds"))
	})
	epoch := rapid.Uint64Range(1, math.MaxUint64).Draw(rt, "epoch")
	number := rapid.Uint64Range(1, math.MaxUint64-1).Draw(rt, "number")
	part := state.Part{
		Bounds: state.Bounds{Lanes: 16, Marks: rapid.Uint32().Draw(rt, "marks")},
		Server: state.Server{Name: name.Draw(rt, "server"), Started: moment.Draw(rt, "started")},
		Whole:  rapid.Uint64Range(0, number-1).Draw(rt, "whole"),
	}
	part.Pending = state.Merge(rapid.SliceOfDistinct(rapid.Custom(func(rt *rapid.T) state.Branch {
		return state.Branch{
			Server: rapid.SampledFrom([]string{"one", "two"}).Draw(rt, "server"),
			ID: xa.ID{
				Job:   job,
				Epoch: rapid.Uint64Range(max(epoch-1, 1), epoch).Draw(rt, "epoch"),
				Lane:  rapid.Uint32Range(0, 2).Draw(rt, "lane"),
				Seq:   rapid.Uint64Range(1, 30).Draw(rt, "seq"),
			},
			Belongs: rapid.Uint64Range(0, min(number, 2)).Draw(rt, "belongs"),
			Rows:    rapid.Uint64Range(1, 1000).Draw(rt, "rows"),
		}
	}), func(b state.Branch) any {
		return [4]any{b.Server, b.ID.Epoch, b.ID.Lane, b.ID.Seq}
	}).Draw(rt, "branches"))
	part.Lanes = rapid.SliceOfDistinct(rapid.Custom(func(rt *rapid.T) state.Lane {
		l := state.Lane{Number: rapid.Uint32Range(0, 15).Draw(rt, "lane")}
		if rapid.Bool().Draw(rt, "proven") {
			l.Epoch = rapid.Uint64Range(1, epoch).Draw(rt, "epoch")
			l.Seq = rapid.Uint64Range(1, math.MaxUint64).Draw(rt, "seq")
		}
		l.Tables = rapid.SliceOfN(name, 0, 3).Draw(rt, "tables")
		return l
	}), func(l state.Lane) uint32 { return l.Number }).Draw(rt, "lanes")
	positions := rapid.SliceOfDistinct(rapid.Custom(func(rt *rapid.T) state.Position {
		p := state.Position{Source: name.Draw(rt, "source")}
		if data := rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(rt, "data"); len(data) > 0 {
			p.Data = data
		}
		return p
	}), func(p state.Position) string { return p.Source }).Draw(rt, "positions")
	d := state.Next(&state.Decision{Number: number - 1}, epoch, uuid.New(), uuid.New(), job, positions, part,
		moment.Draw(rt, "time"))
	require.NoError(rt, d.Check())
	return d
}

func branch(server string, epoch uint64, lane uint32, seq, belongs, rows uint64) state.Branch {
	return state.Branch{Server: server, ID: xa.ID{Job: "a", Epoch: epoch, Lane: lane, Seq: seq}, Belongs: belongs, Rows: rows}
}

func TestMergeTellsBranchesAsTheFewestRanges(t *testing.T) {
	got := state.Merge([]state.Branch{
		branch("one", 2, 1, 3, 5, 30),
		branch("one", 2, 1, 1, 5, 10),
		branch("one", 2, 1, 2, 5, 20),
		branch("one", 2, 1, 5, 5, 50), // 4 was not prepared
		branch("one", 2, 1, 6, 6, 60), // belongs to another
		branch("one", 2, 2, 7, 6, 70), // another lane
		branch("one", 1, 2, 8, 6, 80), // another epoch
		branch("two", 2, 1, 4, 5, 40), // another server
		branch("one", 2, 2, math.MaxUint64, 6, 1),
		branch("one", 3, 2, 1, 6, 1), // does not follow the highest seq
	})
	require.Equal(t, []state.Range{
		{Server: "one", Epoch: 2, Lane: 1, From: 1, To: 3, Belongs: 5, Rows: 60},
		{Server: "one", Epoch: 2, Lane: 1, From: 5, To: 5, Belongs: 5, Rows: 50},
		{Server: "one", Epoch: 2, Lane: 1, From: 6, To: 6, Belongs: 6, Rows: 60},
		{Server: "one", Epoch: 1, Lane: 2, From: 8, To: 8, Belongs: 6, Rows: 80},
		{Server: "one", Epoch: 2, Lane: 2, From: 7, To: 7, Belongs: 6, Rows: 70},
		{Server: "one", Epoch: 2, Lane: 2, From: math.MaxUint64, To: math.MaxUint64, Belongs: 6, Rows: 1},
		{Server: "one", Epoch: 3, Lane: 2, From: 1, To: 1, Belongs: 6, Rows: 1},
		{Server: "two", Epoch: 2, Lane: 1, From: 4, To: 4, Belongs: 5, Rows: 40},
	}, got)
	require.Equal(t, got, state.MergeRanges(got))
	require.Nil(t, state.Merge(nil))
	require.Nil(t, state.MergeRanges(nil))
}

func TestMergeChangesNothingOfItsArgument(t *testing.T) {
	given := []state.Range{
		{Server: "one", Epoch: 1, From: 3, To: 4, Rows: 2}, {Server: "one", Epoch: 1, From: 1, To: 2, Rows: 1},
	}
	before := slices.Clone(given)
	require.Equal(t, []state.Range{{Server: "one", Epoch: 1, From: 1, To: 4, Rows: 3}}, state.MergeRanges(given))
	require.Equal(t, before, given)
}

// TestBranchesListsAndMergeAgree: whatever branches a decision is made of, it lists these and no others.
func TestBranchesListsAndMergeAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := anyDecision(rt)
		listed := map[xa.ID]bool{}
		var branches []state.Branch
		for b := range d.Branches() {
			require.True(rt, d.Lists(b.ID))
			require.False(rt, d.Lists(xa.ID{Job: "other", Epoch: b.ID.Epoch, Lane: b.ID.Lane, Seq: b.ID.Seq}))
			listed[b.ID] = true
			branches = append(branches, b)
		}
		for lane := range uint32(4) {
			for seq := range uint64(32) {
				id := xa.ID{Job: d.Job, Epoch: d.Epoch, Lane: lane, Seq: seq}
				require.Equal(rt, listed[id], d.Lists(id), "%s", id)
			}
		}
		merged := state.Merge(branches)
		require.Len(rt, merged, len(d.Pending))
		for i, r := range merged {
			r.Rows = d.Pending[i].Rows
			require.Equal(rt, d.Pending[i], r)
		}
	})
}

func TestBranchesHoldsOneAtATime(t *testing.T) {
	d := segments(math.MaxUint64)
	require.Zero(t, testing.AllocsPerRun(10, func() {
		n := 0
		for b := range d.Branches() {
			if n++; b.ID.Seq == 1000 {
				break
			}
		}
	}))
	d.Pending[0].From = math.MaxUint64
	require.Equal(t, []state.Branch{{
		Server: "one", ID: xa.ID{Job: "a", Epoch: 1, Seq: math.MaxUint64}, Belongs: 1, Rows: d.Pending[0].Rows,
	}}, slices.Collect(d.Branches()), "the highest seq ends the loop")
}

func TestMergeLanesNeverLowersAWatermark(t *testing.T) {
	base := []state.Lane{
		{Number: 5, Epoch: 2, Seq: 9, Tables: []string{"b", "a"}},
		{Number: 1, Epoch: 3, Seq: 1, Tables: []string{"x"}},
		{Number: 2, Epoch: 1, Seq: 4, Tables: []string{"t"}}, // no longer used
	}
	update := []state.Lane{
		{Number: 5, Epoch: 3, Seq: 1, Tables: []string{"c", "b", "c"}},
		{Number: 1, Epoch: 2, Seq: 100},
		{Number: 0, Tables: []string{"new"}},
	}
	require.Equal(t, []state.Lane{
		{Number: 0, Tables: []string{"new"}},
		{Number: 1, Epoch: 3, Seq: 1, Tables: []string{"x"}},
		{Number: 2, Epoch: 1, Seq: 4, Tables: []string{"t"}},
		{Number: 5, Epoch: 3, Seq: 1, Tables: []string{"b", "c"}},
	}, state.MergeLanes(base, update))
	require.Equal(t, []string{"b", "a"}, base[0].Tables, "the arguments stay as they are")
	require.Nil(t, state.MergeLanes(nil, nil))

	d := state.Decision{Lanes: base}
	l, known := d.Lane(1)
	require.True(t, known)
	require.Equal(t, base[1], l)
	_, known = d.Lane(0)
	require.False(t, known)

	require.True(t, l.Covers(3, 1))
	require.True(t, l.Covers(2, 100))
	require.False(t, l.Covers(3, 2))
	require.False(t, l.Covers(4, 1))
}

func TestNextFollowsLast(t *testing.T) {
	store, run := uuid.New(), uuid.New()
	now := time.Date(2026, 1, 2, 3, 4, 5, 6789, time.FixedZone("somewhere", 3600))
	part := state.Part{
		Pending: []state.Range{
			{Server: "one", Epoch: 2, Lane: 1, From: 7, To: 8, Rows: 3},
			{Server: "one", Epoch: 2, Lane: 1, From: 5, To: 6, Rows: 2},
			{Server: "one", Epoch: 2, Lane: 0, From: 1, To: 4, Belongs: 1, Rows: 9},
		},
		Lanes:  []state.Lane{{Number: 1, Tables: []string{"b", "a"}}, {Number: 0, Epoch: 1, Seq: 1}},
		Bounds: state.Bounds{Lanes: 2, Marks: 3},
		Server: state.Server{Name: "one", Started: now},
		Whole:  0,
	}
	positions := []state.Position{{Source: "b", Data: []byte("2")}, {Source: "a", Data: []byte("1")}}
	first := state.Next(nil, 2, store, run, "orders", positions, part, now)
	require.Equal(t, state.Decision{
		Job: "orders", Store: store, Epoch: 2, Number: 1, Run: run,
		Time:      time.Date(2026, 1, 2, 2, 4, 5, 6000, time.UTC),
		Positions: []state.Position{{Source: "a", Data: []byte("1")}, {Source: "b", Data: []byte("2")}},
		Pending: []state.Range{
			{Server: "one", Epoch: 2, Lane: 0, From: 1, To: 4, Belongs: 1, Rows: 9},
			{Server: "one", Epoch: 2, Lane: 1, From: 5, To: 8, Belongs: 1, Rows: 5},
		},
		Lanes:  []state.Lane{{Number: 0, Epoch: 1, Seq: 1}, {Number: 1, Tables: []string{"a", "b"}}},
		Bounds: state.Bounds{Lanes: 2, Marks: 3},
		Server: state.Server{Name: "one", Started: time.Date(2026, 1, 2, 2, 4, 5, 6000, time.UTC)},
	}, first)
	require.NoError(t, first.Check())
	require.Equal(t, "b", positions[0].Source, "the arguments stay as they are")
	require.Zero(t, part.Pending[0].Belongs)
	require.Equal(t, []string{"b", "a"}, part.Lanes[0].Tables)

	part.Pending = append(first.Pending, state.Range{Server: "one", Epoch: 3, Lane: 1, From: 1, To: 1, Rows: 1})
	part.Bounds = state.Bounds{Lanes: 5, Marks: 1}
	part.Whole = 1
	second := state.Next(&first, 3, store, run, "orders", positions, part, now)
	require.NoError(t, second.Check())
	require.Equal(t, uint64(2), second.Number)
	require.Equal(t, uint64(1), second.Predecessor)
	require.Equal(t, uint64(1), second.Whole)
	require.Equal(t, []uint64{1, 1, 2}, []uint64{
		second.Pending[0].Belongs, second.Pending[1].Belongs, second.Pending[2].Belongs,
	}, "a branch belongs to the first decision that lists it")
	require.Equal(t, state.Bounds{Lanes: 5, Marks: 3}, second.Bounds, "bounds are never lowered")
	part.Bounds = state.Bounds{Lanes: 2, Marks: 9}
	third := state.Next(&second, 3, store, run, "orders", positions, part, now)
	require.Equal(t, state.Bounds{Lanes: 5, Marks: 9}, third.Bounds, "bounds are never lowered")
}

func TestCheckTellsAllProblems(t *testing.T) {
	require.NoError(t, smallest().Check())
	require.NoError(t, full().Check())
	for want, change := range map[string]func(d *state.Decision){
		"job name":                                   func(d *state.Decision) { d.Job = "Orders" },
		"store id":                                   func(d *state.Decision) { d.Store = uuid.Nil },
		"epoch is 0":                                 func(d *state.Decision) { d.Epoch = 0 },
		"number is 0":                                func(d *state.Decision) { d.Number = 0 },
		"predecessor 70000":                          func(d *state.Decision) { d.Predecessor = 70000 },
		"wholly committed decision 70001":            func(d *state.Decision) { d.Whole = 70001 },
		"is not UTC":                                 func(d *state.Decision) { d.Time = d.Time.In(time.FixedZone("x", 0)) },
		"finer than microseconds":                    func(d *state.Decision) { d.Server.Started = d.Server.Started.Add(1) },
		"out of range":                               func(d *state.Decision) { d.Time = time.UnixMicro(math.MaxInt64).UTC() },
		`source "a" has two`:                         func(d *state.Decision) { d.Positions = []state.Position{{Source: "a"}, {Source: "a"}} },
		"has 2049 bytes":                             func(d *state.Decision) { d.Positions[0].Data = make([]byte, 2049) },
		"is not UTF-8":                               func(d *state.Decision) { d.Positions[0].Source = "\xff" },
		`name of server "xxx`:                        func(d *state.Decision) { d.Server.Name = strings.Repeat("x", 5000) },
		"65537 positions":                            func(d *state.Decision) { d.Positions = make([]state.Position, 65537) },
		"server is not named":                        func(d *state.Decision) { d.Pending[0].Server = "" },
		"seqs count from 1":                          func(d *state.Decision) { d.Pending[0].From = 0 },
		"go upwards":                                 func(d *state.Decision) { d.Pending[1].To = 0 },
		"epoch is not between 1 and":                 func(d *state.Decision) { d.Pending[0].Epoch = 301 },
		"belong to decision 70001":                   func(d *state.Decision) { d.Pending[0].Belongs = 70001 },
		"belong to decision 0":                       func(d *state.Decision) { d.Pending[0].Belongs = 0 },
		"e300.w7.s1: lane is not below":              func(d *state.Decision) { d.Bounds.Lanes = 7; d.Pending[3].From, d.Pending[3].To = 1, 1 },
		"are not in order behind":                    func(d *state.Decision) { d.Pending[0], d.Pending[1] = d.Pending[1], d.Pending[0] },
		"overlap with":                               func(d *state.Decision) { d.Pending[2].From = 1000 },
		"s1001 to s1003 continue orders-eu_1.main/e": func(d *state.Decision) { d.Pending[2].From = 1001 },
		"lane 3 is there twice":                      func(d *state.Decision) { d.Lanes[2].Number = 3 },
		"lane 9 is not below the bound":              func(d *state.Decision) { d.Lanes[2].Number = 9 },
		"must have both or neither":                  func(d *state.Decision) { d.Lanes[1].Seq = 1 },
		"watermark's epoch 301":                      func(d *state.Decision) { d.Lanes[0].Epoch = 301 },
		"a table has no name":                        func(d *state.Decision) { d.Lanes[0].Tables = []string{""} },
		`"b" is there twice`:                         func(d *state.Decision) { d.Lanes[0].Tables = []string{"b", "b"} },
	} {
		d := full()
		change(&d)
		require.ErrorContains(t, d.Check(), want)
		_, err := state.Encode(d)
		require.ErrorIs(t, err, state.ErrUnreadable)
		require.ErrorContains(t, err, want)
	}
	err := state.Decision{}.Check()
	for _, want := range []string{"job name", "store id", "epoch is 0", "number is 0"} {
		require.ErrorContains(t, err, want)
	}
}
