package txnsink

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/xasink/xasink/xa"
)

// maxBlockers bounds how many lock holders a message names.
const maxBlockers = 3

// blocker names who holds row locks on the table of wait, as far as the server lets this user see it; "" where it does
// not. MySQL tells it by table (performance_schema.data_locks); MariaDB only tells which transactions hold row locks at
// all (information_schema.innodb_trx). Thread id 0 is a prepared branch without a session (server-facts.md, 5).
func (w *exactlyOnce) blocker(ctx context.Context, wait *lockWaitError) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	own := map[uint64]bool{}
	for _, l := range w.work {
		if l.session != nil {
			own[l.session.ConnectionID()] = true
		}
	}
	query, args := `SELECT trx_mysql_thread_id, CAST(trx_started AS CHAR), '' FROM information_schema.innodb_trx
		WHERE trx_rows_locked > 0 ORDER BY trx_started LIMIT 50`, []any(nil)
	if w.server.Abilities().Flavour == xa.MySQL {
		query = `SELECT t.trx_mysql_thread_id, CAST(t.trx_started AS CHAR), COALESCE(MIN(l.LOCK_DATA), '')
			FROM performance_schema.data_locks l JOIN information_schema.innodb_trx t ON t.trx_id = l.ENGINE_TRANSACTION_ID
			WHERE l.OBJECT_SCHEMA = ? AND l.OBJECT_NAME = ? AND l.LOCK_TYPE = 'RECORD' AND l.LOCK_STATUS = 'GRANTED'
			GROUP BY t.trx_mysql_thread_id, t.trx_started ORDER BY t.trx_started LIMIT 50`
		args = []any{wait.database, wait.base}
	}
	rows, err := w.server.DB().QueryContext(ctx, query, args...)
	if err != nil {
		return ""
	}
	defer func() { _ = rows.Close() }()
	var holders []string
	for rows.Next() {
		var id uint64
		var started, data string
		if err := rows.Scan(&id, &started, &data); err != nil {
			return ""
		}
		if own[id] {
			continue
		}
		holders = append(holders, describeHolder(id, started, data))
	}
	if rows.Err() != nil || len(holders) == 0 {
		return ""
	}
	more := ""
	if len(holders) > maxBlockers {
		more = fmt.Sprintf(" and %d more", len(holders)-maxBlockers)
		holders = holders[:maxBlockers]
	}
	return strings.Join(holders, "; ") + more
}

func describeHolder(id uint64, started, data string) string {
	who := fmt.Sprintf("connection %d", id)
	if id == 0 {
		who = "a prepared XA branch without a session (see XA RECOVER)"
	}
	if data != "" {
		data = ", holds the lock of " + data
	}
	return who + ", in a transaction since " + started + data
}
