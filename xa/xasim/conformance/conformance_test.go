package conformance_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/xa"
	"github.com/xasink/xasink/xa/xasim"
	"github.com/xasink/xasink/xa/xasim/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func load(t *testing.T) *conformance.Table {
	t.Helper()
	table, err := conformance.Load()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(table.Cases), 150)
	return table
}

// The simulator does what the table says, on each kind and in every line.
func TestTheSimulatorDoesWhatTheTableSays(t *testing.T) {
	table := load(t)
	for _, kind := range xasim.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			for _, c := range table.Cases {
				t.Run(c.Name(), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						server := xasim.New(kind)
						db := sql.OpenDB(server.Connector())
						defer func() { require.NoError(t, db.Close()) }()
						plain := sql.OpenDB(server.ConnectorFor(xasim.Account{User: "plain", Denied: xasim.AllRights &^ xasim.Rows}))
						defer func() { require.NoError(t, plain.Close()) }()
						_, err := db.ExecContext(t.Context(), "CREATE DATABASE conformance")
						require.NoError(t, err)
						got, err := table.Run(t.Context(), conformance.Target{
							Kind: kind.String(), DB: db, Plain: plain, Database: "conformance",
							Restart: func(context.Context) error { server.Restart(xasim.Crash{}); return nil },
						}, c)
						require.NoError(t, err)
						require.True(t, c.Allows(kind.String(), got), "want %s, got %s", c.Want[kind.String()], got)
					})
				})
			}
		})
	}
}

// atOnce is how many cases run on one real server at a time. Most of a case is waiting for a time limit of the server.
const atOnce = 16

// Real servers do what the table says, in every line that disturbs nobody else on the server. (Those that do are run
// by module e2e, on servers of its own.)
func TestRealServersDoWhatTheTableSays(t *testing.T) {
	table := load(t)
	for _, kind := range conformance.Kinds {
		t.Run(kind, func(t *testing.T) {
			flavour := xa.MySQL
			if kind == "mariadb" {
				flavour = xa.MariaDB
			}
			server := servertest.Get(t, flavour)
			database := server.Database(t)
			user, password := server.User(t, "SELECT, INSERT, UPDATE, DELETE ON `"+database+"`.*")
			plain, err := sql.Open("mysql", server.UserDSN(user, password, ""))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, plain.Close()) })
			target := conformance.Target{
				Kind: kind, DB: server.DB(t), Plain: plain, Database: database, Settle: 100 * time.Millisecond,
			}
			for i, r := range runAll(t, table, target) {
				if table.Exclusive(table.Cases[i]) {
					continue
				}
				t.Run(table.Cases[i].Name(), func(t *testing.T) {
					require.NoError(t, r.err)
					want := table.Cases[i].Want[kind]
					require.True(t, table.Cases[i].Allows(kind, r.outcome), "want %s, got %s", want, r.outcome)
				})
			}
		})
	}
}

type result struct {
	outcome string
	err     error
}

// runAll runs every case that does not need a server of its own; the results are in the order of the cases.
func runAll(t *testing.T, table *conformance.Table, target conformance.Target) []result {
	t.Helper()
	results := make([]result, len(table.Cases))
	next := make(chan int)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for i := range next {
				results[i].outcome, results[i].err = table.Run(t.Context(), target, table.Cases[i])
			}
		})
	}
	for i, c := range table.Cases {
		if !table.Exclusive(c) {
			next <- i
		}
	}
	close(next)
	workers.Wait()
	return results
}
