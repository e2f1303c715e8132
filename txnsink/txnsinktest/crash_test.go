package txnsinktest_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/txnsink/txnsinktest"
)

// layouts are a table of each kind: insert-only, additive upserts, upserts and deletes.
var layouts = []txnsink.Layout{
	{Name: "events", Key: []string{"id"}, Columns: []txnsink.LayoutColumn{
		{Name: "id", Type: "bigint"}, {Name: "body", Type: "varchar(20)"}}},
	{Name: "totals", Key: []string{"name"}, Columns: []txnsink.LayoutColumn{
		{Name: "name", Type: "varchar(20)"}, {Name: "n", Type: "bigint"}, {Name: "amount", Type: "decimal(20,2)"}}},
	{Name: "orders", Key: []string{"id"}, Columns: []txnsink.LayoutColumn{
		{Name: "id", Type: "bigint"}, {Name: "state", Type: "varchar(20)", Nullable: true}}},
}

func config() txnsink.Config {
	return txnsink.Config{
		Job: "job",
		Tables: []txnsink.Table{
			{Name: "events"},
			{Name: "totals", Operations: txnsink.Upsert, Add: []string{"n", "amount"}},
			{Name: "orders", Operations: txnsink.Upsert | txnsink.Delete},
		},
		Start:              func(context.Context) ([]byte, error) { return []byte("0"), nil },
		CheckpointInterval: time.Hour,
	}
}

// fill puts the rows of Write n into b: two events, a total, and an order that is deleted three Writes later.
func fill(b *txnsink.Batch, n int) {
	b.Insert("events").Int64(int64(2 * n)).String("first")
	b.Insert("events").Int64(int64(2*n + 1)).String("second")
	b.Upsert("totals").String("t" + strconv.Itoa(n%3)).Int64(1).Decimal(strconv.Itoa(n) + ".25")
	b.Upsert("orders").Int64(int64(n)).String("new")
	if n >= 3 {
		b.Delete("orders").Int64(int64(n - 3))
	}
}

// loop is an embedder's: it writes Writes 0 to n-1, with a flush after every second and a checkpoint after every third.
func loop(ctx context.Context, open openFunc, cfg txnsink.Config, n int) (err error) {
	sink, err := open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	from, err := strconv.Atoi(string(sink.Position()))
	if err != nil {
		return err
	}
	for i := from; i < n; i++ {
		b := sink.Batch()
		fill(b, i)
		if err := sink.Write(ctx, b, []byte(strconv.Itoa(i+1))); err != nil {
			return err
		}
		if i%2 == 1 {
			err = sink.Flush(ctx)
		}
		if i%3 == 2 && err == nil {
			err = sink.Checkpoint(ctx)
		}
		if err != nil {
			return err
		}
	}
	return sink.Finish(ctx)
}

// verify compares the tables with what n Writes hold, each once.
func verify(t *testing.T, db *txnsinktest.DB, n int) {
	t.Helper()
	events, orders := []txnsinktest.Row{}, []txnsinktest.Row{}
	counts, cents := [3]int{}, [3]int{}
	for i := range n {
		events = append(events,
			txnsinktest.Row{"id": strconv.Itoa(2 * i), "body": "first"}, txnsinktest.Row{"id": strconv.Itoa(2*i + 1), "body": "second"})
		if i >= n-3 {
			orders = append(orders, txnsinktest.Row{"id": strconv.Itoa(i), "state": "new"})
		}
		counts[i%3]++
		cents[i%3] += 100*i + 25
	}
	totals := []txnsinktest.Row{}
	for i := range min(n, 3) {
		totals = append(totals, txnsinktest.Row{
			"name": "t" + strconv.Itoa(i), "n": strconv.Itoa(counts[i]), "amount": fmt.Sprintf("%d.%02d", cents[i]/100, cents[i]%100)})
	}
	require.Equal(t, events, db.Rows("events"))
	require.Equal(t, totals, db.Rows("totals"))
	require.Equal(t, orders, db.Rows("orders"))
	require.Empty(t, db.Prepared(), "branches are left")
}

const writes = 8

// reachedPoints counts how often a whole loop reaches each point, the store's included.
func reachedPoints(t *testing.T) *fault.Recorder {
	t.Helper()
	db := txnsinktest.New(layouts...)
	var seen fault.Recorder
	cfg := config()
	cfg.Faults = &seen
	cfg.Store = state.NewMemory(state.WithFaults(&seen))
	require.NoError(t, loop(t.Context(), db.Open, cfg, writes))
	verify(t, db, writes)
	return &seen
}

