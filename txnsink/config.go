package txnsink

import (
	"context"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// Mode is the delivery guarantee of a sink.
type Mode uint8

const (
	// ExactlyOnce stages rows in XA branches.
	ExactlyOnce Mode = iota
	// AtLeastOnce writes rows in autocommit: when BatchRows of them are gathered, at a flush signal and before each
	// decision. No branches, no proof rows. Rows can be seen before the checkpoint and are repeated after a failure; an
	// upsert that overwrites is its companion. An insert that is repeated fails at a unique key, or is there twice where
	// the table has none; a column in Add counts it twice. The opening logs a warning for such tables.
	AtLeastOnce
)

func (m Mode) String() string {
	switch m {
	case ExactlyOnce:
		return "exactly once"
	case AtLeastOnce:
		return "at least once"
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// Config configures a [Sink]. Zero values mean the default that is named; Job, Store, Tables, Start and one of DSN and
// Connector are required.
type Config struct {
	// Job names the pipeline: 1 to 40 of a-z 0-9 . _ -. It stays the same over restarts and deployments, and is part
	// of every XID; two jobs with one name on one server stop each other.
	Job string
	// DSN is a data source name of github.com/go-sql-driver/mysql, such as user:password@tcp(host:3306)/database.
	DSN string
	// Connector is used instead of DSN, for dialers of the user's own. Address then names the server in errors.
	Connector driver.Connector
	Address   string
	// Store keeps the decisions. The sink does not close it.
	Store state.Store
	// Tables lists every table that rows go to.
	Tables []Table
	// Start gives a new job's first position, concrete ("latest" resolved). It is called by Open as long as no
	// position is stored.
	Start func(ctx context.Context) ([]byte, error)
	// Source names the source in decisions; "" is "source". It may not change while a job lives.
	Source string
	// Mode; the default is ExactlyOnce.
	Mode Mode

	// FlushInterval is the time between two flush signals that Write and Tick give by themselves; 0 is none.
	FlushInterval time.Duration
	// CheckpointInterval is the longest time between two checkpoints while there is something to commit; 0 is 10 s.
	CheckpointInterval time.Duration

	// MaxSegmentRows and MaxSegmentBytes close a segment at the end of the Write that reaches them: a branch is
	// prepared where the lane can be split, else a checkpoint is cut. 0: 100,000 rows, 64 MiB.
	MaxSegmentRows  int64
	MaxSegmentBytes int64
	// MaxPending bounds the prepared branches that are not yet committed; at it splitting stops. 0 is 256. It must be
	// at least the number of lanes.
	MaxPending int
	// MaxIndexKeys bounds the keys in prepared branches that are remembered, 11 to 21 bytes each; at it lanes that do
	// more than insert are not split any more before the next checkpoint. 0 is 2,000,000.
	MaxIndexKeys int
	// MaxBatchBytes bounds the rows of one Write; a larger batch is refused. 0 is 64 MiB.
	MaxBatchBytes int
	// BatchRows is the most rows of one statement; 0 is 1000.
	BatchRows int

	// LedgerDatabase holds the ledger; "" is "xasink". All installations that share a server share it.
	LedgerDatabase string
	// TimeZone of the sessions, in which times are written: "+00:00" (the default), another offset, or a name.
	TimeZone string
	// DetachWait is waited on attached servers after the last session of an older owner has ended; 0 is 1 s, the least.
	DetachWait time.Duration
	// DecisionTimeout bounds the repeats of a decision's write that is in doubt; 0 is 1 min.
	DecisionTimeout time.Duration
	// CommitTimeout bounds the commits of one decision, repeats included; 0 is 2 min.
	CommitTimeout time.Duration
	// StatementTimeout bounds one statement with rows; 0 is 5 min. An answer to a verb is waited for as long, but 30 s at
	// most and 10 s at least.
	StatementTimeout time.Duration

	// Logger; nil discards.
	Logger *slog.Logger
	// Observer is told what happens; its zero value listens to nothing.
	Observer Observer
	// Faults acts at the points of package fault; nil for none.
	Faults fault.Injector
}

// WriterConfig configures a [Writer]. The fields are those of [Config].
type WriterConfig struct {
	Job              string
	Run              uuid.UUID // of the process run, for people
	DSN              string
	Connector        driver.Connector
	Address          string
	Tables           []Table
	Mode             Mode
	MaxSegmentRows   int64
	MaxSegmentBytes  int64
	MaxPending       int
	MaxIndexKeys     int
	MaxBatchBytes    int
	BatchRows        int
	LedgerDatabase   string
	TimeZone         string
	DetachWait       time.Duration
	CommitTimeout    time.Duration
	StatementTimeout time.Duration
	Logger           *slog.Logger
	Observer         Observer
	Faults           fault.Injector
}

const (
	defaultSource             = "source"
	defaultCheckpointInterval = 10 * time.Second
	defaultMaxSegmentRows     = 100_000
	defaultMaxSegmentBytes    = 64 << 20
	defaultMaxPending         = 256
	defaultMaxIndexKeys       = 2_000_000
	defaultMaxBatchBytes      = 64 << 20
	defaultBatchRows          = 1000
	defaultDetachWait         = time.Second
	defaultDecisionTimeout    = time.Minute
	defaultCommitTimeout      = 2 * time.Minute
	defaultStatementTimeout   = 5 * time.Minute
	maxBatchRows              = 100_000
)

// withDefaults is c with every zero value replaced.
func (c Config) withDefaults() Config {
	c.Source = or(c.Source, defaultSource)
	c.CheckpointInterval = or(c.CheckpointInterval, defaultCheckpointInterval)
	c.DecisionTimeout = or(c.DecisionTimeout, defaultDecisionTimeout)
	return c
}

// writer is the part of c that a Writer needs.
func (c Config) writer(run uuid.UUID) WriterConfig {
	return WriterConfig{
		Job: c.Job, Run: run, DSN: c.DSN, Connector: c.Connector, Address: c.Address, Tables: c.Tables, Mode: c.Mode,
		MaxSegmentRows: c.MaxSegmentRows, MaxSegmentBytes: c.MaxSegmentBytes, MaxPending: c.MaxPending, MaxIndexKeys: c.MaxIndexKeys,
		MaxBatchBytes: c.MaxBatchBytes, BatchRows: c.BatchRows, LedgerDatabase: c.LedgerDatabase, TimeZone: c.TimeZone,
		DetachWait: c.DetachWait, CommitTimeout: c.CommitTimeout, StatementTimeout: c.StatementTimeout,
		Logger: c.Logger, Observer: c.Observer, Faults: c.Faults,
	}
}

// withDefaults is c with every zero value replaced.
func (c WriterConfig) withDefaults() WriterConfig {
	c.MaxSegmentRows = or(c.MaxSegmentRows, defaultMaxSegmentRows)
	c.MaxSegmentBytes = or(c.MaxSegmentBytes, defaultMaxSegmentBytes)
	c.MaxPending = or(c.MaxPending, defaultMaxPending)
	c.MaxIndexKeys = or(c.MaxIndexKeys, defaultMaxIndexKeys)
	c.MaxBatchBytes = or(c.MaxBatchBytes, defaultMaxBatchBytes)
	c.BatchRows = or(c.BatchRows, defaultBatchRows)
	c.LedgerDatabase = or(c.LedgerDatabase, ledger.DefaultDatabase)
	c.TimeZone = or(c.TimeZone, "+00:00")
	c.DetachWait = or(c.DetachWait, defaultDetachWait)
	c.CommitTimeout = or(c.CommitTimeout, defaultCommitTimeout)
	c.StatementTimeout = or(c.StatementTimeout, defaultStatementTimeout)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// check is nil, or a *ConfigError with every problem of c.
func (c Config) check() error {
	return problems(append(c.writer(uuid.Nil).withDefaults().problems(), c.own()...))
}

// own are the problems of what is not the writer's.
func (c Config) own() []string {
	var p []string
	if c.Store == nil {
		p = append(p, "Store is missing: open one with state.OpenFile")
	}
	if c.Start == nil {
		p = append(p, "Start is missing: a function that gives a new job's first position")
	}
	if err := state.CheckSource(or(c.Source, defaultSource)); err != nil {
		p = append(p, "Source: "+err.Error())
	}
	p = append(p, negative("FlushInterval", c.FlushInterval)...)
	p = append(p, negative("CheckpointInterval", c.CheckpointInterval)...)
	return append(p, negative("DecisionTimeout", c.DecisionTimeout)...)
}

// check is nil, or a *ConfigError with every problem of c.
func (c WriterConfig) check() error { return problems(c.problems()) }

func problems(p []string) error {
	if len(p) == 0 {
		return nil
	}
	return &ConfigError{Problems: p}
}

// problems of a c that has its defaults.
func (c WriterConfig) problems() []string {
	var p []string
	if err := xa.CheckJob(c.Job); err != nil {
		p = append(p, "Job: "+err.Error())
	}
	switch {
	case c.DSN == "" && c.Connector == nil:
		p = append(p, "DSN is missing, such as user:password@tcp(host:3306)/database")
	case c.DSN != "" && c.Connector != nil:
		p = append(p, "DSN and Connector are both given: take one")
	case c.DSN != "":
		if err := (xa.Config{DSN: c.DSN, StatementTimeout: max(c.StatementTimeout, 0)}).Check(); err != nil {
			p = append(p, "DSN: "+err.Error())
		}
	}
	if len(c.Tables) == 0 {
		p = append(p, "Tables is empty: list every table that rows go to")
	}
	if c.Mode != ExactlyOnce && c.Mode != AtLeastOnce {
		p = append(p, fmt.Sprintf("Mode %d is unknown: ExactlyOnce or AtLeastOnce", c.Mode))
	}
	if _, err := ledger.New(c.LedgerDatabase); err != nil {
		p = append(p, "LedgerDatabase: "+err.Error())
	}
	if _, err := location(c.TimeZone); err != nil {
		p = append(p, "TimeZone: "+err.Error())
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"MaxSegmentRows", c.MaxSegmentRows}, {"MaxSegmentBytes", c.MaxSegmentBytes}, {"MaxPending", int64(c.MaxPending)},
		{"MaxIndexKeys", int64(c.MaxIndexKeys)}, {"MaxBatchBytes", int64(c.MaxBatchBytes)}, {"BatchRows", int64(c.BatchRows)},
	} {
		if n.value < 1 {
			p = append(p, fmt.Sprintf("%s is %d: want at least 1, or 0 for the default", n.name, n.value))
		}
	}
	if c.BatchRows > maxBatchRows {
		p = append(p, fmt.Sprintf("BatchRows is %d: want at most %d", c.BatchRows, maxBatchRows))
	}
	if c.DetachWait < defaultDetachWait {
		p = append(p, fmt.Sprintf("DetachWait is %s: want at least %s, less can lose a commit on attached servers", c.DetachWait, defaultDetachWait))
	}
	p = append(p, negative("CommitTimeout", c.CommitTimeout)...)
	p = append(p, negative("StatementTimeout", c.StatementTimeout)...)
	return p
}

func negative(name string, d time.Duration) []string {
	if d >= 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s is %s: want 0 or more", name, d)}
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// location is the time.Location of a session time zone, an offset such as +02:00 or a name.
func location(zone string) (*time.Location, error) {
	if strings.HasPrefix(zone, "+") || strings.HasPrefix(zone, "-") {
		t, err := time.Parse("-07:00", zone)
		if err != nil {
			return nil, fmt.Errorf("%q is not an offset such as +02:00", zone)
		}
		_, offset := t.Zone()
		return time.FixedZone(zone, offset), nil
	}
	l, err := time.LoadLocation(zone)
	if err != nil || zone == "" || zone == "Local" {
		return nil, fmt.Errorf("%q is neither an offset such as +02:00 nor the name of a zone", zone)
	}
	return l, nil
}
