package xa

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/xasink/xasink/fault"
)

// How often a session that is being ended is looked for.
const goneInterval = 5 * time.Millisecond

// SessionAlive tells whether the server's process list shows a session of this id. A user without the PROCESS
// privilege sees only its own sessions there: another user's looks gone. So whoever ends the holder of a mark looks at
// the mark again afterwards.
func (s *Server) SessionAlive(ctx context.Context, id uint64) (bool, error) {
	_, alive, err := s.processOf(ctx, id)
	return alive, err
}

func (s *Server) processOf(ctx context.Context, id uint64) (user string, alive bool, err error) {
	err = s.ask(ctx, s.db, fmt.Sprintf("SELECT USER FROM information_schema.PROCESSLIST WHERE ID = %d", id), &user)
	var answer *mysql.MySQLError
	if errors.As(err, &answer) {
		// MySQL refuses the whole table while any session's statement has characters of four bytes (3854, seen on 9.7).
		user, err = s.shownUser(ctx, id)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("looking for session %d on server %s: %w", id, s.address, err)
	}
	return user, true, nil
}

// shownUser is the user of session id by SHOW PROCESSLIST, sql.ErrNoRows where it shows no such session. The first two
// columns are id and user on every server.
func (s *Server) shownUser(ctx context.Context, id uint64) (user string, err error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	defer func() { err = told(ctx, err) }()
	rows, err := s.db.QueryContext(ctx, "SHOW PROCESSLIST")
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	var shown uint64
	into := []any{&shown, &user}
	for range columns[len(into):] {
		into = append(into, new(sql.RawBytes))
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return "", err
		}
		if shown == id {
			return user, nil
		}
	}
	// A list that was cut off says nothing about who is missing in it.
	if err := rows.Err(); err != nil {
		return "", err
	}
	return "", sql.ErrNoRows
}

// KillSession ends a session on the server, if the process list shows it with our own user, and returns when it is
// gone: its open branch is rolled back then, a prepared one stays (on an attached server the branch may be held a
// moment longer: see the design's detach wait). A session that is gone already is a success. ctx bounds the wait and
// should have a deadline, which leaves time for the rollback of a large branch; a session that is still there then is
// an error.
func (s *Server) KillSession(ctx context.Context, id uint64) error {
	user, alive, err := s.processOf(ctx, id)
	if err != nil || !alive {
		return err
	}
	if user != s.can.login {
		return fmt.Errorf("session %d on server %s belongs to user %q, not to %q: it is not ours to end", id, s.address, user, s.can.login)
	}
	if err := s.kill(ctx, id); err != nil {
		e, _ := classify(ctx, VerbKill, None, XID{}, s.address, err)
		return fmt.Errorf("ending session %d: %w", id, e)
	}
	return s.awaitGone(ctx, id)
}

func (s *Server) kill(ctx context.Context, id uint64) error {
	if err := fault.At(ctx, s.config.Faults, fault.Before(fault.Kill)); err != nil {
		return err
	}
	run, cancel := s.within(ctx)
	defer cancel()
	_, err := s.db.ExecContext(run, fmt.Sprintf("KILL CONNECTION %d", id))
	err = told(run, err)
	var answer *mysql.MySQLError
	if err != nil && (!errors.As(err, &answer) || answer.Number != errNoSuchThread) {
		return err
	}
	return fault.At(ctx, s.config.Faults, fault.After(fault.Kill))
}

// awaitGone returns when the process list shows no session id any more.
func (s *Server) awaitGone(ctx context.Context, id uint64) error {
	for {
		alive, err := s.SessionAlive(ctx, id)
		if err != nil || !alive {
			return err
		}
		if err := wait(ctx, goneInterval); err != nil {
			return fmt.Errorf("session %d on server %s was told to end and is still there: %w", id, s.address, err)
		}
	}
}
