package xasim

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

// errRefused is what a dialer says of a server that is down.
var errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}

// connector is a server for database/sql, with what it needs to be told at the start.
type connector struct {
	server  *Server
	account Account
}

// Connect opens a session.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := c.server.connect(c.account)
	if err != nil {
		return nil, err
	}
	return &conn{session: s, reply: make(chan reply, 1)}, nil
}

// Driver is there because database/sql wants one; it opens nothing.
func (c *connector) Driver() driver.Driver { return nothing{} }

type nothing struct{}

func (nothing) Open(string) (driver.Conn, error) {
	return nil, errors.New("xasim: open the database by sql.OpenDB(server.Connector())")
}

// conn is the client's side of a session. It behaves like a connection of github.com/go-sql-driver/mysql: a context
// that ends closes it, and the server goes on with the statement.
type conn struct {
	session *session
	closed  atomic.Bool
	reply   chan reply // to the one statement that is under way; one that is given up closes the connection
	open    *rows      // whose rows are not all read
}

var (
	_ driver.ExecerContext      = (*conn)(nil)
	_ driver.QueryerContext     = (*conn)(nil)
	_ driver.ConnPrepareContext = (*conn)(nil)
	_ driver.ConnBeginTx        = (*conn)(nil)
	_ driver.Pinger             = (*conn)(nil)
	_ driver.SessionResetter    = (*conn)(nil)
	_ driver.Validator          = (*conn)(nil)
)

// do sends a statement and waits for its answer.
func (c *conn) do(ctx context.Context, text string, args []driver.NamedValue) (*result, error) {
	if c.closed.Load() {
		return nil, driver.ErrBadConn
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.open != nil {
		return nil, mysql.ErrBusyBuffer
	}
	values, err := arguments(args)
	if err != nil {
		return nil, err
	}
	if c.session.server.tooLong(text) {
		return nil, mysql.ErrPktTooLarge
	}
	m := &command{text: text, args: values, reply: c.reply}
	select {
	case c.session.requests <- m:
	case <-c.session.gone:
		return nil, c.lost()
	case <-ctx.Done():
		c.hangUp()
		return nil, ctx.Err()
	}
	select {
	case r := <-m.reply:
		return r.result, r.err
	case <-c.session.gone:
		select {
		case r := <-m.reply:
			return r.result, r.err
		default:
		}
		return nil, c.lost()
	case <-ctx.Done():
		c.hangUp()
		return nil, ctx.Err()
	}
}

// lost is the error of a statement whose session has ended.
func (c *conn) lost() error {
	c.closed.Store(true)
	srv := c.session.server
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if c.session.over == inactive && !srv.kind.mariadb {
		return errInactive()
	}
	return mysql.ErrInvalidConn
}

// hangUp closes the connection from the client's side.
func (c *conn) hangUp() {
	if c.closed.Swap(true) {
		return
	}
	s := c.session
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if !s.frozen {
		s.end(quit)
	}
}

// ExecContext runs a statement.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	r, err := c.do(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// QueryContext runs a query. As long as its rows are not all read, or closed, the connection takes nothing else.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	r, err := c.do(ctx, query, args)
	if err != nil {
		return nil, err
	}
	out := &rows{conn: c, ctx: ctx, result: r}
	if len(r.rows) > 0 {
		c.open = out
	}
	return out, nil
}

// PrepareContext checks a statement; it is executed as text.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if c.closed.Load() {
		return nil, driver.ErrBadConn
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	marks, err := syntax.Marks(query)
	if err != nil {
		return nil, c.session.server.kind.parseError(err, query)
	}
	if s, _ := syntax.Parse(query); !c.session.server.kind.mariadb {
		switch s.(type) {
		case *syntax.XA, *syntax.Recover:
			return nil, failure(1295, "HY000", "This command is not supported in the prepared statement protocol yet")
		}
	}
	return &statement{c, query, marks}, nil
}

// Prepare is there because database/sql wants it.
func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// Begin is there because database/sql wants it.
func (c *conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) }

