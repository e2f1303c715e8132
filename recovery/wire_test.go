package recovery_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/xa"
)

// wire stands between the code under test and the server, and may answer a statement itself.
type wire struct {
	driver.Connector
	mu sync.Mutex
	// answer is asked for each statement: nil passes it on, errOK answers OK without the server (not for queries), any
	// other error is the answer. rewrite changes queries.
	answer  func(statement string) error
	rewrite func(query string) string
}

// errOK lets a statement look as if it had been executed.
var errOK = errors.New("OK")

func (w *wire) set(answer func(statement string) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = answer
}

func (w *wire) ask(statement string) error {
	w.mu.Lock()
	answer := w.answer
	w.mu.Unlock()
	if answer == nil {
		return nil
	}
	return answer(statement)
}

func (w *wire) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &wireConn{Conn: conn, wire: w}, nil
}

type wireConn struct {
	driver.Conn
	wire *wire
}

func (c *wireConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	err := c.wire.ask(query)
	switch {
	case err == nil:
		return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
	case errors.Is(err, errOK):
		return driver.RowsAffected(0), nil
	}
	return nil, err
}

func (c *wireConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.wire.ask(query); err != nil {
		return nil, err
	}
	if c.wire.rewrite != nil {
		query = c.wire.rewrite(query)
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c *wireConn) Ping(ctx context.Context) error { return c.Conn.(driver.Pinger).Ping(ctx) }

func (c *wireConn) ResetSession(ctx context.Context) error {
	return c.Conn.(driver.SessionResetter).ResetSession(ctx)
}

func (c *wireConn) IsValid() bool { return c.Conn.(driver.Validator).IsValid() }

func (c *wireConn) CheckNamedValue(v *driver.NamedValue) error {
	return c.Conn.(driver.NamedValueChecker).CheckNamedValue(v)
}

// wired puts a wire between the bench and its server.
func (b *bench) wired(t *testing.T, w *wire) *wire {
	t.Helper()
	connector, err := mysql.NewConnector(b.dsn)
	require.NoError(t, err)
	w.Connector = connector
	server, err := xa.Connect(t.Context(), xa.Config{Connector: w, Address: b.dsn.Addr, Job: b.job, Faults: b.faults})
	require.NoError(t, err)
	require.NoError(t, b.server.Close())
	b.server = server
	return w
}

// refusal is a server's answer.
func refusal(number uint16, text string) error {
	return &mysql.MySQLError{Number: number, SQLState: [5]byte{'X', 'A', '1', '0', '0'}, Message: text}
}
