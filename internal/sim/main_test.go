package sim_test

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

var (
	cycles     = flag.Int64("sim.n", 0, "cycles of the random simulation, which then prints a last line of its sums; 0: a sample")
	seed       = flag.Uint64("sim.seed", 0, "first seed of the random simulation; 0: drawn")
	script     = flag.String("sim.script", "", "a scenario to run again, with everything that happens")
	everything = flag.Bool("sim.all", false, "try everything that is exhaustive, however long it takes")
	seconds    = flag.Duration("sim.time", 0, "time for the random simulation instead of a number; 0: none")
)

// lastLine is printed behind what the testing package prints.
var lastLine string

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(1600) // a run leaves nothing behind, and its servers are small
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if lastLine != "" {
		fmt.Println(lastLine)
	}
	os.Exit(code)
}
