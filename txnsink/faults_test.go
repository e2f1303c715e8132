package txnsink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/xa"
)

// failNth fails the n-th point that is reached, whatever it is, and every one after it: the client is dead from there
// on. While stopped it counts nothing.
type failNth struct {
	mu      sync.Mutex
	n       int
	stopped bool
	reached int
	at      fault.Point
}

func (f *failNth) At(_ context.Context, p fault.Point) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return nil
	}
	f.reached++
	if f.reached < f.n {
		return nil
	}
	if f.reached == f.n {
		f.at = p
	}
	return &fault.Error{Point: p}
}

func (f *failNth) String() string { return fmt.Sprintf("fail-from#%d", f.n) }

func (f *failNth) start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = false
}

func (f *failNth) fired() (fault.Point, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at, f.reached >= f.n
}

// TestClientDiesAtAnyPoint runs a small job once for each point that it reaches, opening and finish included, with a
// client that is dead from there on; then an ordinary start goes on, and every row counts once. Points are sampled here;
// package sim takes every one of them, on the simulator.
func TestClientDiesAtAnyPoint(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		count := dieAt(t, server, 1<<30)
		t.Logf("%d points", count)
		require.Greater(t, count, 80)
		step := 3
		if server.Flavour == xa.MariaDB {
			step = 10 // an opening waits for a detach of 1 s
		}
		for n := 1; n <= count; n += step {
			t.Run(fmt.Sprintf("point%d", n), func(t *testing.T) {
				t.Parallel()
				dieAt(t, server, n)
			})
		}
	})
}

// dieAt runs the job with a client that dies at its n-th point. It returns how many points there were.
func dieAt(t *testing.T, server servertest.Server, n int) int {
	t.Helper()
	r := newRig(t, server)
	r.store = faultyMemory(r)
	crash := &failNth{n: n}
	r.faults = crash
	r.change = func(c *Config) {
		c.MaxSegmentRows = 3
		c.DecisionTimeout, c.CommitTimeout = 50*time.Millisecond, 3*time.Second
	}
	if n > 1<<20 {
		r.change = func(c *Config) { c.MaxSegmentRows = 3 }
	}
	err := func() error {
		s, err := Open(t.Context(), r.config())
		if err != nil {
			return err
		}
		err = run(t.Context(), s, 4, 2, 3)
		if err == nil {
			err = s.Finish(t.Context())
		}
		return errors.Join(err, s.Close())
	}()
	at, fired := crash.fired()
	if !fired {
		require.NoError(t, err)
		r.verify(4)
		return crash.reached
	}
	t.Logf("dead from %s on: %v", at, err)
	require.Error(t, err)
	r.change = nil
	r.finish(6)
	return crash.reached
}

// TestEveryPointFailsOnceAndTheJobGoesOn: the effect fails once and the client lives on, as with a cut connection.
func TestEveryPointFailsOnceAndTheJobGoesOn(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		for op := fault.Connect; op < fault.SourceRead; op++ {
			for _, p := range []fault.Point{fault.Before(op), fault.After(op)} {
				for _, nth := range []int{1, 2, 5} {
					if server.Flavour == xa.MariaDB && nth != 1 {
						continue
					}
					t.Run(fmt.Sprintf("%s#%d", p, nth), func(t *testing.T) {
						t.Parallel()
						failOnce(t, server, p, nth)
					})
				}
			}
		}
	})
}

func failOnce(t *testing.T, server servertest.Server, p fault.Point, nth int) {
	t.Helper()
	r := newRig(t, server)
	r.store = faultyMemory(r)
	r.faults = fault.FailAt(p, nth, &fault.Error{Point: p})
	r.change = func(c *Config) { c.MaxSegmentRows = 3 }
	const n = 5
	for try := range 5 {
		s, err := Open(t.Context(), r.config())
		if err == nil {
			if err = run(t.Context(), s, n, 2, 3); err == nil {
				err = s.Finish(t.Context())
			}
			err = errors.Join(err, s.Close())
		}
		if err == nil {
			r.verify(n)
			t.Logf("%d openings", try+1)
			return
		}
		t.Logf("opening %d: %v", try+1, err)
	}
	require.Fail(t, "the job does not get through")
}
