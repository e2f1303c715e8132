package xa

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/xasink/xasink/fault"
)

// errUnsent marks an error whose statement was never sent, so that nothing happened.
var errUnsent = errors.New("nothing was sent")

// call is one statement to send.
type call struct {
	verb  Verb
	op    fault.Op // OpInvalid has no fault points
	id    XID
	query string
}

// send sends c and, on an error, puts the session into the state that the error leaves it in; after OK the caller says
// which state it is. The lock is held.
func (s *Session) send(ctx context.Context, c call) (sql.Result, error) {
	if err := s.unsent(ctx, c); err != nil {
		return nil, err
	}
	if err := s.reach(ctx, c, fault.Before(c.op)); err != nil {
		return nil, err
	}
	run, done := s.bound(ctx, c.verb)
	defer done()
	result, err := s.conn.ExecContext(run, c.query)
	if err != nil {
		return nil, s.failed(run, c, err)
	}
	if err := s.reach(ctx, c, fault.After(c.op)); err != nil {
		return nil, err
	}
	return result, nil
}

// unsent is the error when ctx has ended before anything was sent.
func (s *Session) unsent(ctx context.Context, c call) error {
	if ctx.Err() == nil {
		return nil
	}
	return &Error{Verb: c.verb, ID: c.id, Outcome: Refused, Server: s.server.address,
		Err: fmt.Errorf("%w: %w", errUnsent, endOf(ctx))}
}

// reach asks the injector at p. Its error stands for a connection that failed there.
func (s *Session) reach(ctx context.Context, c call, p fault.Point) error {
	if c.op == fault.OpInvalid {
		return nil
	}
	if err := fault.At(ctx, s.server.config.Faults, p); err != nil {
		return s.failed(ctx, c, err)
	}
	return nil
}

// failed is err as an Error; the session is in the state after it.
func (s *Session) failed(ctx context.Context, c call, err error) error {
	e, next := classify(ctx, c.verb, s.state, c.id, s.server.address, err)
	s.state = next
	return e
}

// ExecContext runs a plain statement in autocommit: the job row, pruning. Allowed in state None only. With
// QueryContext it makes a session a [Queryer].
func (s *Session) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := call{verb: VerbQuery, query: query}
	if err := s.allow(VerbQuery, s.current(), None); err != nil {
		return nil, err
	}
	if err := s.unsent(ctx, c); err != nil {
		return nil, err
	}
	run, done := s.bound(ctx, VerbQuery)
	defer done()
	result, err := s.conn.ExecContext(run, query, args...)
	if err != nil {
		return nil, s.failed(run, c, err)
	}
	return result, nil
}

// QueryContext runs a plain query. Allowed in state None only. The rows must be closed before the next call, and within
// Config.StatementTimeout; rows that are still open then are cut off, and the session is Broken.
func (s *Session) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := call{verb: VerbQuery, query: query}
	if err := s.allow(VerbQuery, s.current(), None); err != nil {
		return nil, err
	}
	if err := s.unsent(ctx, c); err != nil {
		return nil, err
	}
	// done would cut the rows off.
	run, done := s.bound(ctx, VerbQuery)
	rows, err := s.conn.QueryContext(run, query, args...) //nolint:sqlclosecheck // the caller closes them
	if err != nil {
		err = s.failed(run, c, err)
		done()
		return nil, err
	}
	return rows, nil
}
