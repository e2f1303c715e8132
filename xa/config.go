package xa

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	defaultLockWait         = time.Second
	defaultMetadataLockWait = 5 * time.Second
	defaultStatementTimeout = 5 * time.Minute
	defaultDialTimeout      = 10 * time.Second

	// VerbTimeout follows StatementTimeout up to here.
	longestVerbTimeout = 30 * time.Second
	// verbMargin is what a verb has beyond a lock wait, so that 1205 comes as an answer and not as a doubt.
	verbMargin = 5 * time.Second
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
	orDefault(&c.StatementTimeout, defaultStatementTimeout)
	orDefault(&c.VerbTimeout, max(min(c.StatementTimeout, longestVerbTimeout), c.MetadataLockWait+verbMargin))
	if c.TimeZone == "" {
		c.TimeZone = "+00:00"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// String tells of c what may be shown: neither DSN nor Connector.
func (c Config) String() string {
	from := "nothing"
	switch {
	case c.Connector != nil:
		from = fmt.Sprintf("Connector (%s)", c.Address)
	case c.DSN != "":
		from = "DSN (not shown, it may hold a password)"
	}
	return fmt.Sprintf("xa.Config{%s, Job: %q, Run: %q, TimeZone: %q, LockWait: %s, MetadataLockWait: %s, VerbTimeout: %s, "+
		"StatementTimeout: %s}", from, c.Job, c.Run, c.TimeZone, c.LockWait, c.MetadataLockWait, c.VerbTimeout, c.StatementTimeout)
}

// Format is String for every verb.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// MarshalText is String, for encoders.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// silence is how long any connection waits for the server's next packet, whatever contexts say: longer than the longest
// statement that ends by itself.
func (c Config) silence() time.Duration {
	return max(c.StatementTimeout, c.VerbTimeout) + c.LockWait + c.MetadataLockWait
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
	return fmt.Errorf("configuration of the target server: %w", listed(problems...))
}

// Check tells everything that is wrong with c, as far as that can be told without connecting.
func (c Config) Check() error {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return err
	}
	_, _, err := c.dial()
	return err
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
	// Lists of the server are read by the names of their columns.
	parsed.ColumnsWithAlias = false
	if parsed.Timeout <= 0 {
		parsed.Timeout = defaultDialTimeout
	}
	if longest := max(c.LockWait, c.MetadataLockWait); parsed.ReadTimeout > 0 && parsed.ReadTimeout <= longest {
		return nil, "", fmt.Errorf("data source name: readTimeout is %s, and a statement may wait %s for a lock before the "+
			"server answers: make it longer, or leave it out", parsed.ReadTimeout, longest)
	}
	parsed.ReadTimeout = shorter(parsed.ReadTimeout, c.silence())
	parsed.WriteTimeout = shorter(parsed.WriteTimeout, c.silence())
	conn, err := mysql.NewConnector(parsed)
	if err != nil {
		return nil, "", errors.New("data source name: the driver refuses it, see that address, tls and connectionAttributes fit together")
	}
	return conn, parsed.Addr, nil
}

// shorter is the user's own limit where there is one below ours.
func shorter(users, ours time.Duration) time.Duration {
	if users > 0 && users < ours {
		return users
	}
	return ours
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
