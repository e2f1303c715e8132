package xa

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/xasink/xasink/fault"
)

// open makes a session for lane: connection and settings, mark, consent. After an error nothing of it is left, here or
// on the server.
func (p *Pool) open(ctx context.Context, lane uint32) (*Session, error) {
	if err := CheckJob(p.config.Job); err != nil {
		return nil, err
	}
	s, err := p.server.connect(ctx)
	if err != nil {
		return nil, err
	}
	err = p.admit(ctx, s, lane)
	if err == nil {
		return s, nil
	}
	return nil, listed(err, p.drop(ctx, s))
}

// connect opens a connection that nobody used before, and asks what a branch on it depends on.
func (s *Server) connect(ctx context.Context) (*Session, error) {
	if err := fault.At(ctx, s.config.Faults, fault.Before(fault.Connect)); err != nil {
		return nil, connectError(ctx, s.address, err)
	}
	conn, err := s.sessions.Conn(ctx)
	if err != nil {
		return nil, connectError(ctx, s.address, dialError(err))
	}
	session := &Session{server: s, conn: conn}
	err = s.examine(ctx, session)
	if err == nil {
		err = fault.At(ctx, s.config.Faults, fault.After(fault.Connect))
	}
	if err != nil {
		session.shut()
		return nil, connectError(ctx, s.address, err)
	}
	return session, nil
}

// Sessions on which no branch may be begun.
var (
	errAutocommitOff = errors.New("the session has autocommit off, with which XA START is refused: find what turns it off again")
	errDetachChanged = errors.New("xa_detach_on_prepare was turned off since this server was opened: open it anew")
)

func (s *Server) examine(ctx context.Context, session *Session) error {
	detached := "0"
	if s.can.Detached {
		detached = "@@xa_detach_on_prepare"
	}
	var autocommit, detaches bool
	err := s.ask(ctx, session.conn, "SELECT CONNECTION_ID(), @@autocommit, "+detached, &session.id, &autocommit, &detaches)
	switch {
	case err != nil:
		return err
	case !autocommit:
		return errAutocommitOff
	case detaches != s.can.Detached:
		return errDetachChanged
	}
	return nil
}

// admit gives s a mark of lane and asks whether it may be used.
func (p *Pool) admit(ctx context.Context, s *Session, lane uint32) error {
	if err := p.acquire(ctx, s, lane); err != nil {
		return err
	}
	if p.config.Admit == nil {
		return nil
	}
	if err := p.config.Admit(ctx, s); err != nil {
		return fmt.Errorf("session %d for lane %d of job %q on server %s is not admitted: %w",
			s.id, lane, p.config.Job, p.server.address, err)
	}
	if state := s.State(); state != None {
		return fmt.Errorf("session %d on server %s: Admit left it in state %s", s.id, p.server.address, state)
	}
	return nil
}

// acquire takes the first free mark of lane.
func (p *Pool) acquire(ctx context.Context, s *Session, lane uint32) error {
	for n := range p.config.MarksPerLane {
		m := Mark{Job: p.config.Job, Lane: lane, N: n}
		if !p.claim(m) {
			continue
		}
		got, err := p.server.lock(ctx, s, m)
		if err != nil || !got {
			p.free(m)
		}
		if err != nil {
			e, _ := classify(ctx, VerbMark, None, XID{}, p.server.address, err)
			return fmt.Errorf("owner mark %s: %w", m, e)
		}
		if got {
			s.mark = m
			return nil
		}
	}
	return &Error{Verb: VerbMark, Outcome: Refused, Server: p.server.address, Err: fmt.Errorf(
		"%w: all %d of lane %d of job %q; another process works under this job name, or its sessions have not ended yet",
		ErrMarkHeld, p.config.MarksPerLane, lane, p.config.Job)}
}

// lock asks for m without waiting.
func (s *Server) lock(ctx context.Context, session *Session, m Mark) (bool, error) {
	if err := fault.At(ctx, s.config.Faults, fault.Before(fault.Mark)); err != nil {
		return false, err
	}
	var got sql.Null[int64]
	if err := s.ask(ctx, session.conn, "SELECT GET_LOCK('"+m.Name()+"', 0)", &got); err != nil {
		return false, err
	}
	if !got.Valid || got.V != 1 {
		return false, nil
	}
	return true, fault.At(ctx, s.config.Faults, fault.After(fault.Mark))
}
