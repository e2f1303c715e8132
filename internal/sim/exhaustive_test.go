package sim_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/internal/sim"
	"github.com/xasink/xasink/xa/xasim"
)

// small are workloads of which every crash is tried: two flushes and two checkpoints, with branches that are split and
// one that is not, and with a checkpoint that is given up.
var small = []string{
	"%s exactly-once seed=3 records=4 tables=et write=1 flush=1 checkpoint=2 segment=0 pending=0 pace=0s",
	"%s exactly-once seed=5 records=3 tables=o write=1 flush=0 checkpoint=2 segment=2 pending=0 pace=0s",
	"%s exactly-once seed=4 records=3 tables=et write=1 flush=1 checkpoint=3 abort=2",
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
	{{What: sim.FalseOK, At: sim.Nth(1)}}, {{What: sim.FalseOK, At: sim.Nth(2)}}, {{What: sim.Forget, At: sim.Nth(1)}}, {{What: sim.Forget, At: sim.Nth(2)}},
	{{What: sim.Operator, At: sim.Nth(20)}}, {{What: sim.Busy, At: sim.Nth(3)}}, {{What: sim.LoseAnswer, At: sim.Nth(25)}}, {{What: sim.LateInDoubt, At: sim.Nth(4)}},
	{{What: sim.Orphan, At: sim.Nth(30)}},
}

// TestEveryCrashPoint lets one thing go wrong at each point of a run: its process dies alone or with its host, or is
// held while another one runs, an effect fails, the server restarts, an operator rolls a branch back. Then it lets the
// process die at each point, and something go wrong in the recovery. All of it is tried with -sim.all, else a drawn
// part; what a process has to survive most often, its death, is always tried at every point.
func TestEveryCrashPoint(t *testing.T) {
	t.Parallel()
	seed := exhaustive(t)
	for _, kind := range xasim.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			order := rand.New(rand.NewPCG(seed, 0))
			var rest []sim.Scenario
			n := 0
			for _, text := range small {
				s := workload(t, kind, text)
				last, _ := points(t, s)
				for at := 1; at <= last[0]; at++ {
					for _, what := range singles {
						s.Lives = []sim.Life{{{What: what, At: sim.Nth(at)}}}
						if what == sim.Die && !raceDetector && !testing.Short() {
							points(t, s)
							n++
							continue
						}
						rest = append(rest, s)
					}
					for _, second := range aftermaths {
						s.Lives = []sim.Life{{{What: sim.Die, At: sim.Nth(at)}}, second}
						rest = append(rest, s)
					}
				}
			}
			for _, i := range order.Perm(len(rest))[:part(len(rest), 400)] {
				points(t, rest[i])
				n++
			}
			t.Logf("%d of %d runs", n, n+len(rest)-part(len(rest), 400))
			require.Positive(t, n)
		})
	}
}

// TestSomebodySettlesABranchDuringARecovery lets an operator commit, at every point of a recovery, a branch that the
// recovery is about to commit, and then one that it is about to roll back: a late orphan, which its dead session still
// holds for a while, so that ROLLBACK does not find it at once.
func TestSomebodySettlesABranchDuringARecovery(t *testing.T) {
	t.Parallel()
	for _, kind := range xasim.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			s := workload(t, kind, small[0])
			s.Detach = 900 * time.Millisecond
			decided := sim.Life{{What: sim.Die, At: fault.Place{Point: fault.After(fault.DecisionWrite), Nth: 2}}}
			undecided := sim.Life{{What: sim.Die, At: fault.Place{Point: fault.After(fault.Prepare), Nth: 1}}}
			orphan := sim.Act{What: sim.Orphan, At: fault.Place{Point: fault.Before(fault.Recover), Nth: 2}}
			s.Lives = []sim.Life{decided}
			_, opened := points(t, s)
			stopped := 0
			for at := 1; at <= 2*opened[1]; at++ {
				s.Lives = []sim.Life{decided, {{What: sim.CommitListed, At: sim.Nth(at)}}}
				points(t, s)
				s.Lives = []sim.Life{undecided, {orphan, {What: sim.Wait, At: sim.Nth(at)}, {What: sim.CommitStray, At: sim.Nth(at)}}}
				r := run(t, s, false)
				if len(r.Violations) > 0 {
					explain(t, s, r)
				}
				if r.Stopped {
					stopped++
				}
			}
			require.Positive(t, stopped, "no branch was committed that was to be rolled back")
		})
	}
}

// exhaustive is the seed of the order.
func exhaustive(t *testing.T) uint64 {
	t.Helper()
	seed := *seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	return seed
}

// part is how many of all are tried: n by default.
func part(all, n int) int {
	if *everything {
		return all
	}
	return min(all, sample(n))
}

// TestEveryPairOfCrashPoints lets the process die at each of its points, and the next one at each point of its
// opening, which recovers. Without -sim.all it takes a number of pairs, in a drawn order.
func TestEveryPairOfCrashPoints(t *testing.T) {
	t.Parallel()
	seed := exhaustive(t)
	for _, kind := range xasim.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			n := 0
			order := rand.New(rand.NewPCG(seed, 0))
			for _, text := range small {
				n += crashTwice(t, workload(t, kind, text), order, part(math.MaxInt, 200))
			}
			t.Logf("%d pairs", n)
			require.Positive(t, n)
		})
	}
}

// crashTwice runs s for each pair of points, limit of them at most, and tells how many that were. Each round takes one
// more second point for every first one.
func crashTwice(t *testing.T, s sim.Scenario, order *rand.Rand, limit int) (n int) {
	t.Helper()
	all, _ := points(t, s)
	second := map[int][]int{} // points of the recovery that are still to do, by first point
	for more := true; more; {
		more = false
		for _, i := range order.Perm(all[0]) {
			if n == limit {
				return n
			}
			first := i + 1
			left, known := second[first]
			if !known {
				s.Lives = []sim.Life{{{What: sim.Die, At: sim.Nth(first)}}}
				_, opening := points(t, s)
				left = order.Perm(opening[len(opening)-1])
			}
			if len(left) > 0 {
				s.Lives = []sim.Life{{{What: sim.Die, At: sim.Nth(first)}}, {{What: sim.Die, At: sim.Nth(left[0] + 1)}}}
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
