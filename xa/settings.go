package xa

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"
)

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
		fmt.Sprintf("SET SESSION autocommit=1, sql_mode='%s', time_zone='%s', foreign_key_checks=1, unique_checks=1, "+
			"innodb_lock_wait_timeout=%d, lock_wait_timeout=%d, wait_timeout=%d",
			sqlMode, escape(c.TimeZone), seconds(c.LockWait), seconds(c.MetadataLockWait), idleTimeout),
	}
}

// flavourSettings are those that only one kind of server has.
func flavourSettings(f Flavour) []string {
	if f != MariaDB {
		return nil
	}
	// MariaDB can end an idle branch, or a statement, by a time limit of its own.
	return []string{"SET SESSION idle_write_transaction_timeout=0, idle_transaction_timeout=0, max_statement_time=0, " +
		"check_constraint_checks=1"}
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// escape makes s fit between single quotes, for a session without NO_BACKSLASH_ESCAPES.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s)
}

// connector opens connections with our settings. They are statements and no parameters of the DSN, so that they hold
// for a connector of the user's own too, and after whatever the DSN and init_connect set.
type connector struct {
	driver.Connector
	settings []string
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := set(ctx, conn, c.settings); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

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
