package xa_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/xa"
)

// hostile sets variables on each of its connections, as init_connect, global values and a DSN can.
func hostile(t *testing.T, real servertest.Server, database string, variables map[string]string) driver.Connector {
	t.Helper()
	config, err := mysql.ParseDSN(real.DSN(database))
	require.NoError(t, err)
	config.Params = variables
	connector, err := mysql.NewConnector(config)
	require.NoError(t, err)
	return connector
}

// TestEverySessionSetsWhatChangesTheMeaningOfAStatement: those of DB too, whatever was set before. The driver's
// connection has the values first.
func TestEverySessionSetsWhatChangesTheMeaningOfAStatement(t *testing.T) {
	set := map[string][2]string{ // what was set, and what holds
		"autocommit":               {"0", "1"},
		"completion_type":          {"1", "NO_CHAIN"},
		"sql_mode":                 {"'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'", "NO_AUTO_VALUE_ON_ZERO,STRICT_TRANS_TABLES,STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"},
		"time_zone":                {"'+05:00'", "+00:00"},
		"foreign_key_checks":       {"0", "1"},
		"unique_checks":            {"0", "1"},
		"sql_select_limit":         {"1", "18446744073709551615"},
		"sql_safe_updates":         {"1", "0"},
		"sql_big_selects":          {"0", "1"},
		"sql_auto_is_null":         {"1", "0"},
		"innodb_lock_wait_timeout": {"77", "1"},
		"lock_wait_timeout":        {"77", "5"},
		"wait_timeout":             {"77", "28800"},
		"character_set_client":     {"latin1", "utf8mb4"},
		"character_set_connection": {"latin1", "utf8mb4"},
		"character_set_results":    {"latin1", "utf8mb4"},
	}
	only := map[xa.Flavour]map[string][2]string{
		xa.MySQL: {
			"max_execution_time": {"100", "0"}, "transaction_isolation": {"'SERIALIZABLE'", "READ-COMMITTED"},
			"transaction_read_only": {"1", "0"},
		},
		xa.MariaDB: {
			"max_statement_time": {"100", "0"}, "idle_transaction_timeout": {"77", "0"},
			"idle_readonly_transaction_timeout": {"77", "0"}, "idle_write_transaction_timeout": {"77", "0"},
			"check_constraint_checks": {"0", "1"}, "tx_isolation": {"'SERIALIZABLE'", "READ-COMMITTED"}, "tx_read_only": {"1", "0"},
		},
	}
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		all := maps.Clone(set)
		maps.Copy(all, only[real.Flavour])
		variables := map[string]string{}
		for name, v := range all {
			variables["@@session."+name] = v[0]
		}
		job := real.Job(t)
		server, err := xa.Connect(t.Context(), xa.Config{Connector: hostile(t, real, "", variables), Job: job})
		require.NoError(t, err)
		defer func() { require.NoError(t, server.Close()) }()
		pool := xa.NewPool(server, xa.PoolConfig{Job: job})
		defer func() { require.NoError(t, pool.Close(context.WithoutCancel(t.Context()))) }()
		session := take(t, pool)
		for where, q := range map[string]xa.Queryer{"DB": server.DB(), "session": session} {
			for name, v := range all {
				require.Equal(t, v[1], text(t, q, "SELECT @@SESSION."+name), "%s of %s", name, where)
			}
		}
	})
}

// TestASmallSelectLimitHidesNothing: rows, unique keys, prepared branches.
func TestASmallSelectLimitHidesNothing(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real, func(c *xa.Config) {
			parsed, err := mysql.ParseDSN(c.DSN)
			require.NoError(t, err)
			c.Connector, c.DSN = hostile(t, real, parsed.DBName, map[string]string{"sql_select_limit": "1"}), ""
		})
		servertest.Exec(t, r.admin, "INSERT INTO "+r.table()+" VALUES (101, 'a'), (102, 'b'), (103, 'c')")
		p := r.pool(t)
		first, second := take(t, p), take(t, p)
		one, two := r.prepare(t, first, 1), r.prepare(t, second, 2)
		for _, q := range []xa.Queryer{r.server.DB(), take(t, p)} {
			require.Equal(t, 3, count(t, q, "SELECT id FROM "+r.table()))
			found, err := r.server.Scan(t.Context(), q)
			require.NoError(t, err)
			require.Subset(t, found, []xa.XID{one.XID(), two.XID()})
		}
		require.NoError(t, first.Commit(t.Context(), one.XID()))
		require.NoError(t, second.Commit(t.Context(), two.XID()))
	})
}

// count is how many rows a query gives.
func count(t *testing.T, q xa.Queryer, query string) (n int) {
	t.Helper()
	rows, err := q.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		n++
	}
	require.NoError(t, rows.Err())
	return n
}

// TestColumnsKeepTheirNames: lists of the server are read by them, and columnsWithAlias would put the table in front.
func TestColumnsKeepTheirNames(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		server, err := xa.Connect(t.Context(), xa.Config{DSN: withOption(real.DSN(""), "columnsWithAlias=true")})
		require.NoError(t, err)
		defer func() { require.NoError(t, server.Close()) }()
		rows, err := server.DB().QueryContext(t.Context(), "SELECT TABLE_NAME FROM information_schema.TABLES AS t LIMIT 1")
		require.NoError(t, err)
		defer func() { _ = rows.Close() }()
		columns, err := rows.Columns()
		require.NoError(t, err)
		require.NoError(t, rows.Err())
		require.Equal(t, []string{"TABLE_NAME"}, columns)
	})
}

// TestAConnectorThatKeepsWritesFromReplicasIsRefused.
func TestAConnectorThatKeepsWritesFromReplicasIsRefused(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		server, err := xa.Connect(t.Context(), xa.Config{Connector: hostile(t, real, "", map[string]string{"sql_log_bin": "0"})})
		if servertest.Int(t, real.DB(t), "SELECT @@log_bin") == 0 {
			require.NoError(t, err, "there is no binary log to keep out of")
			require.NoError(t, server.Close())
			return
		}
		var refusal *xa.Refusal
		require.ErrorAs(t, err, &refusal)
		require.ErrorContains(t, err, "sql_log_bin is off")
	})
}

// TestAVariableOfTheUsersOwnIsNoneOfOurs, and one that only tunes the server is left alone.
func TestAVariableOfTheUsersOwnIsNoneOfOurs(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		server, err := xa.Connect(t.Context(), xa.Config{DSN: withOption(real.DSN(""), "@mine=7&@@session.group_concat_max_len=4321")})
		require.NoError(t, err)
		defer func() { require.NoError(t, server.Close()) }()
		require.Equal(t, "7 4321", text(t, server.DB(), "SELECT CONCAT(@mine, ' ', @@group_concat_max_len)"))
	})
}

func TestAnOptionWithABadValueIsExplained(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		for _, option := range []string{"net_write_timeout=abc", "sql_notes=%27", "max_connections=3", "version=3", "sql_notes=7"} {
			_, err := xa.Connect(t.Context(), xa.Config{DSN: withOption(real.DSN(""), option)})
			require.ErrorContains(t, err, "an option of the data source name sets a variable", "%s", option)
			require.NotContains(t, fmt.Sprintf("%+v", err), real.DSN("")[:12])
		}
	})
}
