package xa

import (
	"context"
	"database/sql"
)

// queryRow reads the one row that query has into into. Every result set is closed before it returns, else the next
// statement on that connection would fail.
func queryRow(ctx context.Context, q Queryer, query string, into ...any) error {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := rows.Scan(into...); err != nil {
		return err
	}
	return rows.Close()
}
