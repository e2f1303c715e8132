package xa

import (
	"context"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// A session's variables may come from the server's globals, from init_connect, from the DSN, or from a connector. What
// could change silently what a statement reads or writes is either set by every session of ours, those of [Server.DB]
// too, or refused:
//
//   - Set: autocommit, character set and collation of the connection (SET NAMES), transaction isolation and access
//     mode, completion_type (with CHAIN a COMMIT would open the next transaction), sql_mode, time_zone,
//     foreign_key_checks, unique_checks, check_constraint_checks (MariaDB), sql_select_limit (a small one hides rows; its
//     DEFAULT is the global value, so the maximum is spelled out), sql_safe_updates and sql_big_selects (they refuse
//     statements), sql_auto_is_null, the lock waits, wait_timeout, and every time limit of the server's own:
//     max_execution_time (MySQL), max_statement_time, idle_transaction_timeout, idle_readonly_transaction_timeout,
//     idle_write_transaction_timeout (MariaDB).
//   - Refused: sql_log_bin off where there is a binary log, binlog_format=STATEMENT, multiStatements,
//     innodb_rollback_on_timeout.
//   - Refused in a DSN, in any spelling: what is set, and the keys of ours below that no session can set without a
//     privilege, or that only a DSN could set: timestamp (MariaDB's secure_timestamp refuses even its DEFAULT), insert_id,
//     last_insert_id, sql_log_bin, skip_replication, pseudo_slave_mode, pseudo_replica_mode.
//   - Left alone, as choices of the administrator that change neither reads nor what a given row holds:
//     auto_increment_increment and auto_increment_offset (ids that the server gives), sql_require_primary_key,
//     sql_generate_invisible_primary_key, sql_if_exists, innodb_strict_mode and explicit_defaults_for_timestamp (they are
//     about DDL, and our tables name their keys and defaults; rows never give NULL to a NOT NULL column), binlog_row_image,
//     net_read_timeout and net_write_timeout (a lost session, which is noticed), optimizer settings, max_sort_length,
//     lc_messages (an error's number counts, its text only in 1399, where the careful verdict is the default).
//     query_cache_type of MariaDB too: XA COMMIT was seen to invalidate it (11.8).
//   - Left alone because no statement of ours depends on it: group_concat_max_len, default_week_format, lc_time_names,
//     div_precision_increment, rand_seed1, rand_seed2, sql_notes, system_versioning_asof.

// ours are the session variables that a DSN cannot set, and why, or what to use instead.
var ours = map[string]string{
	"autocommit":                        "a branch needs autocommit=1 before its XA START",
	"completion_type":                   "a COMMIT ends a transaction, and starts none",
	"character_set_client":              "every session speaks utf8mb4",
	"character_set_connection":          "every session speaks utf8mb4",
	"character_set_results":             "every session speaks utf8mb4",
	"collation_connection":              "every session speaks utf8mb4",
	"sql_mode":                          "every session runs in strict mode",
	"time_zone":                         "use Config.TimeZone",
	"transaction_isolation":             "every session runs at READ COMMITTED",
	"tx_isolation":                      "every session runs at READ COMMITTED",
	"transaction_read_only":             "every session writes",
	"tx_read_only":                      "every session writes",
	"innodb_lock_wait_timeout":          "xasink sets it: a short one, because a lock may be its own",
	"lock_wait_timeout":                 "xasink sets it: a short one, because a lock may be its own",
	"wait_timeout":                      "it is set to 8 hours",
	"foreign_key_checks":                "it is always on",
	"unique_checks":                     "it is always on",
	"check_constraint_checks":           "it is always on",
	"sql_select_limit":                  "it would hide rows; it is always at its maximum",
	"sql_safe_updates":                  "it is always off",
	"sql_big_selects":                   "it is always on",
	"max_join_size":                     "there is never a limit",
	"sql_auto_is_null":                  "it is always off",
	"idle_transaction_timeout":          "it is always off",
	"idle_readonly_transaction_timeout": "it is always off",
	"idle_write_transaction_timeout":    "it is always off",
	"max_statement_time":                "use Config.StatementTimeout",
	"max_execution_time":                "use Config.StatementTimeout",
	"timestamp":                         "the server's clock gives the time",
	"insert_id":                         "the server gives ids",
	"last_insert_id":                    "the server gives ids",
	"sql_log_bin":                       "replicas would miss rows",
	"skip_replication":                  "replicas would miss rows",
	"pseudo_slave_mode":                 "it changes what PREPARE does",
	"pseudo_replica_mode":               "it changes what PREPARE does",
	"max_allowed_packet":                "it is the server's to set; batches are cut to fit it",
	"xa_detach_on_prepare":              "a server is used as it is set up",
}

// sqlMode turns every bad value into an error, and keeps a 0 in an AUTO_INCREMENT column a 0. NO_BACKSLASH_ESCAPES and
// ANSI_QUOTES would change how literals are read, so they are absent whatever the server's own mode is.
const sqlMode = "STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_VALUE_ON_ZERO"

// idleTimeout is wait_timeout of every session, seconds: a session in a branch may be idle for a checkpoint interval.
const idleTimeout = 28800

// commonSettings are the statements that every session runs after connecting, on any server.
func commonSettings(c Config) []string {
	return []string{
		"SET NAMES utf8mb4",
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
		fmt.Sprintf("SET SESSION autocommit=1, completion_type='NO_CHAIN', sql_mode='%s', time_zone='%s', "+
			"foreign_key_checks=1, unique_checks=1, sql_select_limit=18446744073709551615, sql_safe_updates=0, "+
			"sql_big_selects=1, sql_auto_is_null=0, innodb_lock_wait_timeout=%d, lock_wait_timeout=%d, wait_timeout=%d",
			sqlMode, escape(c.TimeZone), seconds(c.LockWait), seconds(c.MetadataLockWait), idleTimeout),
	}
}

// flavourSettings are those that only one kind of server has: it can end an idle branch, or a statement, by a time limit
// of its own.
func flavourSettings(f Flavour) []string {
	if f == MariaDB {
		return []string{"SET SESSION idle_transaction_timeout=0, idle_readonly_transaction_timeout=0, " +
			"idle_write_transaction_timeout=0, max_statement_time=0, check_constraint_checks=1"}
	}
	return []string{"SET SESSION max_execution_time=0"}
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// escape makes s fit between single quotes, for a session without NO_BACKSLASH_ESCAPES.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s)
}

// connector opens connections with our settings, each within a time. Settings are statements and no parameters of the
// DSN, so that they hold for a connector of the user's own too, and after whatever the DSN and init_connect set.
type connector struct {
	driver.Connector
	settings []string
	within   time.Duration // for all of it
	log      *slog.Logger
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	run, cancel := within(ctx, c.within)
	defer cancel()
	conn, err := c.greet(run)
	if err != nil {
		return nil, told(run, err)
	}
	if err := set(run, conn, c.settings); err != nil {
		_ = conn.Close()
		return nil, told(run, err)
	}
	return conn, nil
}

// greet is the driver's Connect. The driver panics at some greetings that are not of the MySQL protocol, among them that
// of MySQL's X protocol, port 33060 (seen with go-sql-driver 1.10.1, MySQL 9.7). What it had opened stays open then.
func (c *connector) greet(ctx context.Context) (conn driver.Conn, err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		fault, ok := p.(runtime.Error)
		if !ok {
			panic(p)
		}
		c.log.LogAttrs(ctx, slog.LevelDebug, "the driver panicked while it connected", slog.String("stack", string(debug.Stack())))
		conn, err = nil, &greetingError{fault}
	}()
	return c.Connector.Connect(ctx)
}

// greetingError is an answer that the driver can make nothing of.
type greetingError struct{ cause error }

func (e *greetingError) Error() string {
	return fmt.Sprintf("what answers there does not speak the MySQL protocol (%s)", e.cause)
}

func (e *greetingError) Unwrap() error { return e.cause }

func set(ctx context.Context, conn driver.Conn, settings []string) error {
	execer, ok := conn.(driver.ExecerContext)
	if !ok {
		return fmt.Errorf("the driver's connection %T runs no plain statements (driver.ExecerContext)", conn)
	}
	for _, s := range settings {
		if _, err := execer.ExecContext(ctx, s, nil); err != nil {
			return &settingError{statement: s, err: err}
		}
	}
	return nil
}

// settingError is a session that does not take our settings.
type settingError struct {
	statement string
	err       error
}

func (e *settingError) Error() string {
	return fmt.Sprintf("the session does not take its settings (%s): %s", e.statement, e.err)
}

func (e *settingError) Unwrap() error { return e.err }
