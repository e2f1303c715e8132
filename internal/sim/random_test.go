package sim_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/sim"
)

// sample is how much of n is tried by default: all of it, or a part where that takes long.
func sample(n int) int {
	if raceDetector || testing.Short() {
		return n / 10
	}
	return n
}

// run runs s in a bubble.
func run(t *testing.T, s sim.Scenario, trace bool) (r sim.Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { r = sim.Run(t.Context(), s, trace) })
	return r
}

// TestRandom runs scenarios of rising seeds, on all cores, until there are as many cycles as asked for, or the time is
// over.
func TestRandom(t *testing.T) {
	if *script != "" {
		t.Skip("a script is run again: -sim.script")
	}
	first := *seed
	if first == 0 {
		first = rand.Uint64() >> 16
	}
	t.Logf("first seed %d", first)
	processor, _ := processorTime()
	b := &budget{processor: processor, start: time.Now(), first: first, wanted: *cycles}
	switch {
	case *cycles > 0:
	case *seconds > 0:
		b.until = b.start.Add(*seconds)
	default:
		b.wanted = int64(sample(3000))
	}
	// The worlds are small and short: a heap of some tens of megabytes is collected far too often.
	defer debug.SetGCPercent(debug.SetGCPercent(1000))
	workers := runtime.GOMAXPROCS(0)
	t.Run("scenarios", func(t *testing.T) {
		for n := range workers {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				b.work(t)
			})
		}
	})
	b.report(t, workers)
}

// budget is what workers share.
type budget struct {
	start     time.Time
	processor time.Duration // at the start
	until     time.Time     // zero: no limit
	first     uint64
	wanted    int64 // 0: no limit

	next   atomic.Uint64
	cycles atomic.Int64
	failed atomic.Bool
	shown  atomic.Int64 // unix seconds of the last line of progress

	mu   sync.Mutex
	sums map[sim.Breach]int
}

func (b *budget) over() bool {
	return b.failed.Load() || b.wanted > 0 && b.cycles.Load() >= b.wanted || !b.until.IsZero() && time.Now().After(b.until)
}

func (b *budget) work(t *testing.T) {
	for !b.over() {
		s := sim.Draw(b.first + b.next.Add(1) - 1)
		r := run(t, s, false)
		b.cycles.Add(int64(r.Cycles))
		b.progress()
		if len(r.Violations) == 0 {
			continue
		}
		b.failed.Store(true)
		b.mu.Lock()
		if b.sums == nil {
			b.sums = map[sim.Breach]int{}
		}
		for _, v := range r.Violations {
			b.sums[v.Breach]++
		}
		b.mu.Unlock()
		explain(t, s, r)
	}
}

// explain fails with what went wrong, reduced.
func explain(t *testing.T, s sim.Scenario, r sim.Result) {
	t.Helper()
	first := r.Violations[0].Breach
	short := sim.Reduce(s, 400, func(c sim.Scenario) bool { return run(t, c, false).Of(first) })
	last := run(t, short, true)
	require.Empty(t, last.Violations, "seed %d\nscenario %s\nreduced to\n%s\nrun it again with make sim SCRIPT='%s'\n%s", s.Seed, s, short, short,
		strings.Join(last.Trace, "\n"))
	require.Empty(t, r.Violations, "scenario %s\nfails, and did not when it was run again", s)
}

// progress shows a line a second on a terminal.
func (b *budget) progress() {
	now := time.Now().Unix()
	if was := b.shown.Load(); *cycles == 0 || was == now || !terminal() || !b.shown.CompareAndSwap(was, now) {
		return
	}
	n := b.cycles.Load()
	fmt.Fprintf(os.Stderr, "\r%d of %d cycles, %d%%, %.0f/s ", n, b.wanted, 100*n/b.wanted, float64(n)/time.Since(b.start).Seconds())
}

func terminal() bool {
	info, err := os.Stderr.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// used is the processor time since the start, of all cores; where the system does not tell, the time of the workers.
func (b *budget) used(workers int) time.Duration {
	if now, ok := processorTime(); ok {
		return now - b.processor
	}
	return time.Since(b.start) * time.Duration(workers)
}

func (b *budget) report(t *testing.T, workers int) {
	t.Helper()
	n := b.cycles.Load()
	if b.shown.Load() > 0 {
		fmt.Fprintln(os.Stderr)
	}
	line := fmt.Sprintf("simulated: %d cycles, %d lost, %d doubled, %d reordered, %.0f/s per core", n, b.sums[sim.Lost],
		b.sums[sim.Doubled], b.sums[sim.Reordered], float64(n)/b.used(workers).Seconds())
	if b.failed.Load() {
		line += ", FAILED"
	}
	if *cycles == 0 {
		t.Log(line)
		return
	}
	lastLine = line
}

// TestScript runs one scenario again.
func TestScript(t *testing.T) {
	if *script == "" {
		t.Skip("no scenario is given: -sim.script")
	}
	s, err := sim.Parse(*script)
	require.NoError(t, err)
	r := run(t, s, true)
	for _, line := range r.Trace {
		t.Log(line)
	}
	require.Empty(t, r.Violations)
}