// BeginTx starts a local transaction.
func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if o.ReadOnly {
		return nil, errors.New("xasim: read-only transactions are not supported")
	}
	if o.Isolation != 0 {
		level := map[driver.IsolationLevel]string{2: "READ COMMITTED", 4: "REPEATABLE READ"}[o.Isolation]
		if level == "" {
			return nil, fmt.Errorf("xasim: isolation level %d is not supported", o.Isolation)
		}
		if _, err := c.do(ctx, "SET TRANSACTION ISOLATION LEVEL "+level, nil); err != nil {
			return nil, err
		}
	}
	if _, err := c.do(ctx, "START TRANSACTION", nil); err != nil {
		return nil, err
	}
	return tx{c}, nil
}

// Ping asks for a sign of life.
func (c *conn) Ping(ctx context.Context) error {
	_, err := c.do(ctx, ping, nil)
	return err
}

// ResetSession refuses a connection whose session is gone, before the pool hands it out again.
func (c *conn) ResetSession(context.Context) error {
	if !c.IsValid() {
		return driver.ErrBadConn
	}
	return nil
}

// IsValid tells whether the connection can be used again.
func (c *conn) IsValid() bool {
	select {
	case <-c.session.gone:
		return false
	default:
		return !c.closed.Load() && c.open == nil
	}
}

// Close ends the session, unless it executes a statement, which the server finishes first.
func (c *conn) Close() error {
	c.hangUp()
	return nil
}

type tx struct{ c *conn }

func (t tx) Commit() error {
	_, err := t.c.do(context.Background(), "COMMIT", nil)
	return err
}

func (t tx) Rollback() error {
	_, err := t.c.do(context.Background(), "ROLLBACK", nil)
	return err
}

// statement is a prepared statement.
type statement struct {
	c     *conn
	query string
	marks int
}

func (s *statement) Close() error  { return nil }
func (s *statement) NumInput() int { return s.marks }

func (s *statement) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }
func (s *statement) Query([]driver.Value) (driver.Rows, error)  { return nil, driver.ErrSkip }

func (s *statement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.c.ExecContext(ctx, s.query, args)
}

func (s *statement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.QueryContext(ctx, s.query, args)
}

// result is what a statement gives.
type result struct {
	affected int64
	insertID uint64
	columns  []string
	rows     [][]datum.Value
}

// LastInsertId is the first AUTO_INCREMENT value that the statement made.
func (r *result) LastInsertId() (int64, error) { return int64(r.insertID), nil }

// RowsAffected counts as the server does.
func (r *result) RowsAffected() (int64, error) { return r.affected, nil }

// rows are the rows of a result. A context that ends before they are all read closes the connection, as soon as
// somebody looks: database/sql does at once.
type rows struct {
	conn   *conn
	ctx    context.Context
	result *result
	next   int
}

func (r *rows) Columns() []string { return r.result.columns }

func (r *rows) Close() error {
	if r.conn.open != r {
		return nil
	}
	r.conn.open = nil
	if r.ctx.Err() != nil {
		r.conn.hangUp()
	}
	return nil
}

func (r *rows) Next(into []driver.Value) error {
	if r.next == len(r.result.rows) {
		if r.conn.open == r {
			r.conn.open = nil
		}
		return io.EOF
	}
	if err := r.ctx.Err(); err != nil {
		r.conn.hangUp()
		return err
	}
	for i, v := range r.result.rows[r.next] {
		into[i] = v.Driver()
	}
	r.next++
	return nil
}

// arguments are the values for question marks.
func arguments(args []driver.NamedValue) ([]datum.Value, error) {
	if len(args) == 0 {
		return nil, nil
	}
	values := make([]datum.Value, len(args))
	for i, a := range args {
		if a.Name != "" {
			return nil, errors.New("xasim: named arguments are not supported")
		}
		switch v := a.Value.(type) {
		case nil:
		case int64:
			values[i] = datum.Int64(v)
		case uint64:
			values[i] = datum.Uint64(v)
		case float64:
			values[i] = datum.Float64(v)
		case bool:
			values[i] = datum.Bool(v)
		case string:
			values[i] = datum.String(v)
		case []byte:
			if v != nil {
				values[i] = datum.Binary(string(v))
			}
		case time.Time:
			values[i] = datum.String(datum.FormatTime(v.UTC(), 6))
		default:
			return nil, fmt.Errorf("xasim: an argument of type %T is not supported", v)
		}
	}
	return values, nil
}

// CheckNamedValue lets large unsigned numbers through, as the driver does.
func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if _, ok := v.Value.(uint64); ok {
		return nil
	}
	var err error
	v.Value, err = driver.DefaultParameterConverter.ConvertValue(v.Value)
	return err
}
