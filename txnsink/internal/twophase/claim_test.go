package twophase_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink/internal/twophase"
	"github.com/xasink/xasink/xa"
)

var owner = recovery.Owner{Job: "job", Store: uuid.MustParse("11111111-1111-1111-1111-111111111111"), Run: uuid.New(), Epoch: 3}

func id(lane uint32, seq uint64) xa.ID {
	return xa.ID{Job: owner.Job, Epoch: owner.Epoch, Lane: lane, Seq: seq}
}

// claimed is a claim after a recovery that left decision 7 as the current one.
func claimed() *twophase.Claim {
	report := recovery.Report{
		Part: state.Part{
			Whole: 7, Bounds: state.Bounds{Lanes: 9, Marks: 4}, Server: state.Server{Name: "server"},
			Lanes: []state.Lane{{Number: 2, Epoch: 2, Seq: 40, Tables: []string{"old"}}, {Number: 8, Epoch: 1, Seq: 1, Tables: []string{"gone"}}},
		},
		Dead: []ledger.Span{{Epoch: 2, Lane: 2, From: 1, To: 39}},
	}
	last := state.Decision{Job: owner.Job, Store: owner.Store, Epoch: 2, Number: 7, Lanes: report.Part.Lanes}
	return twophase.New(owner, report, []state.Decision{{Number: 6}, last}, []state.Lane{{Number: 2, Tables: []string{"new"}}, {Number: 3, Tables: []string{"b"}}})
}

// decision is the next one, made of what the claim gives.
func decision(c *twophase.Claim, number uint64) state.Decision {
	return state.Next(&state.Decision{Number: number - 1}, owner.Epoch, owner.Store, owner.Run, owner.Job, nil, c.Part(), time.Now())
}

func ids(list []twophase.Branch) []xa.ID {
	var all []xa.ID
	for _, b := range list {
		all = append(all, b.ID)
	}
	return all
}

func TestTheClaimsOwnDecisionMakesItReady(t *testing.T) {
	c := claimed()
	require.False(t, c.Ready())
	require.Zero(t, c.CurrentNumber())
	part := c.Part()
	require.Empty(t, part.Pending)
	require.Equal(t, []state.Lane{
		{Number: 2, Epoch: 2, Seq: 40, Tables: []string{"new"}}, {Number: 3, Tables: []string{"b"}},
		{Number: 8, Epoch: 1, Seq: 1, Tables: []string{"gone"}},
	}, part.Lanes, "lanes that are no longer used are carried on")
	require.Equal(t, uint64(7), part.Whole)
	require.Equal(t, state.Bounds{Lanes: 9, Marks: 4}, part.Bounds)
	list, again, err := c.Decided(decision(c, 8))
	require.NoError(t, err)
	require.False(t, again)
	require.Empty(t, list)
	require.False(t, c.Ready(), "accepted, and not yet wholly committed")
	require.Equal(t, uint64(8), c.CurrentNumber())
	c.Whole()
	require.True(t, c.Ready())
	require.Equal(t, uint64(8), c.Part().Whole)
}

func TestBranchesAreCommittedByDecisionAndInALaneByTheirOrder(t *testing.T) {
	c := claimed()
	c.Prepared(id(3, 1), 10)
	c.Prepared(id(2, 2), 20)
	c.Prepared(id(2, 1), 30)
	first := decision(c, 8)
	list, _, err := c.Decided(first)
	require.NoError(t, err)
	require.Equal(t, []xa.ID{id(2, 1), id(2, 2), id(3, 1)}, ids(list))
	require.Equal(t, uint64(8), list[0].Belongs)
	require.Equal(t, uint64(30), list[0].Rows)

	c.Committed(id(2, 1))
	c.Prepared(id(2, 3), 1)
	c.Prepared(id(1, 1), 1)
	second := decision(c, 9)
	require.Equal(t, []state.Range{
		{Server: "server", Epoch: 3, Lane: 1, From: 1, To: 1, Belongs: 9, Rows: 1},
		{Server: "server", Epoch: 3, Lane: 2, From: 2, To: 2, Belongs: 8, Rows: 20},
		{Server: "server", Epoch: 3, Lane: 2, From: 3, To: 3, Belongs: 9, Rows: 1},
		{Server: "server", Epoch: 3, Lane: 3, From: 1, To: 1, Belongs: 8, Rows: 10},
	}, second.Pending)
	list, _, err = c.Decided(second)
	require.NoError(t, err)
	require.Equal(t, []xa.ID{id(2, 2), id(3, 1), id(1, 1), id(2, 3)}, ids(list), "what belongs to an earlier decision comes first")
	for _, b := range list {
		c.Committed(b.ID)
	}
	require.Empty(t, c.Pending())
	require.Contains(t, c.Proven(), state.Lane{Number: 2, Epoch: 3, Seq: 3, Tables: []string{"new"}})
	c.Whole()
	_, again, err := c.Decided(second)
	require.NoError(t, err)
	require.True(t, again)
}

func TestADecisionThatIsNotTheClaimsIsRefusedAndChangesNothing(t *testing.T) {
	for name, change := range map[string]func(*state.Decision){
		"not of this writer's claim (job":                      func(d *state.Decision) { d.Job = "other" },
		"not of this writer's claim (job j":                    func(d *state.Decision) { d.Store = uuid.New() },
		"epoch 2 is not of this":                               func(d *state.Decision) { d.Epoch = 2 },
		"lists 2 branches, of which this writer has 1 pending": func(d *state.Decision) { d.Pending[0].To++ },
		"is older than 9":                                      func(d *state.Decision) { d.Number = 8 },
	} {
		c := claimed()
		c.Prepared(id(2, 1), 1)
		_, _, err := c.Decided(decision(c, 9))
		require.NoError(t, err)
		d := decision(c, 10)
		change(&d)
		_, again, err := c.Decided(d)
		require.ErrorContains(t, err, name)
		require.False(t, again)
		require.Equal(t, uint64(9), c.CurrentNumber())
		require.Len(t, c.Pending(), 1)
	}
}

func TestProofRowsArePrunedOnceNoKeptDecisionNeedsThem(t *testing.T) {
	c := claimed()
	dead := []ledger.Span{{Epoch: 2, Lane: 2, From: 1, To: 39}}
	checkpoint := func(number uint64) {
		list, _, err := c.Decided(decision(c, number))
		require.NoError(t, err)
		for _, b := range list {
			c.Committed(b.ID)
		}
		c.Whole()
	}
	checkpoint(8)
	require.Equal(t, dead, c.Prunable())
	c.Pruned(c.Prunable())
	require.Empty(t, c.Prunable())
	for number := uint64(9); number < 14; number++ {
		c.Prepared(id(2, number-8), 1)
		checkpoint(number)
	}
	require.Equal(t, 5, c.Unpruned())
	spans := c.Prunable()
	require.Equal(t, []ledger.Span{{Epoch: 3, Lane: 2, From: 1, To: 2}}, spans, "the newest whole decision's and the watermarks' stay")
	c.Pruned(spans)
	require.Equal(t, 3, c.Unpruned())
	require.Empty(t, c.Prunable())
}