// TestTheLoopEndsExactWhateverFailsOnce lets each effect fail, before and after, each of the times that it is reached.
// The loop is started again until it gets through.
func TestTheLoopEndsExactWhateverFailsOnce(t *testing.T) {
	seen := reachedPoints(t)
	cases := 0
	for _, p := range seen.Reached() {
		for nth := 1; nth <= seen.Count(p); nth++ {
			t.Run(fmt.Sprintf("%s#%d", p, nth), func(t *testing.T) {
				db := txnsinktest.New(layouts...)
				if p.After {
					db.FailAfter(p.Op, nth)
				} else {
					db.FailBefore(p.Op, nth)
				}
				var err error
				failures := 0
				for ; failures < 3; failures++ {
					if err = loop(t.Context(), db.Open, config(), writes); err == nil {
						break
					}
				}
				require.NoError(t, err)
				verify(t, db, writes)
				switch p.Op {
				case fault.DecisionWrite, fault.LedgerPrune: // the sink gets over it by itself
					require.Zero(t, failures)
				default:
					require.Equal(t, 1, failures)
				}
			})
			cases++
		}
	}
	t.Logf("%d failures at %d points", cases, len(seen.Reached()))
	require.Greater(t, cases, 200)
	for _, op := range []fault.Op{fault.Start, fault.Batch, fault.LedgerRow, fault.End, fault.Prepare, fault.Commit, fault.Recover,
		fault.DecisionWrite, fault.DecisionRead, fault.Claim, fault.LedgerRaise, fault.LedgerRead, fault.LedgerPrune, fault.Connect} {
		require.Positive(t, seen.Count(fault.Before(op)), "%s", op)
	}
}

// TestTheLoopEndsExactAfterADeadConnection lets everything fail from one point on, recovery included, and then mends it.
func TestTheLoopEndsExactAfterADeadConnection(t *testing.T) {
	for n := 1; ; n++ {
		db := txnsinktest.New(layouts...)
		dead := &dies{from: n}
		cfg := config()
		cfg.Faults = dead
		cfg.Store = state.NewMemory(state.WithFaults(dead))
		cfg.DecisionTimeout = 20 * time.Millisecond
		err := loop(t.Context(), db.Open, cfg, writes)
		if dead.reached < n {
			require.NoError(t, err)
			verify(t, db, writes)
			require.Greater(t, n, 200)
			t.Logf("%d points", n)
			return
		}
		require.Error(t, err, "dead from point %d on, %s", n, dead.at)
		dead.from, cfg.DecisionTimeout = 1<<30, 0
		require.NoError(t, loop(t.Context(), db.Open, cfg, writes+2), "dead from point %d on, %s", n, dead.at)
		verify(t, db, writes+2)
	}
}

// dies fails the point that is reached as the given one, and every later one. One goroutine at a time.
type dies struct {
	from, reached int
	at            fault.Point
}

func (d *dies) At(_ context.Context, p fault.Point) error {
	d.reached++
	if d.reached < d.from {
		return nil
	}
	if d.reached == d.from {
		d.at = p
	}
	return &fault.Error{Point: p}
}

func (d *dies) String() string { return fmt.Sprintf("dies#%d", d.from) }

// TestARecoveryThatDiesIsFollowedByAnother crashes a loop, lets the next opening die at each of its points, and opens
// again.
func TestARecoveryThatDiesIsFollowedByAnother(t *testing.T) {
	for name, crash := range map[string]func(*txnsinktest.DB){
		"orphans":                func(db *txnsinktest.DB) { db.FailAfter(fault.Prepare, 3) },
		"listed, none committed": func(db *txnsinktest.DB) { db.FailBefore(fault.Commit, 1) },
		"listed, one committed":  func(db *txnsinktest.DB) { db.FailAfter(fault.Commit, 5) },
	} {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				db := txnsinktest.New(layouts...)
				crash(db)
				cfg := config()
				require.Error(t, loop(t.Context(), db.Open, cfg, writes))
				require.NotEmpty(t, db.Prepared())
				dead := &dies{from: n}
				cfg.Faults = dead
				sink, err := db.Open(t.Context(), cfg)
				if err == nil {
					require.NoError(t, sink.Close())
					require.Greater(t, n, 8)
				}
				cfg.Faults = nil
				require.NoError(t, loop(t.Context(), db.Open, cfg, writes), "the opening was dead from point %d on, %s", n, dead.at)
				verify(t, db, writes)
				if err == nil {
					return
				}
			}
		})
	}
}
