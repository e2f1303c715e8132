package txnsinktest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/txnsink/txnsinktest"
	"github.com/xasink/xasink/xa"
)

// target is a database with the tables of layouts, real or in memory.
type target struct {
	open     openFunc
	cfg      txnsink.Config
	rows     func(table string) []txnsinktest.Row
	prepared func() []xa.ID
}

func inMemory(flavour xa.Flavour) target {
	db := txnsinktest.New(layouts...)
	if flavour == xa.MariaDB {
		db = txnsinktest.NewAttached(layouts...)
	}
	cfg := config()
	return target{open: db.Open, cfg: cfg, rows: db.Rows, prepared: db.Prepared}
}

func onServer(t *testing.T, s servertest.Server) target {
	t.Helper()
	database := s.Database(t)
	db := s.DB(t)
	for _, l := range layouts {
		var columns []string
		for _, c := range l.Columns {
			null := " NOT NULL"
			if c.Nullable {
				null = ""
			}
			columns = append(columns, c.Name+" "+c.Type+null)
		}
		servertest.Exec(t, db, fmt.Sprintf("CREATE TABLE `%s`.%s (%s, PRIMARY KEY (%s))", database, l.Name,
			strings.Join(columns, ", "), strings.Join(l.Key, ", ")))
	}
	cfg := config()
	cfg.Job, cfg.DSN, cfg.LedgerDatabase = s.Job(t), s.DSN(database), database
	return target{
		open: txnsink.Open, cfg: cfg,
		rows:     func(table string) []txnsinktest.Row { return readRows(t, db, database, table) },
		prepared: func() []xa.ID { return s.Prepared(t, cfg.Job) },
	}
}

func readRows(t *testing.T, db *sql.DB, database, table string) []txnsinktest.Row {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), fmt.Sprintf("SELECT * FROM `%s`.%s ORDER BY 1", database, table))
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	names, err := rows.Columns()
	require.NoError(t, err)
	list := []txnsinktest.Row{}
	for rows.Next() {
		values := make([]sql.NullString, len(names))
		into := make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		require.NoError(t, rows.Scan(into...))
		row := txnsinktest.Row{}
		for i, v := range values {
			if v.Valid {
				row[names[i]] = v.String
			}
		}
		list = append(list, row)
	}
	require.NoError(t, rows.Err())
	return list
}

// player plays a scenario on a target and notes what can be seen after each step.
type player struct {
	t      *testing.T
	target target
	store  *state.Memory
	sink   *txnsink.Sink
	trace  []string
}

// play does the steps, separated by semicolons:
//
//	open, close, flush, checkpoint, finish     of the sink; open notes what recovery did
//	event ID [BODY], total NAME N AMOUNT, order ID [STATE], delete ID      one Write; several joined by +
//	fail POINT#N      what fault.Parse reads, from the next open on; fail alone ends it, and a short CommitTimeout with it
//	store             a store that knows nothing; claim: another owner claims the job in the store
func (p *player) play(script string) []string {
	p.t.Helper()
	p.target.cfg.Store = p.store
	for i, step := range strings.Split(script, ";") {
		step = strings.TrimSpace(step)
		err := p.do(step, i)
		note := fmt.Sprintf("%s: %s", step, describe(err))
		for _, l := range layouts {
			note += fmt.Sprintf(" %s=%v", l.Name, p.target.rows(l.Name))
		}
		if p.sink != nil {
			r := p.sink.Recovered()
			note += fmt.Sprintf(" position=%s committed=%s recovered=%d,%d,%d", p.sink.Position(), p.sink.Committed(),
				r.Committed, r.Already, r.RolledBack)
		}
		note += " prepared="
		for _, id := range slices.SortedFunc(slices.Values(p.target.prepared()), xa.ID.Compare) {
			note += strings.TrimPrefix(id.String(), p.target.cfg.Job)
		}
		p.trace = append(p.trace, note)
	}
	if p.sink != nil {
		require.NoError(p.t, p.sink.Close())
	}
	return p.trace
}

func (p *player) do(step string, number int) (err error) {
	p.t.Helper()
	ctx := p.t.Context()
	words := strings.Fields(step)
	switch words[0] {
	case "open":
		p.sink, err = p.target.open(ctx, p.target.cfg)
		return err
	case "close":
		err = p.sink.Close()
		p.sink = nil
		return err
	case "flush":
		return p.sink.Flush(ctx)
	case "checkpoint":
		return p.sink.Checkpoint(ctx)
	case "finish":
		return p.sink.Finish(ctx)
	case "fail":
		if len(words) == 1 {
			p.target.cfg.CommitTimeout = 0
		}
		p.target.cfg.Faults, err = fault.Parse(strings.Join(words[1:], ""))
		return err
	case "store":
		p.target.cfg.Store = state.NewMemory()
		return nil
	case "claim":
		claim, err := p.store.Claim(ctx, p.target.cfg.Job, state.ClaimRequest{})
		require.NoError(p.t, err)
		return claim.Close()
	}
	b := p.sink.Batch()
	for part := range strings.SplitSeq(step, "+") {
		p.row(b, strings.Fields(part))
	}
	return p.sink.Write(ctx, b, []byte(strconv.Itoa(number)))
}

