package txnsink

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a job of three tables on a real server: events (insert only), totals (additive upsert), orders (upsert and
// delete). Its source is a list of Writes; a position is the number of the next one.
type rig struct {
	t        *testing.T
	server   servertest.Server
	db       *sql.DB
	database string
	job      string
	store    *state.Memory
	faults   fault.Injector
	change   func(*Config)
}

func newRig(t *testing.T, s servertest.Server) *rig {
	t.Helper()
	r := &rig{t: t, server: s, database: s.Database(t), db: s.DB(t)}
	r.job = s.Job(t)
	r.store = state.NewMemory()
	for _, ddl := range []string{
		"CREATE TABLE `%s`.events (id BIGINT PRIMARY KEY, body VARCHAR(20) NOT NULL)",
		"CREATE TABLE `%s`.totals (name VARCHAR(20) PRIMARY KEY, n BIGINT NOT NULL, amount DECIMAL(20,2) NOT NULL)",
		"CREATE TABLE `%s`.orders (id BIGINT PRIMARY KEY, state VARCHAR(20) NOT NULL)",
	} {
		servertest.Exec(t, r.db, fmt.Sprintf(ddl, r.database))
	}
	return r
}

func (r *rig) config() Config {
	cfg := Config{
		Job: r.job, DSN: r.server.DSN(r.database), Store: r.store, LedgerDatabase: r.database,
		Start: func(context.Context) ([]byte, error) { return []byte("0"), nil },
		Tables: []Table{
			{Name: "events"},
			{Name: "totals", Operations: Upsert, Add: []string{"n", "amount"}},
			{Name: "orders", Operations: Upsert | Delete},
		},
		CheckpointInterval: time.Hour,
		Faults:             r.faults,
		Logger:             slog.New(slog.NewTextHandler(testWriter{r.t}, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if r.change != nil {
		r.change(&cfg)
	}
	return cfg
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) { w.t.Log(string(p)); return len(p), nil }

func (r *rig) open() *Sink {
	r.t.Helper()
	s, err := Open(r.t.Context(), r.config())
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, s.Close()) })
	return s
}

// fill puts the rows of Write n into b: two events, a total, and an order that is deleted three Writes later.
func fill(b *Batch, n int) {
	b.Insert("events").Int64(int64(2 * n)).String("first of " + strconv.Itoa(n))
	b.Insert("events").Int64(int64(2*n + 1)).String("second of " + strconv.Itoa(n))
	b.Upsert("totals").String("t" + strconv.Itoa(n%3)).Int64(1).Decimal(fmt.Sprintf("%d.25", n))
	b.Upsert("orders").Int64(int64(n)).String("new")
	if n >= 3 {
		b.Delete("orders").Int64(int64(n - 3))
	}
}

// run writes from the sink's position to Write n, exclusively, with a flush after every flushEvery-th Write and a
// checkpoint after every checkpointEvery-th (0: none). It does not finish.
func run(ctx context.Context, s *Sink, n, flushEvery, checkpointEvery int) error {
	from, err := strconv.Atoi(string(s.Position()))
	if err != nil {
		return err
	}
	for i := from; i < n; i++ {
		b := s.Batch()
		fill(b, i)
		if err := s.Write(ctx, b, []byte(strconv.Itoa(i+1))); err != nil {
			return err
		}
		if flushEvery > 0 && (i+1)%flushEvery == 0 {
			if err := s.Flush(ctx); err != nil {
				return err
			}
		}
		if checkpointEvery > 0 && (i+1)%checkpointEvery == 0 {
			if err := s.Checkpoint(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// verify compares the tables with what the first n Writes hold, each once, and looks for branches that are left.
func (r *rig) verify(n int) {
	r.t.Helper()
	events, sum := r.pair("SELECT COUNT(*), COALESCE(SUM(id), 0) FROM `%s`.events")
	require.Equal(r.t, int64(2*n), events, "events")
	require.Equal(r.t, int64(2*n)*int64(2*n-1)/2, sum, "ids of events")
	var want int64
	for i := range n {
		want += int64(i*100 + 25)
	}
	count, cents := r.pair("SELECT COALESCE(SUM(n), 0), CAST(COALESCE(SUM(amount), 0) * 100 AS SIGNED) FROM `%s`.totals")
	require.Equal(r.t, int64(n), count, "counts in totals")
	require.Equal(r.t, want, cents, "amounts in totals")
	left, low := r.pair("SELECT COUNT(*), COALESCE(MIN(id), 0) FROM `%s`.orders")
	require.Equal(r.t, int64(min(n, 3)), left, "orders")
	require.Equal(r.t, int64(max(n-3, 0)), low, "oldest order")
	require.Empty(r.t, r.server.Prepared(r.t, r.job), "branches of the job are left")
}

// pair is the two numbers that a query on the rig's database gives.
func (r *rig) pair(query string) (a, b int64) {
	r.t.Helper()
	require.NoError(r.t, r.db.QueryRowContext(r.t.Context(), fmt.Sprintf(query, r.database)).Scan(&a, &b))
	return a, b
}

func (r *rig) visible(table string) int64 {
	r.t.Helper()
	return servertest.Int(r.t, r.db, fmt.Sprintf("SELECT COUNT(*) FROM `%s`.`%s`", r.database, table))
}

// finish opens without faults as often as needed, goes on to Write n, finishes and verifies.
func (r *rig) finish(n int) {
	r.t.Helper()
	r.faults = nil
	s := r.open()
	require.NoError(r.t, run(r.t.Context(), s, n, 2, 4))
	require.NoError(r.t, s.Finish(r.t.Context()))
	r.verify(n)
}

func write(t *testing.T, s *Sink, n int) {
	t.Helper()
	b := s.Batch()
	fill(b, n)
	require.NoError(t, s.Write(t.Context(), b, []byte(strconv.Itoa(n+1))))
}

// insertOnly limits the rig to the table that can be split.
func insertOnly(c *Config) { c.Tables = c.Tables[:1] }

func insert(t *testing.T, s *Sink, id int) {
	t.Helper()
	b := s.Batch()
	b.Insert("events").Int64(int64(id)).String("e")
	require.NoError(t, s.Write(t.Context(), b, []byte(strconv.Itoa(id+1))))
}

// lock takes row locks as a stranger and holds them until the returned function is called.
func (r *rig) lock(query string, args ...any) (unlock func()) {
	r.t.Helper()
	conn, err := r.db.Conn(r.t.Context())
	require.NoError(r.t, err)
	tx, err := conn.BeginTx(r.t.Context(), nil)
	require.NoError(r.t, err)
	_, err = tx.ExecContext(r.t.Context(), query, args...)
	require.NoError(r.t, err)
	done := false
	unlock = func() {
		if !done {
			done = true
			require.NoError(r.t, errors.Join(tx.Rollback(), conn.Close()))
		}
	}
	r.t.Cleanup(unlock)
	return unlock
}

func ids(job string, epoch uint64, lane uint32, seqs ...uint64) []xa.ID {
	list := make([]xa.ID, 0, len(seqs))
	for _, s := range seqs {
		list = append(list, xa.ID{Job: job, Epoch: epoch, Lane: lane, Seq: s})
	}
	return list
}

// currentFaults acts as the rig's injector does at the moment.
type currentFaults struct{ r *rig }

func (c currentFaults) At(ctx context.Context, p fault.Point) error {
	return fault.At(ctx, c.r.faults, p)
}
func (c currentFaults) String() string { return fmt.Sprint(c.r.faults) }

// faultyMemory is an in-memory store that the rig's injector acts on as well.
func faultyMemory(r *rig) *state.Memory { return state.NewMemory(state.WithFaults(currentFaults{r})) }

// waitForLockWaiter waits until a session waits for a row lock in the rig's database (MySQL).
func (r *rig) waitForLockWaiter() {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		return servertest.Int(r.t, r.db, "SELECT COUNT(*) FROM performance_schema.data_locks WHERE OBJECT_SCHEMA = ? AND LOCK_STATUS = 'WAITING'",
			r.database) > 0
	}, 5*time.Second, 5*time.Millisecond)
}
