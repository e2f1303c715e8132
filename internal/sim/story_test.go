package sim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/sim"
	"github.com/xasink/xasink/xa/xasim"
)

// stories are scenarios that once failed, or that no workload of the other tests is sure to meet.
var stories = map[string]string{
	"another process opens the job between the looks at store and server": "attached exactly-once seed=1 records=2 tables=l write=1 | pause@#3 |",
	"the same, and then the store cannot be read":                         "mysql exactly-once seed=1 records=0 tables=l write=1 | pause@#3 | no-store@#31",
	"the owner is held when its decision is stored":                       "mariadb exactly-once seed=1 records=6 tables=o write=2 checkpoint=2 | pause@#60 |",
	"a late decision arrives after the next claim":                        "mysql exactly-once seed=2 records=4 tables=et write=1 checkpoint=2 | late-in-doubt@#40,die@#80 |",
	"a stranger's lock is met in the second lane":                         "mysql exactly-once seed=3 records=12 tables=eto write=3 | lock@#60,lock@#90",
	"an orphan's lock is met in a Write":                                  "mysql exactly-once seed=4 records=12 tables=et write=2 checkpoint=2 | die@#60 | orphan@#70 |",
	"the server takes a proof row and does not write it":                  "mysql exactly-once seed=1 records=4 tables=e write=2 checkpoint=1 | swallow@before:ledger-row#1",
	"a rollback is answered and not done":                                 "mariadb exactly-once seed=1 records=4 tables=e write=2 flush=1 | die@after:xa-prepare#1 | false-ok@#27",
	"every other flush is a checkpoint that is given up":                  "mysql exactly-once seed=1 records=12 tables=elo write=2 flush=1 checkpoint=3 abort=2",
	"the same, where a lane keeps its branch":                             "mariadb exactly-once seed=1 records=12 tables=elo write=2 flush=1 checkpoint=3 abort=2",
	"the server goes down when all is done":                               "attached exactly-once seed=196563112185019 records=0 tables=l write=1 | down@before:mark#1,pause@after:xa-recover#3",
	"a sweep's rollback is answered and not done":                         "mariadb exactly-once seed=59376267899507 records=0 tables=o write=1 | die@#15 | orphan@#34,false-ok@#45",
	"an opener is held after its claim, and another process works":        "mysql exactly-once seed=1 records=1 tables=o write=1 | pause@after:claim#1",
	"checkpoints are given up until no more branches may be prepared":     "mysql exactly-once seed=219598554407819 records=4 tables=pl write=1 flush=1 pending=5 abort=1",
	"the process dies after a checkpoint that is given up":                "attached exactly-once seed=2 records=6 tables=et write=2 flush=1 abort=1 | die@after:xa-prepare#2",
}

// TestAnOrphansLockIsMetInAWrite: a branch that a dead owner prepared late locks a row that a Write wants. It is rolled
// back at once, and the Write goes on. Whether the Write stands in one lane or in two decides how.
func TestAnOrphansLockIsMetInAWrite(t *testing.T) {
	for _, kind := range xasim.Kinds() {
		for _, tables := range []string{"l", "lo"} {
			t.Run(kind.String()+" "+tables, func(t *testing.T) {
				waits := 0
				for seed := range uint64(8) {
					s, err := sim.Parse(fmt.Sprintf("%s exactly-once seed=%d records=6 tables=%s write=2 | die@after:claim#1 | orphan@before:xa-start#1",
						kind, seed, tables))
					require.NoError(t, err)
					r := run(t, s, false)
					if len(r.Violations) > 0 {
						explain(t, s, r)
					}
					waits += r.LockWaits
				}
				require.Positive(t, waits, "no Write met a lock")
			})
		}
	}
}

func TestStories(t *testing.T) {
	for name, text := range stories {
		t.Run(name, func(t *testing.T) {
			s, err := sim.Parse(text)
			require.NoError(t, err)
			if r := run(t, s, false); len(r.Violations) > 0 {
				explain(t, s, r)
			}
		})
	}
}

// TestScenariosPrintAsTheyWereRead: what a failing run prints is what it was.
func TestScenariosPrintAsTheyWereRead(t *testing.T) {
	for seed := range uint64(200) {
		s := sim.Draw(seed)
		again, err := sim.Parse(s.String())
		require.NoError(t, err)
		require.Equal(t, s.String(), again.String())
	}
	for _, text := range []string{
		"", "mysql", "mysql twice seed=1", "oracle exactly-once", "mysql exactly-once tables=ee write=1", "mysql exactly-once tables=x write=1",
		"mysql exactly-once write=1 tables=e speed=3", "mysql exactly-once write=1 tables=e | die@#0", "mysql exactly-once write=1 tables=e | fly@#1",
		"mysql exactly-once write=0 tables=e",
	} {
		_, err := sim.Parse(text)
		require.Error(t, err, text)
	}
}

// TestReduceKeepsWhatFails: of a long scenario that fails because of one act, that act is left.
func TestReduceKeepsWhatFails(t *testing.T) {
	s := sim.Draw(7)
	s.Lives = append(s.Lives, sim.Life{{What: sim.Kill, At: sim.Nth(9)}, {What: sim.Busy, At: sim.Nth(10)}})
	short := sim.Reduce(s, 1000, func(c sim.Scenario) bool {
		for _, l := range c.Lives {
			for _, a := range l {
				if a.What == sim.Busy && a.At == sim.Nth(10) && c.Records >= 3 {
					return true
				}
			}
		}
		return false
	})
	require.Len(t, short.Lives, 1)
	require.Equal(t, "busy@#10", short.Lives[0].String())
	require.Equal(t, 3, short.Records)
	require.Len(t, short.Tables, 1)
}
