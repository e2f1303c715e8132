package xasim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/xa/xasim"
)

// Who holds a row lock is told as txnsink asks for it; a prepared branch without a session has thread id 0.
func TestTheHolderOfALockIsShown(t *testing.T) {
	onKind(t, xasim.MySQL(), func(t *testing.T, r *rig) {
		c := r.session()
		branch(t, c, "'x'", "(7, 'a')")
		open := r.session()
		do(t, open, "BEGIN", "INSERT INTO d.t VALUES (8, 'b')")
		rows, err := r.db.QueryContext(t.Context(), `SELECT t.trx_mysql_thread_id, CAST(t.trx_started AS CHAR), COALESCE(MIN(l.LOCK_DATA), '')
			FROM performance_schema.data_locks l JOIN information_schema.innodb_trx t ON t.trx_id = l.ENGINE_TRANSACTION_ID
			WHERE l.OBJECT_SCHEMA = ? AND l.OBJECT_NAME = ? AND l.LOCK_TYPE = 'RECORD' AND l.LOCK_STATUS = 'GRANTED'
			GROUP BY t.trx_mysql_thread_id, t.trx_started ORDER BY t.trx_started LIMIT 50`, "d", "t")
		require.NoError(t, err)
		defer func() { _ = rows.Close() }()
		held := map[uint64]string{}
		for rows.Next() {
			var thread uint64
			var started, data string
			require.NoError(t, rows.Scan(&thread, &started, &data))
			require.Len(t, started, len("2006-01-02 15:04:05"))
			held[thread] = data
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
		require.Equal(t, map[uint64]string{0: "7", id(t, open): "8"}, held)
	})
	onKind(t, xasim.MariaDB(), func(t *testing.T, r *rig) {
		c := r.session()
		branch(t, c, "'x'", "(7, 'a')")
		const query = "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_rows_locked > 0 ORDER BY trx_started LIMIT 50"
		require.Equal(t, int(id(t, c)), r.count(query))
		require.NoError(t, c.Close())
		require.Zero(t, r.count(query))
		require.Equal(t, 1, r.count("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = 0"))
		_, err := r.db.QueryContext(t.Context(), "SELECT * FROM performance_schema.data_locks") //nolint:sqlclosecheck,rowserrcheck // it fails
		require.Error(t, err)
	})
}

// What a session executes is in the process list, for those who look for a COMMIT under way.
func TestAStatementIsShownWhileItIsExecuted(t *testing.T) {
	eachKind(t, func(t *testing.T, r *rig) {
		r.server.Inject(xasim.Fault{Statement: "XA COMMIT", Act: xasim.Slow, Delay: 1e9})
		c := r.session()
		branch(t, c, "'x'", "(7, 'a')")
		done := later(t, c, "XA COMMIT 'x'")
		var shown []string
		rows, err := r.db.QueryContext(t.Context(), "SHOW FULL PROCESSLIST")
		require.NoError(t, err)
		defer func() { _ = rows.Close() }()
		columns, err := rows.Columns()
		require.NoError(t, err)
		for rows.Next() {
			var number uint64
			var info *string
			into := []any{&number}
			for _, name := range columns[1:] {
				if name == "Info" {
					into = append(into, &info)
				} else {
					into = append(into, new(any))
				}
			}
			require.NoError(t, rows.Scan(into...))
			if info != nil {
				shown = append(shown, *info)
			}
		}
		require.NoError(t, rows.Err())
		require.Equal(t, []string{"XA COMMIT 'x'", "SHOW FULL PROCESSLIST"}, shown)
		require.NoError(t, rows.Close())
		require.NoError(t, <-done)
	})
}
