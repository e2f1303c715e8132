package writertest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/txnsink"
)

var callStories = []entry{
	{"after an error only close is left", 0, onlyCloseAfterError},
	{"a closed writer does nothing", 0, closedDoesNothing},
	{"one goroutine at a time, but for stats", 0, oneGoroutineAtATime},
	{"held counts rows and branches", 0, heldCounts},
	{"stats count what happens", 0, statsCount},
}

// calls are all that may fail, but for Close.
func (l *life) calls() map[string]func() error {
	ctx := l.s.Context()
	return map[string]func() error{
		"Look":     func() error { _, err := l.s.look(l); return err },
		"Recover":  func() error { _, err := l.Recover(ctx, l.owner, nil); return err },
		"Write":    func() error { return l.Write(ctx, batch(l, event(99))) },
		"Flush":    func() error { return l.Flush(ctx) },
		"Prepare":  func() error { _, err := l.Prepare(ctx); return err },
		"Commit":   func() error { return l.Commit(ctx, *l.claim.Last()) },
		"Sweep":    func() error { return l.Sweep(ctx) },
		"Finished": func() error { return l.Finished(ctx) },
	}
}

func onlyCloseAfterError(s *story) {
	l := s.begin()
	l.write(event(1))
	first := l.Write(s.Context(), nil)
	require.Error(s, first)
	for name, call := range l.calls() {
		err := call()
		failed := failedOf(err)
		require.NotNil(s, failed, "%s: %v", name, err)
		require.Equal(s, first, failed.Cause, "%s tells the first error", name)
	}
	require.NoError(s, l.Close())
	require.NoError(s, l.Close())
	if s.f.ExactlyOnce {
		s.seesNothing("nothing was committed")
	}
}

func closedDoesNothing(s *story) {
	l := s.begin()
	l.write(event(1))
	require.NoError(s, l.Close())
	require.NoError(s, l.Close())
	for name, call := range l.calls() {
		require.ErrorIs(s, call(), txnsink.ErrClosed, "%s", name)
	}
	_ = l.Stats()
	s.seesNothing("nothing was committed")
}

// The observer is called in the middle of Recover.
func oneGoroutineAtATime(s *story) {
	var w txnsink.Writer
	var second, closing error
	l := &life{s: s}
	l.Writer = s.writer(func(c *txnsink.WriterConfig) {
		c.Observer.Recovered = func(recovery.Report) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				second, closing = w.Flush(s.Context()), w.Close()
				_ = w.Stats()
			}()
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				s.Errorf("a second call waits for the first, and does not refuse")
			}
		}
	})
	w = l.Writer
	floor, err := s.look(l)
	require.NoError(s, err)
	l.claim, l.owner = s.claim(floor)
	_, err = l.Recover(s.Context(), l.owner, l.claim.History())
	require.NoError(s, err, "who was refused disturbs nobody")
	require.ErrorIs(s, second, txnsink.ErrConcurrentUse)
	require.ErrorIs(s, closing, txnsink.ErrConcurrentUse)
	l.checkpoint()
	l.write(event(1))
	l.checkpoint()
	s.sees([]int64{1}, nil, "the writer goes on")
}

func heldCounts(s *story) {
	l := s.begin()
	l.holds(0, 0, "at first")
	l.write(event(1), event(2), order(1, "a"))
	l.holds(3, 0, "rows are open, or gathered")
	l.part()
	l.holds(0, l.exact(2), "they are prepared, or sent")
	l.checkpoint()
	l.holds(0, 0, "all is committed")
}

func statsCount(s *story) {
	l := s.begin()
	l.write(event(1), event(2))
	l.write(order(1, "a"))
	require.NoError(s, l.Flush(s.Context()))
	l.checkpoint()
	stats := l.Stats()
	require.Equal(s, uint64(2), stats.Writes)
	require.Equal(s, uint64(3), stats.RowsWritten)
	require.Equal(s, uint64(3), stats.RowsCommitted)
	require.Equal(s, uint64(1), stats.Flushes)
	require.Equal(s, uint64(l.exact(2)), stats.SegmentsPrepared)
	require.Equal(s, uint64(l.exact(2)), stats.BranchesCommitted)
	require.Zero(s, stats.Pending)
	require.Zero(s, stats.OpenRows)
}
