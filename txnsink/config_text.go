package txnsink

import (
	"fmt"
	"io"

	"github.com/google/uuid"
)

// String tells c without its data source name, which may hold a password.
func (c Config) String() string {
	return fmt.Sprintf("txnsink.Config{Job: %q, %s, Source: %q}", c.Job, c.writer(uuid.Nil).text(), c.Source)
}

// Format is String for every verb.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// MarshalText is String, for encoders and loggers.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// String tells c without its data source name, which may hold a password.
func (c WriterConfig) String() string {
	return fmt.Sprintf("txnsink.WriterConfig{Job: %q, Run: %s, %s}", c.Job, c.Run, c.text())
}

// Format is String for every verb.
func (c WriterConfig) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// MarshalText is String, for encoders and loggers.
func (c WriterConfig) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// text is what both have, without what may hold a password.
func (c WriterConfig) text() string {
	from := "no server"
	switch {
	case c.Connector != nil:
		from = "Connector: " + c.Address
	case c.DSN != "":
		from = "DSN: not shown"
	}
	return fmt.Sprintf("%s, Tables: %v, Mode: %s, LedgerDatabase: %q", from, c.Tables, c.Mode, c.LedgerDatabase)
}