func (p *player) row(b *txnsink.Batch, words []string) {
	p.t.Helper()
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		require.NoError(p.t, err)
		return n
	}
	words = append(words, "", "")
	switch words[0] {
	case "event":
		b.Insert("events").Int64(number(words[1])).String(words[2])
	case "total":
		b.Upsert("totals").String(words[1]).Int64(number(words[2])).Decimal(words[3])
	case "order":
		r := b.Upsert("orders").Int64(number(words[1]))
		if words[2] == "" {
			r.Null()
			return
		}
		r.String(words[2])
	case "delete":
		b.Delete("orders").Int64(number(words[1]))
	default:
		require.Fail(p.t, "no such step", "%q", words)
	}
}

// describe is what a caller decides by.
func describe(err error) string {
	var row *txnsink.RowError
	var failed *txnsink.FailedError
	var blocked *txnsink.BlockedError
	var stop *recovery.Stop
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &failed):
		return "failed before"
	case errors.Is(err, txnsink.ErrClosed):
		return "closed"
	case errors.As(err, &row):
		return fmt.Sprintf("row error %d, table %s, column %q, key %s", row.Code, row.Table, row.Column, row.Key)
	case errors.As(err, &blocked):
		return "blocked: " + blocked.Table + " " + blocked.Keys
	case errors.As(err, &stop):
		return "stop: " + stop.Kind.String()
	case errors.Is(err, txnsink.ErrFenced):
		return "fenced"
	}
	return fmt.Sprintf("error, outcome %s, by a fault %t", xa.OutcomeOf(err), strings.Contains(err.Error(), "injected fault"))
}

// scenarios are those on which the real sink and the one in memory must agree.
var scenarios = []struct {
	name, script string
	change       func(*txnsink.Config)
}{
	{name: "rows are visible by the checkpoint and not before", script: "open; event 1 a; flush; event 2 b + total x 1 2.5; checkpoint;" +
		"order 1 new + total x 2 -0.75; flush; finish; flush; open; close"},
	{name: "a flush prepares what can be split, close leaves it to recovery", script: "open; event 1 a + order 1; flush; event 2 b; close;" +
		"open; event 1 a + order 1; flush; flush; checkpoint; flush; checkpoint; event 2 b; finish"},
	{name: "upserts overwrite and add, deletes remove, in source order", script: "open; total x 1 1.00 + total x 1 0.10 + total y 5 0;" +
		"order 1 a + order 1 b + order 2 + delete 3 + delete 1; checkpoint; total x -3 -1.20 + order 1 c + order 2 d + delete 1 + order 1;" +
		"order 2; finish"},
	{name: "a duplicate is an error of its row", script: "open; event 1 a; checkpoint; event 2 b; order 7 x + event 3 c + event 1 d + event 4 e;" +
		"flush; close; open; event 2 b; finish"},
	{name: "a duplicate within a Write", script: "open; event 1 a + event 2 b + event 2 c; close; open; event 1 a; finish"},
	{name: "a row that a prepared branch holds is settled first", script: "open; event 1 a; flush; event 2 b + order 1 x; event 1 c; close;" +
		"open; checkpoint; finish"},
	{name: "values that do not fit", script: "open; event 1 much-too-long-for-twenty; close; open; total x 1 1; total x 9223372036854775807 1; close;" +
		"open; event 1 exactly-twenty-chars; finish"},
	{name: "full segments are split or cut", change: func(c *txnsink.Config) { c.MaxSegmentRows = 2 },
		script: "open; event 1; event 2; event 3; event 4 + event 5; order 1 a; order 2 b; order 3 c; event 6; close; open; finish"},
	{name: "limits of a table", change: func(c *txnsink.Config) { c.Tables[0].MaxSegmentRows = 1; c.MaxPending = 4 },
		script: "open; event 1; event 2; event 3; order 1 a + event 4; finish"},
	{name: "another store", script: "open; event 1 a; flush; close; store; open"},
	{name: "fenced by a newer claim", script: "open; event 1 a; claim; event 2 b; checkpoint; checkpoint; close; open"},
	{name: "PREPARE answered too late", script: "fail fail@after:xa-prepare#2; open; event 1 a; flush; event 2 b; flush; close; fail; open; event 2 b; finish"},
	{name: "PREPARE never sent", script: "fail fail@before:xa-prepare#2; open; event 1 a; flush; event 2 b; checkpoint; close; fail; open; finish"},
	{name: "COMMIT of a listed branch", change: func(c *txnsink.Config) { c.CommitTimeout = 2 * time.Second },
		script: "fail fail@before:xa-commit; open; event 1 a; flush; event 2 b + order 1 x; checkpoint; flush; close; fail; open; event 3 c; finish"},
	{name: "at least once", change: func(c *txnsink.Config) { c.Mode = txnsink.AtLeastOnce; c.BatchRows = 3 },
		script: "open; order 1 a; flush; order 2 b; order 3 c + order 4 d; order 5 e; close; open; order 6 f; checkpoint; delete 1 + total x 1 1.5; finish"},
}

func TestTheSinkInMemoryAgreesWithTheRealOne(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			servertest.Each(t, func(t *testing.T, server servertest.Server) {
				t.Parallel()
				require.Equal(t, playOn(t, inMemory(server.Flavour), s.script, s.change), playOn(t, onServer(t, server), s.script, s.change))
			})
		})
	}
}

func playOn(t *testing.T, on target, script string, change func(*txnsink.Config)) []string {
	t.Helper()
	on.cfg.Tables = slices.Clone(on.cfg.Tables)
	if change != nil {
		change(&on.cfg)
	}
	on.cfg.Start = func(context.Context) ([]byte, error) { return []byte("start"), nil }
	p := &player{t: t, target: on, store: state.NewMemory()}
	return p.play(script)
}
