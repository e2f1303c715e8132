package conformance

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// close ends the connection at once.
func (s *session) close() {
	s.gone = true
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = s.conn.Close()
}

var answersRows = regexp.MustCompile(`(?i)^(SELECT|XA RECOVER|SHOW|EXPLAIN)`)

// send sends a statement and reads its answer.
func (s *session) send(ctx context.Context, query string) answer {
	if answersRows.MatchString(query) {
		return s.query(ctx, query)
	}
	result, err := s.conn.ExecContext(ctx, query)
	if err != nil {
		return failed(err)
	}
	if n, _ := result.RowsAffected(); n > 0 && !strings.HasPrefix(strings.ToUpper(query), "CREATE") {
		return answer{text: fmt.Sprintf("ok %d", n)}
	}
	return answer{text: "ok"}
}

func (s *session) query(ctx context.Context, query string) answer {
	text, err := read(ctx, s.conn, query)
	if err != nil {
		return failed(err)
	}
	if strings.HasPrefix(strings.ToUpper(query), "XA RECOVER") {
		return answer{text: "ok"} // others' branches may be there
	}
	return answer{text: "rows " + text}
}

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// read is the rows of a query in one line: values with colons, rows with spaces between them; - for none.
func read(ctx context.Context, q queryer, query string) (string, error) {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	var lines []string
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return "", err
		}
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = v.String
			if !v.Valid {
				texts[i] = "NULL"
			}
		}
		lines = append(lines, strings.Join(texts, ":"))
	}
	if err := rows.Err(); err != nil {
		return "", err
	}
	if len(lines) == 0 {
		return "-", nil
	}
	return strings.Join(lines, " "), nil
}

var stateWord = regexp.MustCompile(`in the\s+([A-Z][A-Z -]*[A-Z])\s+state`)

// failed is an error as an answer.
func failed(err error) answer {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return answer{text: "gone", err: err}
	}
	a := answer{number: int(e.Number), err: err, text: fmt.Sprintf("%d %s", e.Number, e.SQLState[:])}
	if m := stateWord.FindStringSubmatch(e.Message); m != nil {
		a.text += " " + m[1]
	}
	return a
}
