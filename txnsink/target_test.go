package txnsink

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/xa"
)

// target is a database of one test on a real server, with sessions that have the settings of a sink's own.
type target struct {
	t        *testing.T
	server   servertest.Server
	database string
	db       *sql.DB
	can      xa.Abilities
	zone     *time.Location
}

func newTarget(t *testing.T, s servertest.Server) *target {
	t.Helper()
	g := &target{t: t, server: s, database: s.Database(t)}
	server, err := xa.Connect(t.Context(), xa.Config{DSN: s.DSN(g.database)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	g.db, g.can = server.DB(), server.Abilities()
	return g
}

func (g *target) exec(query string) {
	g.t.Helper()
	servertest.Exec(g.t, g.db, query)
}

// load is the catalog of tables, which have no problems.
func (g *target) load(tables ...Table) *catalog {
	g.t.Helper()
	c, err := loadTables(g.t.Context(), g.db, g.can, ledger.Ledger{}, tables, g.zone)
	require.NoError(g.t, err)
	return c
}

// problems are what loadTables finds wrong with tables.
func (g *target) problems(tables ...Table) []string {
	g.t.Helper()
	_, err := loadTables(g.t.Context(), g.db, g.can, ledger.Ledger{}, tables, g.zone)
	var all *ConfigError
	require.ErrorAs(g.t, err, &all)
	return all.Problems
}

// write sends a batch as a sink does, but statement by statement.
func (g *target) write(b *Batch) error {
	g.t.Helper()
	if err := b.validate(); err != nil {
		return err
	}
	e := newEncoder(b.catalog, 0)
	for _, lane := range b.lanes(nil) {
		err := e.statements(b, lane, func(s statement) error {
			result, err := g.db.ExecContext(g.t.Context(), s.sql)
			if err != nil {
				return s.failed(b, fmt.Errorf("branch x: %w", err))
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			return s.checkAffected(n)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rows is a query's result as text, NULL for NULL.
func (g *target) rows(query string) [][]string {
	g.t.Helper()
	rows, err := g.db.QueryContext(context.WithoutCancel(g.t.Context()), query)
	require.NoError(g.t, err, query)
	defer func() { require.NoError(g.t, rows.Close()) }()
	columns, err := rows.Columns()
	require.NoError(g.t, err)
	var all [][]string
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		require.NoError(g.t, rows.Scan(into...))
		row := make([]string, len(columns))
		for i, v := range values {
			row[i] = v.String
			if !v.Valid {
				row[i] = nullText
			}
		}
		all = append(all, row)
	}
	require.NoError(g.t, rows.Err())
	return all
}
