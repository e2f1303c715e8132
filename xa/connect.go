package xa

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Connections that DB keeps for plain reads.
const (
	idleReaders    = 2
	idleReaderTime = 30 * time.Second
)

// Connect opens c's server, finds out by statements what it is, and refuses it when branches are not safe there. ctx
// bounds the whole call. An error leaves no connection.
//
// Errors are for people: each names the server's address and what to do, all refusals are in one error (a [*Refusal]),
// and none shows a password. A user who may not see prepared branches gives an error that matches
// [ErrNoRecoverPrivilege].
//
// Of the DSN, multiStatements and clientFoundRows are refused, and so are variables that the package sets itself, in any
// spelling, and any that is not the session's own. Overridden are maxAllowedPacket, rejectReadOnly, columnsWithAlias,
// charset and collation (every session speaks utf8mb4), and a readTimeout or writeTimeout above the bound that [Config]
// names; any other option is the driver's own.
func Connect(ctx context.Context, c Config) (*Server, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	inner, address, err := c.dial()
	if err != nil {
		return nil, err
	}
	// What identifies the user is needed no more, and is not kept where a print of the Server would show it.
	ownConnector := c.Connector != nil
	c.DSN, c.Connector = "", nil
	open := &connector{Connector: inner, settings: commonSettings(c), within: c.VerbTimeout, log: c.Logger}
	probing, cancel := within(ctx, c.VerbTimeout)
	defer cancel()
	can, err := probe(probing, open, ownConnector, address)
	if err != nil {
		return nil, err
	}
	for _, w := range can.Warnings {
		c.Logger.LogAttrs(ctx, slog.LevelWarn, "the target server has a weakness", slog.String("server", address), slog.String("weakness", w))
	}
	open.settings = append(open.settings, flavourSettings(can.Flavour)...)
	s := &Server{
		db:       sql.OpenDB(open),
		sessions: sql.OpenDB(open),
		config:   c,
		address:  address,
		can:      can,
	}
	s.db.SetMaxIdleConns(idleReaders)
	s.db.SetConnMaxIdleTime(idleReaderTime)
	// A session is never a connection that somebody used before: its state, and whether it still lives, would be
	// unknown.
	s.sessions.SetMaxIdleConns(-1)
	return s, nil
}

// probe opens one connection of its own, with the settings that every server has.
func probe(ctx context.Context, open *connector, ownConnector bool, address string) (Abilities, error) {
	db := sql.OpenDB(open)
	defer func() { _ = db.Close() }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return Abilities{}, connectError(ctx, address, dialError(err))
	}
	defer func() { _ = conn.Close() }()
	p := prober{conn: conn, address: address, ownConnector: ownConnector}
	can, err := p.run(ctx)
	if err != nil {
		return Abilities{}, err
	}
	return can, nil
}

// connectError is err, met while a session was opened, with what to do.
func connectError(ctx context.Context, address string, err error) *Error {
	err = told(ctx, err)
	e, _ := classify(ctx, VerbConnect, None, XID{}, address, err)
	e.Outcome = Refused
	var answer *mysql.MySQLError
	var network net.Error
	var unknown net.UnknownNetworkError
	switch {
	case errors.As(err, &answer):
		// The server is there and talks.
	case errors.As(err, &unknown):
		// What was taken for network and address may be anything, and is not shown.
		e.Server, e.Err = "", errUnknownNetwork
	case errors.Is(err, errAutocommitOff), errors.Is(err, errDetachChanged):
		e.Err = err
	case errors.As(err, &network) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn):
		e.Err = &lostError{cause: fmt.Errorf("no connection: %w", err)}
	}
	return e
}

var errUnknownNetwork = errors.New("the data source name has a network that is neither tcp nor unix, and that nobody registered")

// dialError explains what the driver makes of an option that it does not know: a variable to set on the server.
func dialError(err error) error {
	var answer *mysql.MySQLError
	var setting *settingError
	if !errors.As(err, &answer) || errors.As(err, &setting) {
		return err
	}
	switch answer.Number {
	case errUnknownVariable:
		return fmt.Errorf("%w: the data source name has an option that is neither the driver's nor a variable of the server", err)
	case errSyntax, errReadOnlyVariable, errGlobalVariable, errWrongValue, errWrongType:
		return fmt.Errorf("%w: an option of the data source name sets a variable of the server to what it does not take; "+
			"text needs quotes, and each value has to be escaped", err)
	}
	return err
}

// Refusal is a server on which branches are not safe, or a user who lacks what is needed, with every reason.
type Refusal struct {
	Server   string
	Problems []error
}

func (e *Refusal) Error() string {
	parts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		parts[i] = p.Error()
	}
	return fmt.Sprintf("server %s is refused: %s", e.Server, strings.Join(parts, "; "))
}

// Unwrap gives the reasons.
func (e *Refusal) Unwrap() []error { return e.Problems }

// Abilities is what the server was found to be when it was opened.
func (s *Server) Abilities() Abilities {
	can := s.can
	can.Warnings = append([]string(nil), s.can.Warnings...)
	return can
}

// Address names the server in messages; it never has a password.
func (s *Server) Address() string { return s.address }

// DB is for plain reads, from any goroutine. Its connections have the settings of a session but hold no mark, so an XA
// verb must never be sent there. It is closed by [Server.Close].
func (s *Server) DB() *sql.DB { return s.db }

// Close closes what the server itself opened. Pools are closed before it.
func (s *Server) Close() error {
	return listed(s.db.Close(), s.sessions.Close())
}
