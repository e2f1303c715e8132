package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/sim"
	"github.com/xasink/xasink/xa/xasim"
)

// small are workloads of which every crash is tried: two flushes and two checkpoints, with branches that are split and
// one that is not.
var small = []string{
	"%s exactly-once seed=3 records=4 tables=et write=1 flush=1 checkpoint=2 segment=0 pending=0 pace=0s",
	"%s exactly-once seed=5 records=3 tables=o write=1 flush=0 checkpoint=2 segment=2 pending=0 pace=0s",
}

func workload(t *testing.T, kind xasim.Kind, text string) sim.Scenario {
	t.Helper()
	s, err := sim.Parse(fmt.Sprintf(text, kind))
	require.NoError(t, err)
	return s
}

// points are the fault points of each process run of s, and those of its opening.
func points(t *testing.T, s sim.Scenario) (all, opening []int) {
	t.Helper()
	r := run(t, s, false)
	if len(r.Violations) > 0 {
		explain(t, s, r)
	}
	return r.Points, r.Opened
}

// singles are what goes wrong at every point of a run that is otherwise undisturbed.
var singles = []sim.What{sim.Die, sim.Vanish, sim.Fail, sim.Restart, sim.Pause, sim.Operator}

// aftermaths are what goes wrong in the process run that recovers from a death at every point.
var aftermaths = []sim.Life{
	{{What: sim.FalseOK, At: 1}}, {{What: sim.FalseOK, At: 2}}, {{What: sim.Forget, At: 1}}, {{What: sim.Forget, At: 2}},
	{{What: sim.Operator, At: 20}}, {{What: sim.Busy, At: 3}}, {{What: sim.LoseAnswer, At: 25}}, {{What: sim.LateInDoubt, At: 4}},
	{{What: sim.Orphan, At: 30}},
}

// TestEveryCrashPoint lets one thing go wrong at each point of a run: its process dies alone or with its host, or is
// held while another one runs, an effect fails, the server restarts, an operator rolls a branch back. Then it lets the process die at each point, and
// something go wrong in the recovery. All of it is tried with -sim.all, else as much as there is time for, in a drawn
// order; what a process has to survive most often, its death, is always tried at every point.
func TestEveryCrashPoint(t *testing.T) {
	t.Parallel()
	seed, limit := exhaustive(t, 15*time.Second)
	for _, kind := range xasim.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			order := rand.New(rand.NewPCG(seed, 0))
			var all []sim.Scenario
			n := 0
			for _, text := range small {
				s := workload(t, kind, text)
				last, _ := points(t, s)
				for at := 1; at <= last[0]; at++ {
					for _, what := range singles {
						s.Lives = []sim.Life{{{What: what, At: at}}}
						if what == sim.Die && !raceDetector && !testing.Short() {
							points(t, s)
							n++
							continue
						}
						all = append(all, s)
					}
					for _, second := range aftermaths {
						s.Lives = []sim.Life{{{What: sim.Die, At: at}}, second}
						all = append(all, s)
					}
				}
			}
			start, always := time.Now(), n
			for _, i := range order.Perm(len(all)) {
				if time.Since(start) > limit {
					break
				}
				points(t, all[i])
				n++
			}
			t.Logf("%d of %d runs", n, len(all)+always)
			require.Positive(t, n)
		})
	}
}

// exhaustive is the seed of the order, and the time for one kind of server.
func exhaustive(t *testing.T, limit time.Duration) (uint64, time.Duration) {
	t.Helper()
	switch {
	case *all:
		limit = 24 * time.Hour
	case raceDetector || testing.Short():
		limit = 2 * time.Second
	}
	seed := *seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	return seed, limit
}

// TestEveryPairOfCrashPoints lets the process die at each of its points, and the next one at each point of its
// opening, which recovers. Without -sim.all it is bounded by time, and takes the pairs in a drawn order.
func TestEveryPairOfCrashPoints(t *testing.T) {
	t.Parallel()
	seed, limit := exhaustive(t, 8*time.Second)
	for _, kind := range xasim.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			start, n := time.Now(), 0
			order := rand.New(rand.NewPCG(seed, 0))
			for _, text := range small {
				share := limit * time.Duration(slices.Index(small, text)+1) / time.Duration(len(small))
				n += crashTwice(t, workload(t, kind, text), order, func() bool { return time.Since(start) > share })
			}
			t.Logf("%d pairs", n)
			require.Positive(t, n)
		})
	}
}

// crashTwice runs s for each pair of points until over, and tells how many pairs that were. Each round takes one more
// second point for every first one.
func crashTwice(t *testing.T, s sim.Scenario, order *rand.Rand, over func() bool) (n int) {
	t.Helper()
	all, _ := points(t, s)
	second := map[int][]int{} // points of the recovery that are still to do, by first point
	for more := true; more; {
		more = false
		for _, i := range order.Perm(all[0]) {
			if over() {
				return n
			}
			first := i + 1
			left, known := second[first]
			if !known {
				s.Lives = []sim.Life{{{What: sim.Die, At: first}}}
				_, opening := points(t, s)
				left = order.Perm(opening[len(opening)-1])
			}
			if len(left) > 0 {
				s.Lives = []sim.Life{{{What: sim.Die, At: first}}, {{What: sim.Die, At: left[0] + 1}}}
				points(t, s)
				n++
				left = left[1:]
			}
			second[first] = left
			more = more || len(left) > 0
		}
	}
	return n
}
