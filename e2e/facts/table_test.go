package facts_test

import (
	"context"
	"database/sql"
	"flag"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/e2e/servers"
	"github.com/xasink/xasink/xa/xasim/conformance"
)

var (
	measure = flag.String("measure", "", "write the conformance table to this file, with outcomes of real servers where it lacks them, instead of comparing")
	again   = flag.Bool("again", false, "with -measure: measure every line")
)

// The lines of the conformance table that act on a whole server, or kill it, hold on servers of their own. (All others
// are run by the table's own package.) With -measure every line is run, and the table is written anew.
func TestTableOnServersOfItsOwn(t *testing.T) {
	table, err := conformance.Load()
	require.NoError(t, err)
	got := &outcomes{byLine: map[int]map[string]string{}}
	t.Run("servers", func(t *testing.T) {
		for _, flavour := range []servers.Flavour{servers.MySQL, servers.MariaDB} {
			t.Run(string(flavour), func(t *testing.T) {
				t.Parallel()
				server := servers.OwnForTest(t, flavour)
				db, err := sql.Open("mysql", server.DSN())
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, db.Close()) })
				_, err = db.ExecContext(t.Context(), "CREATE DATABASE conformance")
				require.NoError(t, err)
				plain := plainUser(t, server, db)
				kinds := []string{"mysql", "attached"}
				if flavour == servers.MariaDB {
					kinds = []string{"mariadb"}
				}
				for _, kind := range kinds {
					t.Run(kind, func(t *testing.T) { runTable(t, table, kind, server, db, plain, got) })
				}
			})
		}
	})
	if *measure != "" {
		require.NoError(t, os.WriteFile(*measure, []byte(table.With(got.byLine)), 0o600))
	}
}

// plainUser is a user that may only read and write the tables of the table.
func plainUser(t *testing.T, server *servers.Server, db *sql.DB) *sql.DB {
	t.Helper()
	for _, q := range []string{
		"CREATE USER plain@'%' IDENTIFIED BY 'xasink-facts-1'",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON conformance.* TO plain@'%'",
	} {
		_, err := db.ExecContext(t.Context(), q)
		require.NoError(t, err)
	}
	config, err := mysql.ParseDSN(server.DSN())
	require.NoError(t, err)
	config.User, config.Passwd = "plain", "xasink-facts-1"
	plain, err := sql.Open("mysql", config.FormatDSN())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, plain.Close()) })
	return plain
}

type outcomes struct {
	mu     sync.Mutex
	byLine map[int]map[string]string
}

func (o *outcomes) add(line int, kind, outcome string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byLine[line] == nil {
		o.byLine[line] = map[string]string{}
	}
	o.byLine[line][kind] = outcome
}

func runTable(t *testing.T, table *conformance.Table, kind string, server *servers.Server, db, plain *sql.DB, got *outcomes) {
	t.Helper()
	target := conformance.Target{
		Kind: kind, DB: db, Plain: plain, Database: "conformance", Settle: 100 * time.Millisecond,
		Restart: func(ctx context.Context) error {
			if err := server.Kill(ctx); err != nil {
				return err
			}
			return server.Restart(ctx)
		},
	}
	for _, c := range table.Cases {
		if *measure == "" && !table.Exclusive(c) || *measure != "" && c.Want[kind] != "" && !*again {
			continue
		}
		t.Run(c.Name(), func(t *testing.T) {
			outcome, err := table.Run(t.Context(), target, c)
			if *measure == "" {
				require.NoError(t, err)
				require.True(t, c.Allows(kind, outcome), "want %s, got %s", c.Want[kind], outcome)
				return
			}
			if err != nil {
				t.Logf("it was not measured: %v", err)
				outcome = "?"
			}
			got.add(c.Line, kind, outcome)
		})
	}
}
