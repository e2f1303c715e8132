package conformance

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// observe is what stands after a case: state of session a; branches; rows.
func (r *run) observe(ctx context.Context) (string, error) {
	state, err := r.state(ctx)
	if err != nil {
		return "", err
	}
	listed, err := r.listed(ctx)
	if err != nil {
		return "", fmt.Errorf("XA RECOVER: %w", err)
	}
	rows, err := r.visible(ctx)
	if err != nil {
		return "", err
	}
	names := make([]string, len(listed))
	for i, l := range listed {
		names[i] = l.name
	}
	slices.Sort(names)
	return state + " ; " + or(strings.Join(names, " "), "-") + " ; " + rows, nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// state is the state of session a. PREPARE of a branch that is not there changes nothing in any state.
func (r *run) state(ctx context.Context) (string, error) {
	s := r.sessions["a"]
	if s == nil || s.gone {
		return "gone", nil
	}
	a := s.send(ctx, "XA PREPARE "+r.expand("{probe}"))
	switch {
	case a.err == nil:
		return "", errors.New("a branch that is not there was prepared")
	case a.number == 1399:
		return word(a.text), nil
	case a.number == 1397:
		return "idle", nil
	case a.number == 0:
		return "gone", nil
	}
	return a.text, nil
}

func word(text string) string {
	_, w, _ := strings.Cut(text, "XAE07 ")
	if w == "NON-EXISTING" {
		return "none"
	}
	return strings.ToLower(w)
}

// branch is one line of XA RECOVER that is the case's own.
type branch struct{ name, sql string }

func (r *run) listed(ctx context.Context) ([]branch, error) {
	rows, err := r.target.DB.QueryContext(ctx, "XA RECOVER")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []branch
	for rows.Next() {
		var format int64
		var gtrid, bqual int
		var data []byte
		if err := rows.Scan(&format, &gtrid, &bqual, &data); err != nil {
			return nil, err
		}
		if string(data[:gtrid]) != string(r.part("xasimtable:"+r.tag)) {
			continue
		}
		list = append(list, branch{
			name: strings.TrimRight(string(data[gtrid:]), "="),
			sql:  fmt.Sprintf("X'%x',X'%x',%d", data[:gtrid], data[gtrid:], format),
		})
	}
	return list, rows.Err()
}

// visible are the rows of t as anybody sees them.
func (r *run) visible(ctx context.Context) (string, error) {
	conn, err := r.target.DB.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, "SET SESSION lock_wait_timeout = 1"); err != nil {
		return "", err
	}
	text, err := read(ctx, conn, r.expand("SELECT id, v FROM {t} ORDER BY id"))
	if err != nil {
		return failed(err).text, nil
	}
	return text, nil
}

// clean ends the sessions, rolls back what is prepared, and drops the tables.
func (r *run) clean(ctx context.Context) error {
	var ids []uint64
	for _, who := range slices.Sorted(maps.Keys(r.sessions)) {
		s := r.sessions[who]
		if s.id == 0 {
			continue
		}
		// What it still executes ends with it.
		if !s.gone {
			_, _ = r.target.DB.ExecContext(ctx, fmt.Sprintf("KILL CONNECTION %d", s.id))
		}
		s.close()
		ids = append(ids, s.id)
	}
	if err := r.gone(ctx, ids...); err != nil {
		return err
	}
	if r.readOnly {
		if _, err := r.target.DB.ExecContext(ctx, "SET GLOBAL read_only = 0"); err != nil {
			return err
		}
	}
	err := r.until(ctx, "the branches to be rolled back", func() (bool, error) {
		list, err := r.listed(ctx)
		for _, b := range list {
			_, _ = r.target.DB.ExecContext(ctx, "XA ROLLBACK "+b.sql)
		}
		return len(list) == 0, err
	})
	if err != nil {
		return err
	}
	for _, t := range r.tables {
		if _, err := r.target.DB.ExecContext(ctx, "DROP TABLE "+r.expand(t)); err != nil {
			return fmt.Errorf("drop a table of the case: %w", err)
		}
	}
	return nil
}

var _ queryer = (*sql.Conn)(nil)
