package writertest

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/xa"
)

// story is one story being told.
type story struct {
	testing.TB
	f     Features
	h     Harness
	store *state.Memory
}

func newStory(t testing.TB, f Features, h Harness) *story {
	t.Helper()
	require.NotEmpty(t, h.Job, "Harness.Job")
	require.NotNil(t, h.Open, "Harness.Open")
	require.NotNil(t, h.Content, "Harness.Content")
	if f.ExactlyOnce {
		require.NotNil(t, h.Prepared, "Harness.Prepared")
	}
	return &story{TB: t, f: f, h: h, store: state.NewMemory()}
}

// sees compares what a reader sees.
func (s *story) sees(events []int64, orders map[int64]string, why string) {
	s.Helper()
	c := s.h.Content()
	require.Equal(s, append([]int64{}, events...), append([]int64{}, c.Events...), "events: %s", why)
	want, have := map[int64]string{}, map[int64]string{}
	maps.Copy(want, orders)
	maps.Copy(have, c.Orders)
	require.Equal(s, want, have, "orders: %s", why)
}

// seesNothing is sees with empty tables.
func (s *story) seesNothing(why string) { s.Helper(); s.sees(nil, nil, why) }

// prepared are the branches of the job, sorted; none without ExactlyOnce.
func (s *story) prepared() []xa.ID {
	if s.h.Prepared == nil {
		return nil
	}
	return slices.SortedFunc(slices.Values(s.h.Prepared()), xa.ID.Compare)
}

// writer makes one, which is closed after the story.
func (s *story) writer(changes ...func(*txnsink.WriterConfig)) txnsink.Writer {
	s.Helper()
	w, err := s.h.Open(func(cfg *txnsink.WriterConfig) {
		for _, change := range changes {
			change(cfg)
		}
	})
	require.NoError(s, err)
	s.Cleanup(func() { require.NoError(s, w.Close(), "Close may be called more than once, and after any error") })
	return w
}

// look is the writer's Look, with what the store knows.
func (s *story) look(w txnsink.Writer) (floor uint64, err error) {
	s.Helper()
	info, err := s.store.Peek(s.Context(), s.h.Job)
	require.NoError(s, err)
	return w.Look(s.Context(), s.store.ID(), info)
}

// claim is a claim of the job, and its owner.
func (s *story) claim(floor uint64) (state.Claim, recovery.Owner) {
	s.Helper()
	run := uuid.New()
	c, err := s.store.Claim(s.Context(), s.h.Job, state.ClaimRequest{Floor: floor, Run: run})
	require.NoError(s, err)
	return c, recovery.Owner{Job: s.h.Job, Store: s.store.ID(), Run: run, Epoch: c.Epoch()}
}

// life is a writer under its claim.
type life struct {
	txnsink.Writer
	s      *story
	claim  state.Claim
	owner  recovery.Owner
	report recovery.Report
	at     byte // position behind the newest Write
}

// recovered is a writer after its Recover.
func (s *story) recovered(changes ...func(*txnsink.WriterConfig)) *life {
	s.Helper()
	l := &life{s: s, Writer: s.writer(changes...)}
	floor, err := s.look(l)
	require.NoError(s, err)
	l.claim, l.owner = s.claim(floor)
	l.report, err = l.Recover(s.Context(), l.owner, l.claim.History())
	require.NoError(s, err)
	if last := l.claim.Last(); last != nil && len(last.Positions) > 0 {
		l.at = last.Positions[0].Data[0]
	}
	return l
}

// begin is a writer after the claim's own decision: it may write.
func (s *story) begin(changes ...func(*txnsink.WriterConfig)) *life {
	s.Helper()
	l := s.recovered(changes...)
	l.checkpoint()
	return l
}

// write is a Write that succeeds.
func (l *life) write(rows ...row) {
	l.s.Helper()
	require.NoError(l.s, l.Write(l.s.Context(), batch(l, rows...)))
	l.at++
}

// part is Prepare.
func (l *life) part() state.Part {
	l.s.Helper()
	p, err := l.Prepare(l.s.Context())
	require.NoError(l.s, err)
	return p
}

// accept makes a decision of p, which the store accepts.
func (l *life) accept(p state.Part) state.Decision {
	l.s.Helper()
	positions := []state.Position{{Source: "source", Data: []byte{l.at}}}
	d := state.Next(l.claim.Last(), l.owner.Epoch, l.owner.Store, l.owner.Run, l.owner.Job, positions, p, time.Now())
	require.NoError(l.s, d.Check(), "a decision of what Prepare gave")
	require.NoError(l.s, l.claim.Commit(l.s.Context(), d))
	return d
}

// checkpoint is Prepare, decision and Commit.
func (l *life) checkpoint() state.Decision {
	l.s.Helper()
	d := l.accept(l.part())
	require.NoError(l.s, l.Commit(l.s.Context(), d))
	return d
}

// crash ends the writer as the end of its process does, as far as that can be played: Close commits nothing.
func (l *life) crash() {
	l.s.Helper()
	require.NoError(l.s, l.Close())
}

// holds compares Held.
func (l *life) holds(rows int64, branches int, why string) {
	l.s.Helper()
	r, b := l.Held()
	require.Equal(l.s, []any{rows, branches}, []any{r, b}, "rows and branches held: %s", why)
}

// exact is n for a writer that is exactly once, else 0: it has no branches.
func (l *life) exact(n int) int {
	if l.s.f.ExactlyOnce {
		return n
	}
	return 0
}

// listed are the branches that a part names.
func (l *life) listed(p state.Part) []xa.ID {
	var ids []xa.ID
	for b := range (state.Decision{Job: l.owner.Job, Pending: p.Pending}).Branches() {
		ids = append(ids, b.ID)
	}
	return slices.SortedFunc(slices.Values(ids), xa.ID.Compare)
}

// failedOf is the *FailedError in err, nil where there is none.
func failedOf(err error) *txnsink.FailedError {
	var failed *txnsink.FailedError
	if errors.As(err, &failed) {
		return failed
	}
	return nil
}
