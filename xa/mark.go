package xa

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
)

// Mark is an owner mark: a lock that the server keeps for a session as long as that lives (GET_LOCK). Every session
// that may send an XA verb holds one, so that a later owner of the job finds the sessions of an older one. It is per
// server and proves nothing after a failover.
type Mark struct {
	Job  string
	Lane uint32
	N    uint32 // counts the sessions of one lane from 0
}

// Name is the lock's name on the server, at most 64 characters.
func (m Mark) Name() string {
	sum := sha256.Sum256([]byte(m.Job))
	return fmt.Sprintf("xasink1/%s/%d/%d", hex.EncodeToString(sum[:8]), m.Lane, m.N)
}

func (m Mark) String() string { return fmt.Sprintf("%s/w%d.m%d", m.Job, m.Lane, m.N) }

// MarkHolder is a mark that is held.
type MarkHolder struct {
	Mark    Mark
	Session uint64 // the holder's connection id
}

// MarkHolder tells which session holds m, if any.
func (s *Server) MarkHolder(ctx context.Context, q Queryer, m Mark) (id uint64, held bool, err error) {
	holder := sql.Null[uint64]{}
	if err := s.ask(ctx, q, "SELECT "+isUsed(m), &holder); err != nil {
		return 0, false, fmt.Errorf("reading owner mark %s on server %s: %w", m, s.address, err)
	}
	return holder.V, holder.Valid, nil
}

// marksAtOnce is how many marks one statement asks for.
const marksAtOnce = 200

// Holders lists the marks of job that are held, among lanes 0 to lanes-1 with perLane marks each, in that order.
func (s *Server) Holders(ctx context.Context, job string, lanes, perLane uint32) ([]MarkHolder, error) {
	var held []MarkHolder
	batch := make([]Mark, 0, marksAtOnce)
	flush := func() error {
		found, err := s.holders(ctx, batch)
		held = append(held, found...)
		batch = batch[:0]
		return err
	}
	for lane := range lanes {
		for n := range perLane {
			batch = append(batch, Mark{Job: job, Lane: lane, N: n})
			if len(batch) == marksAtOnce {
				if err := flush(); err != nil {
					return nil, err
				}
			}
		}
	}
	if len(batch) > 0 {
		if err := flush(); err != nil {
			return nil, err
		}
	}
	return held, nil
}

func (s *Server) holders(ctx context.Context, marks []Mark) ([]MarkHolder, error) {
	columns := make([]string, len(marks))
	ids := make([]sql.Null[uint64], len(marks))
	into := make([]any, len(marks))
	for i, m := range marks {
		columns[i] = isUsed(m)
		into[i] = &ids[i]
	}
	if err := s.ask(ctx, s.db, "SELECT "+strings.Join(columns, ", "), into...); err != nil {
		return nil, fmt.Errorf("reading the owner marks of job %q on server %s: %w", marks[0].Job, s.address, err)
	}
	var held []MarkHolder
	for i, id := range ids {
		if id.Valid {
			held = append(held, MarkHolder{Mark: marks[i], Session: id.V})
		}
	}
	return held, nil
}

// isUsed has no need to quote: a mark's name is letters, digits and slashes.
func isUsed(m Mark) string { return "IS_USED_LOCK('" + m.Name() + "')" }
