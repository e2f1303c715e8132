package writertest

import (
	"context"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

var checkpointStories = []entry{
	{"a checkpoint that was given up is carried on by the next one", 0, givenUp},
	{"rows written after prepare belong to the next checkpoint", 0, writtenAfterPrepare},
	{"the same decision is committed once", 0, commitAgain},
	{"a decision that is not made of what prepare gave is refused", exactlyOnce, notOfPrepare},
	{"a decision of another claim is refused", 0, decisionOfAnotherClaim},
	{"an ended context does not stop a commit", 0, commitGoesOn},
	{"names are used once and carry the claim's epoch", exactlyOnce, namesOnce},
	{"a part tells watermarks, bounds and what is whole", exactlyOnce, partTells},
}

func givenUp(s *story) {
	l := s.begin()
	l.write(event(1))
	first := l.part()
	require.Len(s, l.listed(first), l.exact(1))
	l.write(order(1, "a"))
	second := l.part()
	require.Len(s, l.listed(second), l.exact(2), "the branch of the checkpoint that was given up, and the new one")
	require.Subset(s, append(l.listed(second), xa.ID{}), l.listed(first))
	third := l.part()
	require.Equal(s, second, third, "Prepare with nothing new gives the same")
	require.Equal(s, l.listed(third), append([]xa.ID(nil), s.prepared()...), "nothing was rolled back")
	require.NoError(s, l.Commit(s.Context(), l.accept(third)))
	s.sees([]int64{1}, map[int64]string{1: "a"}, "after Commit")
	l.holds(0, 0, "all is committed")
}

func writtenAfterPrepare(s *story) {
	l := s.begin()
	l.write(event(1))
	d := l.accept(l.part())
	l.write(order(1, "a"))
	require.NoError(s, l.Commit(s.Context(), d))
	if s.f.ExactlyOnce {
		s.sees([]int64{1}, nil, "what the decision lists")
		l.holds(1, 0, "what was written since")
	}
	l.checkpoint()
	s.sees([]int64{1}, map[int64]string{1: "a"}, "after the next Commit")
}

func commitAgain(s *story) {
	l := s.begin()
	l.write(event(1), order(1, "a"))
	d := l.checkpoint()
	require.NoError(s, l.Commit(s.Context(), d), "a no-op")
	l.write(order(1, "b"))
	require.NoError(s, l.Commit(s.Context(), d), "a no-op also with rows open")
	l.checkpoint()
	s.sees([]int64{1}, map[int64]string{1: "b"}, "each once")
}

func notOfPrepare(s *story) {
	l := s.begin()
	l.write(event(1))
	p := l.part()
	p.Pending[0].To++
	p.Pending[0].Rows++
	require.Error(s, l.Commit(s.Context(), l.accept(p)))
	s.seesNothing("nothing was committed")
	require.Len(s, s.prepared(), 1, "and nothing rolled back")
}

func decisionOfAnotherClaim(s *story) {
	for i, change := range []func(*state.Decision){
		func(d *state.Decision) { d.Epoch++ },
		func(d *state.Decision) { d.Epoch-- },
		func(d *state.Decision) { d.Job += "x" },
		func(d *state.Decision) { d.Store[0]++ },
	} {
		l := s.begin()
		l.write(order(int64(i), "a"))
		p := l.part()
		before, pending := s.h.Content(), s.prepared()
		d := l.accept(p)
		change(&d)
		require.Error(s, l.Commit(s.Context(), d))
		require.Equal(s, before, s.h.Content(), "nothing was committed")
		require.Equal(s, pending, s.prepared(), "and nothing rolled back")
		l.crash() // the next opening commits it, by the decision that was accepted
	}
}

func commitGoesOn(s *story) {
	l := s.begin()
	l.write(event(1), order(1, "a"))
	d := l.accept(l.part())
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	require.NoError(s, l.Commit(ctx, d))
	s.sees([]int64{1}, map[int64]string{1: "a"}, "after Commit")
	l.holds(0, 0, "all is committed")
}

func namesOnce(s *story) {
	seen := map[xa.ID]bool{}
	for range 2 {
		l := s.begin()
		for i := range int64(3) {
			l.write(event(int64(len(seen))), order(i, "a"))
			p := l.part()
			ids := l.listed(p)
			require.Len(s, ids, 2, "one branch for each lane with rows")
			for _, id := range ids {
				require.False(s, seen[id], "%s is used twice", id)
				seen[id] = true
				require.Equal(s, l.owner.Epoch, id.Epoch)
				require.Equal(s, s.h.Job, id.Job)
			}
			require.NoError(s, l.Commit(s.Context(), l.accept(p)))
		}
		l.crash()
	}
}

func partTells(s *story) {
	l := s.begin()
	l.write(event(1), event(2))
	p := l.part()
	require.Equal(s, uint64(2), p.Pending[0].Rows)
	d := l.accept(p)
	require.NoError(s, l.Commit(s.Context(), d))
	p = l.part()
	require.Equal(s, d.Number, p.Whole, "the newest decision that is known to be wholly committed")
	require.Empty(s, p.Pending)
	id := l.listed(state.Part{Pending: d.Pending})[0]
	mark, known := state.Decision{Lanes: p.Lanes}.Lane(id.Lane)
	require.True(s, known)
	require.Equal(s, []uint64{id.Epoch, id.Seq}, []uint64{mark.Epoch, mark.Seq}, "the lane's watermark is the branch that was proven last")
	require.Len(s, mark.Tables, 1)
	require.Greater(s, p.Bounds.Lanes, id.Lane)
	require.Positive(s, p.Bounds.Marks)

	l.crash()
	l = s.recovered()
	carried, known := state.Decision{Lanes: l.part().Lanes}.Lane(id.Lane)
	require.True(s, known)
	require.Equal(s, mark, carried, "it is carried on by the next owner")
}
