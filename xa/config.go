package xa

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	defaultLockWait         = time.Second
	defaultMetadataLockWait = 5 * time.Second
	defaultVerbTimeout      = 30 * time.Second
	defaultStatementTimeout = 5 * time.Minute
	defaultDialTimeout      = 10 * time.Second
)

// withDefaults is c with its zero values filled in.
func (c Config) withDefaults() Config {
	orDefault := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	orDefault(&c.LockWait, defaultLockWait)
	orDefault(&c.MetadataLockWait, defaultMetadataLockWait)
	orDefault(&c.VerbTimeout, defaultVerbTimeout)
	orDefault(&c.StatementTimeout, defaultStatementTimeout)
	if c.TimeZone == "" {
		c.TimeZone = "+00:00"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// validate tells every problem of c, which has its defaults, in one error.
func (c Config) validate() error {
	var problems []error
	whole := func(name string, d time.Duration) {
		if d < time.Second || d%time.Second != 0 {
			problems = append(problems, fmt.Errorf("%s is %s: want whole seconds, at least 1s", name, d))
		}
	}
	positive := func(name string, d time.Duration) {
		if d < 0 {
			problems = append(problems, fmt.Errorf("%s is %s: it cannot be negative", name, d))
		}
	}
	whole("LockWait", c.LockWait)
	whole("MetadataLockWait", c.MetadataLockWait)
	positive("VerbTimeout", c.VerbTimeout)
	positive("StatementTimeout", c.StatementTimeout)
	if (c.DSN == "") == (c.Connector == nil) {
		problems = append(problems, errors.New("want either DSN or Connector"))
	}
	if c.Job != "" {
		if err := CheckJob(c.Job); err != nil {
			problems = append(problems, err)
		}
	}
	if strings.ContainsAny(c.Run, ",:") {
		problems = append(problems, fmt.Errorf("run %q: it becomes a connection attribute, so it cannot hold a comma or a colon", c.Run))
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("configuration of the target server: %w", errors.Join(problems...))
}

// dial is the connector to use and the server's address for people.
func (c Config) dial() (driver.Connector, string, error) {
	if c.Connector != nil {
		address := c.Address
		if address == "" {
			address = "the configured connector"
		}
		return c.Connector, address, nil
	}
	parsed, err := parseDSN(c.DSN)
	if err != nil {
		return nil, "", err
	}
	parsed.ConnectionAttributes = attributes(parsed.ConnectionAttributes, c.Job, c.Run)
	parsed.Logger = driverLog{c.Logger}
	// Ask the server: a limit of the driver's own that is above the server's costs the connection.
	parsed.MaxAllowedPacket = 0
	// It would turn a definite refusal, 1290, into a lost connection.
	parsed.RejectReadOnly = false
	if parsed.Timeout == 0 {
		parsed.Timeout = defaultDialTimeout
	}
	conn, err := mysql.NewConnector(parsed)
	if err != nil {
		return nil, "", errors.New("data source name: the driver refuses it, see that address, tls and connectionAttributes fit together")
	}
	return conn, parsed.Addr, nil
}

// ours are the session variables that the package sets, and what to use instead.
var ours = map[string]string{
	"autocommit":                     "a branch needs autocommit=1 before its XA START",
	"sql_mode":                       "every session runs in strict mode",
	"time_zone":                      "use Config.TimeZone",
	"transaction_isolation":          "every session runs at READ COMMITTED",
	"tx_isolation":                   "every session runs at READ COMMITTED",
	"transaction_read_only":          "every session writes",
	"tx_read_only":                   "every session writes",
	"innodb_lock_wait_timeout":       "use Config.LockWait",
	"lock_wait_timeout":              "use Config.MetadataLockWait",
	"wait_timeout":                   "it is set to 8 hours",
	"foreign_key_checks":             "it is always on",
	"unique_checks":                  "it is always on",
	"xa_detach_on_prepare":           "a server is used as it is set up",
	"idle_transaction_timeout":       "it is always off",
	"idle_write_transaction_timeout": "it is always off",
	"max_statement_time":             "use Config.StatementTimeout",
	"check_constraint_checks":        "it is always on",
}

// parseDSN reads a data source name and refuses what would break a branch. No error of it shows a piece of the DSN
// that might be part of a password.
func parseDSN(dsn string) (*mysql.Config, error) {
	parsed, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, unreadable(dsn, err)
	}
	var problems []error
	if parsed.MultiStatements {
		problems = append(problems, errors.New(
			"multiStatements=true: of several statements in one packet nobody can tell which one failed; remove it"))
	}
	if parsed.ClientFoundRows {
		problems = append(problems, errors.New(
			"clientFoundRows=true: it changes the meaning of affected rows, which are checked; remove it"))
	}
	for _, name := range sortedKeys(parsed.Params) {
		if why, ok := ours[strings.ToLower(name)]; ok {
			problems = append(problems, fmt.Errorf("%s cannot be set there: %s", strings.ToLower(name), why))
		}
		if option := misspelled(name); option != "" {
			problems = append(problems, fmt.Errorf("an option of the driver is written %s", option))
		}
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("data source name: %w", errors.Join(problems...))
	}
	return parsed, nil
}

// driverOptions are the DSN options of the driver that take a value which can be wrong.
var driverOptions = []string{
	"allowAllFiles", "allowCleartextPasswords", "allowFallbackToPlaintext", "allowNativePasswords",
	"allowOldPasswords", "charset", "checkConnLiveness", "clientFoundRows", "collation", "columnsWithAlias", "compress",
	"connectionAttributes", "interpolateParams", "loc", "maxAllowedPacket", "multiStatements", "parseTime",
	"readTimeout", "rejectReadOnly", "serverPubKey", "strict", "timeTruncate", "timeout", "tls", "writeTimeout",
}

// misspelled is the driver option that name means but for its capitals, else "".
func misspelled(name string) string {
	for _, option := range driverOptions {
		if name != option && strings.EqualFold(name, option) {
			return option
		}
	}
	return ""
}

// unreadable says what is wrong with dsn. A password with a slash or a question mark in it can be cut anywhere, so
// nothing of dsn is shown but the name of an option that the driver is known to have.
func unreadable(dsn string, err error) error {
	const want = "want user:password@tcp(host:port)/database?option=value"
	if reason, ok := strings.CutPrefix(err.Error(), "invalid DSN: "); ok {
		return fmt.Errorf("data source name: %s; %s", reason, want)
	}
	_, options, _ := strings.Cut(dsn[strings.LastIndexByte(dsn, '/')+1:], "?")
	for option := range strings.SplitSeq(options, "&") {
		name, _, _ := strings.Cut(option, "=")
		if !slices.Contains(driverOptions, name) {
			continue
		}
		if _, err := mysql.ParseDSN("/?" + option); err != nil {
			return fmt.Errorf("data source name: the value of option %s is not understood; %s", name, want)
		}
	}
	return fmt.Errorf("data source name: it cannot be read; %s", want)
}

// attributes adds ours to the user's own.
func attributes(user, job, run string) string {
	all := []string{"program_name:xasink"}
	if job != "" {
		all = append(all, "xa_job:"+job)
	}
	if run != "" {
		all = append(all, "xa_run:"+run)
	}
	if user != "" {
		all = append(all, user)
	}
	return strings.Join(all, ",")
}

// driverLog sends what the driver would print on stderr to the logger.
type driverLog struct{ log *slog.Logger }

func (d driverLog) Print(v ...any) {
	d.log.LogAttrs(context.Background(), slog.LevelDebug, "driver", slog.String("message", strings.TrimSpace(fmt.Sprintln(v...))))
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
