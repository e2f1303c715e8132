// Package flightstest runs jobs of package flights in tests, as processes that are killed and started again.
package flightstest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/e2e/demo/flights"
	"github.com/xasink/xasink/e2e/servers"
)

// Main is the whole of a TestMain: a worker where flights.Launch started this program, and the tests otherwise. Most of a
// case is waiting for a server, so more of them run at once than there are processors.
func Main(m *testing.M) {
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

// EachFlavour runs fn with a server of each kind, which may be shared with others.
func EachFlavour(t *testing.T, fn func(t *testing.T, s *servers.Server)) {
	t.Helper()
	for _, flavour := range []servers.Flavour{servers.MySQL, servers.MariaDB} {
		t.Run(string(flavour), func(t *testing.T) { fn(t, servers.ForTest(t, flavour)) })
	}
}

// A short job has Rows rows in Writes of WriteRows, and a checkpoint every CheckpointWrites of them. Where the server
// detaches branches a whole checkpoint has four branches of flights and one of totals, elsewhere one of each.
const (
	Rows             = 2000
	WriteRows        = 100
	CheckpointWrites = 8
)

// Branches is how many branches a whole checkpoint of a short job has.
func Branches(flavour servers.Flavour) int {
	if flavour == servers.MariaDB {
		return 2
	}
	return 5
}

// ShortFile is the first Rows records of the flights in a file of the test's own.
func ShortFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flights.csv")
	require.NoError(t, flights.Shorten(path, Rows))
	return path
}

// NewStand is a short job on s that reads input, cleared after the test. Its databases begin with prefix.
func NewStand(t *testing.T, s *servers.Server, prefix, input string) *flights.Stand {
	t.Helper()
	stand, err := flights.NewStand(t.Context(), s.DSN(), prefix)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stand.Clear()) })
	stand.Job.Input = input
	stand.Job.WriteRows, stand.Job.CheckpointWrites, stand.Job.SegmentRows = WriteRows, CheckpointWrites, 200
	if s.Flavour == servers.MariaDB {
		stand.Job.SegmentRows = 100_000
	}
	return stand
}

// Live runs a worker with a fault script and wants it killed there.
func Live(t *testing.T, stand *flights.Stand, script string) flights.End {
	t.Helper()
	job := stand.Job
	job.Faults = script
	end, err := flights.Launch(t.Context(), job, nil)
	require.NoError(t, err)
	require.True(t, end.Killed, "%s: the worker was not killed, it ended with code %d: %s", script, end.Code, end.Message)
	return end
}

// Finish runs a worker without faults to its end, and wants each row once and nothing left.
func Finish(t *testing.T, stand *flights.Stand) flights.End {
	t.Helper()
	end, err := flights.Launch(t.Context(), stand.Job, nil)
	require.NoError(t, err)
	require.True(t, end.Finished, "the worker did not finish, it ended with code %d: %s", end.Code, end.Message)
	result, err := flights.Inspect(t.Context(), stand.DB, stand.Job.Name, stand.Job.Input)
	require.NoError(t, err)
	require.True(t, result.Exact(), "%+v", result)
	return end
}
