package xa

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/xasink/xasink/fault"
)

// Scan lists the prepared branches of the whole server, ours and others', in no order. The names are raw bytes, split
// by their lengths. A user who may not see them gives an error that matches [ErrNoRecoverPrivilege]; it is never an
// empty list. q may be a session in state None, or [Server.DB].
//
// A branch that is absent may yet appear: a session that is executing PREPARE, or its COMMIT, is not shown.
func (s *Server) Scan(ctx context.Context, q Queryer) ([]XID, error) {
	found, err := s.scan(ctx, q)
	if err != nil {
		e, _ := classify(ctx, VerbRecover, None, XID{}, s.address, err)
		return nil, e
	}
	return found, nil
}

func (s *Server) scan(ctx context.Context, q Queryer) (found []XID, err error) {
	if err := fault.At(ctx, s.config.Faults, fault.Before(fault.Recover)); err != nil {
		return nil, err
	}
	run, cancel := s.within(ctx)
	defer cancel()
	defer func() { err = told(run, err) }()
	rows, err := q.QueryContext(run, "XA RECOVER")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var format int64
		var gtrid, bqual int
		var data []byte
		if err := rows.Scan(&format, &gtrid, &bqual, &data); err != nil {
			return nil, err
		}
		if gtrid < 0 || bqual < 0 || gtrid+bqual != len(data) {
			return nil, fmt.Errorf("a name of %d bytes is said to have parts of %d and %d", len(data), gtrid, bqual)
		}
		found = append(found, XID{Format: format, GTRID: string(data[:gtrid]), BQUAL: string(data[gtrid:])})
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if err := rows.Close(); err != nil {
		return nil, err
	}
	if err := fault.At(ctx, s.config.Faults, fault.After(fault.Recover)); err != nil {
		return nil, err
	}
	return found, nil
}

const (
	limboTries = 4
	// innodb_trx shows what was true up to 0.1 s ago (server-facts.md, 9).
	limboPause = 200 * time.Millisecond
)

// Limbo counts the transactions that no session holds (thread id 0) and the lines of XA RECOVER. More transactions
// than lines means that the server lost a branch and still holds its locks (server-facts.md, 0.3). Both are read
// several times while there seem to be more, because a branch may end between the two reads and the list of
// transactions is a little old; the last pair is returned. It needs the PROCESS privilege.
func (s *Server) Limbo(ctx context.Context) (detached, prepared int, err error) {
	for try := range limboTries {
		if try > 0 {
			if err := wait(ctx, limboPause); err != nil {
				return 0, 0, fmt.Errorf("looking for lost branches on server %s: %w", s.address, err)
			}
		}
		detached, prepared, err = s.countLimbo(ctx)
		// MySQL does not show its transactions while one of their statements has characters of four bytes.
		var answer *mysql.MySQLError
		unreadable := errors.As(err, &answer) && answer.Number == errWideCharacters
		if !unreadable && (err != nil || detached <= prepared) {
			break
		}
	}
	return detached, prepared, err
}

func (s *Server) countLimbo(ctx context.Context) (detached, prepared int, err error) {
	found, err := s.Scan(ctx, s.db)
	if err != nil {
		return 0, 0, err
	}
	err = s.ask(ctx, s.db, "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = 0", &detached)
	if err != nil {
		return 0, 0, fmt.Errorf("reading the transactions of server %s (this needs PROCESS): %w", s.address, err)
	}
	return detached, len(found), nil
}
