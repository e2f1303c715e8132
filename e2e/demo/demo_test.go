package demo

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/xasink/xasink/e2e/demo/flights"
	"github.com/xasink/xasink/e2e/servers"
)

func TestMain(m *testing.M) {
	if flights.IsWorker() {
		os.Exit(flights.WorkerMain())
	}
	goleak.VerifyTestMain(m)
}

func eachFlavour(t *testing.T, fn func(t *testing.T, s *servers.Server)) {
	t.Helper()
	for _, flavour := range []servers.Flavour{servers.MySQL, servers.MariaDB} {
		t.Run(string(flavour), func(t *testing.T) {
			s := servers.ForTest(t, flavour)
			t.Setenv(flavour.DSNVariable(), s.DSN())
			fn(t, s)
		})
	}
}

func TestDemoEndsExactlyOnce(t *testing.T) {
	eachFlavour(t, func(t *testing.T, s *servers.Server) {
		t.Setenv("TMPDIR", t.TempDir())
		before := demoDatabases(t, s)
		var out bytes.Buffer
		require.NoError(t, Run(t.Context(), Options{Flavour: s.Flavour, Out: &out}), "%s", &out)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.Equal(t, "exactly once: 20000 of 20000 rows, 0 missing, 0 doubled, totals equal", lines[len(lines)-1])
		for _, want := range []string{"killed after a PREPARE", "killed after a decision", "killed between two COMMITs", "branches left on the server: 0"} {
			require.Contains(t, out.String(), want)
		}
		require.NotContains(t, out.String(), "\r", "no bar in a pipe")
		require.Equal(t, before, demoDatabases(t, s), "what the demo made is gone")
		requireEmptyTemp(t)
	})
}

func TestInterruptedDemoClearsAway(t *testing.T) {
	eachFlavour(t, func(t *testing.T, s *servers.Server) {
		t.Setenv("TMPDIR", t.TempDir())
		before := demoDatabases(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		out := &cancelAt{text: "killed with SIGKILL after a decision", cancel: cancel}
		require.ErrorIs(t, Run(ctx, Options{Flavour: s.Flavour, Out: out}), context.Canceled)
		require.Equal(t, before, demoDatabases(t, s))
		requireEmptyTemp(t)
	})
}

// cancelAt ends a context when a text was written.
type cancelAt struct {
	bytes.Buffer
	text   string
	cancel context.CancelFunc
}

func (c *cancelAt) Write(p []byte) (int, error) {
	n, err := c.Buffer.Write(p)
	if strings.Contains(c.String(), c.text) {
		c.cancel()
	}
	return n, err
}

// With a kill that never comes the demo proves nothing, and says so.
func TestDemoFailsWhenAKillDoesNotHappen(t *testing.T) {
	s := servers.ForTest(t, servers.MySQL)
	stand, err := flights.NewStand(t.Context(), s.DSN(), "xasink_demo_test")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stand.Clear()) })
	p := planFor(servers.MySQL)
	p.stages[0].faults = "kill@after:xa-prepare#1000"
	var out bytes.Buffer
	_, err = liveAndDie(t.Context(), stand.Job, p, newScreen(&out, false))
	require.ErrorContains(t, err, "was to be killed after a PREPARE (kill@after:xa-prepare#1000) and ended with code 0")
}

func TestWhatAStartMustFind(t *testing.T) {
	stages := planFor(servers.MySQL).stages
	right := []flights.Opening{{RolledBack: 2, Already: 5}, {Committed: 5}, {Already: 1, Committed: 4}}
	wrong := [][]flights.Opening{
		{{}, {Committed: 2}, {RolledBack: 1, Committed: 1}},
		{{}, {Committed: 4}, {Committed: 5, RolledBack: 1}},
		{{Already: 5}, {Committed: 5}, {Already: 1, Committed: 3}},
	}
	for i, o := range right {
		require.NoError(t, stages[i].recovers(o))
		for _, w := range wrong[i] {
			require.Error(t, stages[i].recovers(w), "%s: %+v", stages[i].moment, w)
		}
	}
}

func TestVerdict(t *testing.T) {
	exact := flights.Result{Source: 10, Target: 10, Right: 10}
	require.Equal(t, "exactly once: 10 of 10 rows, 0 missing, 0 doubled, totals equal", verdict(exact))
	for want, change := range map[string]func(*flights.Result){
		"not exactly once: 9 of 10 rows, 1 missing, 0 doubled, totals equal":                   func(r *flights.Result) { r.Right, r.Missing, r.Target = 9, 1, 9 },
		"not exactly once: 9 of 10 rows, 0 missing, 1 doubled, totals equal":                   func(r *flights.Result) { r.Right, r.Doubled, r.Target = 9, 1, 11 },
		"not exactly once: 10 of 10 rows, 0 missing, 0 doubled, totals differ":                 func(r *flights.Result) { r.Totals = 1 },
		"not exactly once: 10 of 10 rows, 0 missing, 0 doubled, totals equal, 1 branches left": func(r *flights.Result) { r.Left = []string{"x"} },
	} {
		r := exact
		change(&r)
		require.Equal(t, want, verdict(r))
		require.False(t, r.Exact())
	}
}

func TestScreen(t *testing.T) {
	var pipe, terminal bytes.Buffer
	for _, s := range []*screen{newScreen(&pipe, false), newScreen(&terminal, true)} {
		for rows := int64(500); rows <= 10_000; rows += 500 {
			s.progress(rows, 20_000)
		}
		_, err := s.Write([]byte("half a "))
		require.NoError(t, err)
		_, err = s.Write([]byte("line\n"))
		require.NoError(t, err)
		s.line("done %d", 1)
	}
	require.Equal(t, "worker: 4000 of 20000 rows written\nworker: 8000 of 20000 rows written\nhalf a line\ndone 1\n", pipe.String())
	require.Contains(t, terminal.String(), "\r[####################....................] 10000 of 20000 rows")
	require.True(t, strings.HasSuffix(terminal.String(), "\rhalf a line\ndone 1\n"))
}

func demoDatabases(t *testing.T, s *servers.Server) (names []string) {
	t.Helper()
	config, err := mysql.ParseDSN(s.DSN())
	require.NoError(t, err)
	config.DBName = ""
	db, err := sql.Open("mysql", config.FormatDSN())
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	rows, err := db.QueryContext(t.Context(), `SHOW DATABASES LIKE 'xasink\_demo\_%'`)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(t, rows.Err())
	return names
}

func requireEmptyTemp(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "xasink-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
