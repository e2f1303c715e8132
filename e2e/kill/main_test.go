package kill_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/xasink/xasink/e2e/demo/flights"
)

// TestMain is a worker where flights.Launch started this program, and the tests otherwise. Most of a case is waiting for a
// server, so more of them run at once than there are processors.
func TestMain(m *testing.M) {
	if flights.IsWorker() {
		os.Exit(flights.WorkerMain())
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("6"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}
