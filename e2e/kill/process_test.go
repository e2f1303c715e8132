package kill_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/e2e/demo/flights/flightstest"
	"github.com/xasink/xasink/e2e/servers"
)

// everyOccurrence are the effects whose every kind of place in a run is tried: first, middle, last, and for COMMIT each one
// of a checkpoint.
var everyOccurrence = []string{"xa-start", "batch", "ledger-row", "xa-end", "xa-prepare", "decision-write", "xa-commit"}

// The worker is killed at every point that a run reaches, before and after each effect, once, and started again. Run one
// with -run 'KilledAtEveryPoint/mysql/after:xa-prepare#7'.
func TestT13_F44_F46_K17_V15_V16_D01_G045_G048_KilledAtEveryPoint(t *testing.T) {
	input := flightstest.ShortFile(t)
	flightstest.EachFlavour(t, func(t *testing.T, s *servers.Server) {
		for _, point := range pointsToKillAt(t, s, input) {
			t.Run(point, func(t *testing.T) {
				t.Parallel()
				stand := newStand(t, s, input)
				plantStrangers(t, stand)
				flightstest.Live(t, stand, "kill@"+point)
				flightstest.Finish(t, stand)
			})
		}
	})
}

// pointsToKillAt counts the points of a whole run and chooses occurrences of each.
func pointsToKillAt(t *testing.T, s *servers.Server, input string) []string {
	t.Helper()
	stand := newStand(t, s, input)
	stand.Job.Record = true
	end := flightstest.Finish(t, stand)
	for _, op := range everyOccurrence {
		require.NotZero(t, end.Reached["before:"+op], "a run never reaches %s", op)
	}
	perCheckpoint := end.Reached["before:xa-commit"] * flightstest.CheckpointWrites * flightstest.WriteRows / flightstest.Rows
	var chosen []string
	for _, point := range slices.Sorted(maps.Keys(end.Reached)) {
		n := end.Reached[point]
		_, op, _ := strings.Cut(point, ":")
		occurrences := []int{1, n}
		switch {
		case op == "xa-commit":
			for i := 2; i <= perCheckpoint+1; i++ {
				occurrences = append(occurrences, i)
			}
		case op == "xa-recover": // how often is a matter of timing
			occurrences = []int{1, 2}
		case slices.Contains(everyOccurrence, op):
			occurrences = append(occurrences, (n+1)/2)
		}
		slices.Sort(occurrences)
		for _, i := range slices.Compact(occurrences) {
			if i <= n {
				chosen = append(chosen, fmt.Sprintf("%s#%d", point, i))
			}
		}
	}
	return chosen
}

// A worker that was killed leaves branches behind, and the next one is killed while it settles them, once or twice.
func TestG039_T08_B02_K18_KilledAgainDuringRecovery(t *testing.T) {
	input := flightstest.ShortFile(t)
	flightstest.EachFlavour(t, func(t *testing.T, s *servers.Server) {
		branches, orphans := 5, "kill@after:xa-prepare#7"
		if s.Flavour == servers.MariaDB {
			branches, orphans = 2, "kill@after:xa-prepare#3"
		}
		const decided = "kill@after:decision-write#3"
		var lives [][]string
		both := func(first, op string, n int) {
			for _, side := range []string{"before", "after"} {
				lives = append(lives, []string{first, fmt.Sprintf("kill@%s:%s#%d", side, op, n)})
			}
		}
		for _, op := range []string{"decision-read", "claim", "ledger-raise", "mark", "ledger-read", "decision-write"} {
			both(decided, op, 1)
			both(orphans, op, 1)
		}
		for _, n := range []int{1, 2, 3} {
			both(decided, "xa-recover", n)
		}
		for n := range branches {
			both(decided, "xa-commit", n+1)
		}
		both(orphans, "xa-rollback", 1)
		lives = append(lives,
			[]string{decided, "kill@after:xa-commit#1", "kill@after:xa-commit#1"},
			[]string{decided, "kill@before:decision-write#1", "kill@after:decision-write#1"},
			[]string{orphans, "kill@after:xa-rollback#1", "kill@after:ledger-raise#1"},
			[]string{orphans, "kill@after:xa-prepare#2", "kill@after:xa-prepare#2"},
			[]string{"kill@after:xa-prepare#1", "kill@after:xa-prepare#1"},
			[]string{"kill@after:claim#1", "kill@after:ledger-create#1", "kill@after:ledger-raise#1", "kill@before:decision-write#1", "kill@after:decision-write#1"},
			[]string{decided, "kill@after:decision-write#2", "kill@after:xa-commit#2"},
		)
		for _, scripts := range lives {
			t.Run(strings.ReplaceAll(strings.Join(scripts, " then "), "kill@", ""), func(t *testing.T) {
				t.Parallel()
				stand := newStand(t, s, input)
				plantStrangers(t, stand)
				for _, script := range scripts {
					flightstest.Live(t, stand, script)
				}
				flightstest.Finish(t, stand)
			})
		}
	})
}

// With flushes between checkpoints, branches are prepared long before their decision.
func TestF13_G052_KilledBetweenFlushes(t *testing.T) {
	input := flightstest.ShortFile(t)
	flightstest.EachFlavour(t, func(t *testing.T, s *servers.Server) {
		for _, point := range []string{"before:xa-prepare#2", "after:xa-prepare#2", "after:batch#9", "before:decision-write#2", "after:decision-write#2"} {
			t.Run(point, func(t *testing.T) {
				t.Parallel()
				stand := newStand(t, s, input)
				stand.Job.FlushWrites, stand.Job.SegmentRows = 2, 100_000
				flightstest.Live(t, stand, "kill@"+point)
				flightstest.Finish(t, stand)
			})
		}
	})
}

// A job that has ended is started once more: there is nothing to do, and nothing is done twice.
func TestF12_C06_C07_G037_StartedAgainAfterTheEnd(t *testing.T) {
	input := flightstest.ShortFile(t)
	flightstest.EachFlavour(t, func(t *testing.T, s *servers.Server) {
		stand := newStand(t, s, input)
		flightstest.Finish(t, stand)
		end := flightstest.Finish(t, stand)
		require.Zero(t, end.Opening.Prepared+end.Opening.Committed+end.Opening.RolledBack)
		require.Zero(t, end.Rows)
	})
}
