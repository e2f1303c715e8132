package ledger_test

import (
	"context"
	"database/sql"
	"strings"

	"github.com/xasink/xasink/xa"
)

// probe is a session that calls onDelete before each DELETE.
type probe struct {
	session  xa.Queryer
	onDelete func()
}

func (p probe) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if strings.HasPrefix(query, "DELETE") {
		p.onDelete()
	}
	return p.session.ExecContext(ctx, query, args...)
}

func (p probe) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.session.QueryContext(ctx, query, args...)
}
