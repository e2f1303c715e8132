package txnsink

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/xasink/xasink/xa"
)

const (
	maxBlockers    = 3 // lock holders that a message names
	blockerTimeout = 2 * time.Second
	blockerPause   = 50 * time.Millisecond
)

// blocker names who holds row locks on the table of wait, as far as the server lets this user see it; "" where it does
// not. MySQL tells it by table, in performance_schema; MariaDB only tells which transactions hold row locks at all. No
// connection is a prepared branch whose session is gone (server-facts.md, 5). MySQL refuses a read of innodb_trx (3854)
// while any statement on the server holds a character of four bytes, so that it is asked a few times.
//
// Where no stranger is seen and another lane is part of the Write, that lane is named: a trigger or a cascade of one
// table may write rows of the other.
func (w *exactlyOnce) blocker(ctx context.Context, wait *lockWaitError) string {
	ctx, cancel := context.WithTimeout(ctx, blockerTimeout)
	defer cancel()
	for {
		holders, err := w.holders(ctx, wait)
		if err == nil {
			if len(holders) > 0 {
				return describeHolders(holders)
			}
			return w.ownLanes(wait)
		}
		select {
		case <-ctx.Done():
			return ""
		case <-time.After(blockerPause):
		}
	}
}

// ownLanes names the lanes that hold rows beside the one that waits; "" if there is none.
func (w *exactlyOnce) ownLanes(wait *lockWaitError) string {
	var names []string
	for _, l := range w.touched {
		if l.open && l.rows > 0 && l.number != wait.lane {
			names = append(names, l.names())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("nobody else is seen, and the same Write holds rows of %s in another branch: a trigger or a cascade may make "+
		"the tables meet; write them in different Writes, or give this user TRIGGER on them, so that one branch holds them",
		strings.Join(names, ", "))
}

// lockHolder is a transaction that holds row locks, other than the writer's own.
type lockHolder struct {
	connection    uint64 // 0: none
	started, lock string
}

func (w *exactlyOnce) holders(ctx context.Context, wait *lockWaitError) ([]lockHolder, error) {
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
		return nil, fmt.Errorf("look for lock holders: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var holders []lockHolder
	for rows.Next() {
		var h lockHolder
		if err := rows.Scan(&h.connection, &h.started, &h.lock); err != nil {
			return nil, fmt.Errorf("look for lock holders: %w", err)
		}
		if !own[h.connection] {
			holders = append(holders, h)
		}
	}
	return holders, rows.Err()
}

func describeHolders(holders []lockHolder) string {
	var names []string
	for i, h := range holders {
		if i == maxBlockers {
			names = append(names, fmt.Sprintf("%d more", len(holders)-i))
			break
		}
		who := fmt.Sprintf("connection %d", h.connection)
		if h.connection == 0 {
			who = "a prepared XA branch without a session (see XA RECOVER; one that it does not list is in limbo, and only a restart of the server frees it)"
		}
		who += ", in a transaction since " + h.started
		if h.lock != "" {
			who += ", holds the lock of " + h.lock
		}
		names = append(names, who)
	}
	return strings.Join(names, "; ")
}
