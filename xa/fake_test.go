package xa_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/xa"
)

// fake is a server that says OK to everything and remembers what it was sent, unless reply says otherwise. It knows
// what the package asks of a server while it opens one, and user locks. Rules of branches are not its business: tests
// with it are about what the package sends, and how it takes an answer.
type fake struct {
	version  string
	detached string // "" where the variable is unknown
	facts    map[string]string

	mu    sync.Mutex
	last  uint64
	alive map[uint64]*fakeConn
	locks map[string]uint64
	sent  []string
	limbo []int // what the next readings of transactions without a session count, -1 for 3854; then 0
	// reply is asked for each statement; nil is OK. It may block, and returns ctx's error then, as a driver does.
	reply func(ctx context.Context, query string) error
}

func newFake(detached string) *fake {
	return &fake{
		version:  "9.7.4",
		detached: detached,
		facts: map[string]string{
			"log_bin": "1", "sync_binlog": "1", "flush": "1", "packet": "1000", "conns": "100", "read_only": "0",
			"rollback_on_timeout": "0", "format": "ROW", "wsrep": "", "recover": "ok", "process": "1", "autocommit": "1",
			"multi": "0", "user": "me", "sql_log_bin": "1",
		},
		alive: map[uint64]*fakeConn{},
		locks: map[string]uint64{},
	}
}

func (f *fake) Driver() driver.Driver { return nil }

func (f *fake) Connect(context.Context) (driver.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	c := &fakeConn{server: f, id: f.last}
	f.alive[c.id] = c
	return c, nil
}

// statements are those sent since the last call, without settings and without what a pool asks.
func (f *fake) statements() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	sent := f.sent
	f.sent = nil
	return sent
}

// on sets what the server answers to statements that begin with prefix, once; to others it says OK.
func (f *fake) on(prefix string, err error) {
	done := false
	f.answer(func(_ context.Context, query string) error {
		if done || !strings.HasPrefix(query, prefix) {
			return nil
		}
		done = true
		return err
	})
}

func (f *fake) answer(reply func(context.Context, string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reply = reply
}

func (f *fake) sessions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.alive)
}

func (f *fake) end(id uint64) {
	delete(f.alive, id)
	for name, holder := range f.locks {
		if holder == id {
			delete(f.locks, name)
		}
	}
}

func refusal(number uint16, state, message string) error {
	e := &mysql.MySQLError{Number: number, Message: message}
	copy(e.SQLState[:], state)
	return e
}

// fakeConn is one connection.
type fakeConn struct {
	server *fake
	id     uint64
}

func (c *fakeConn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not offered") }
func (c *fakeConn) Begin() (driver.Tx, error)           { return nil, errors.New("not offered") }

func (c *fakeConn) Close() error {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.server.alive[c.id] == c {
		c.server.end(c.id)
	}
	return nil
}

func (c *fakeConn) Ping(context.Context) error {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.server.alive[c.id] != c {
		return driver.ErrBadConn
	}
	return nil
}

func (c *fakeConn) ExecContext(ctx context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	if strings.HasPrefix(query, "SET ") {
		return driver.RowsAffected(0), nil
	}
	f := c.server
	if err := f.hush(ctx, query); err != nil {
		return nil, err
	}
	f.mu.Lock()
	if f.alive[c.id] != c {
		f.mu.Unlock()
		return nil, driver.ErrBadConn
	}
	if query == "DO 1; DO 1" {
		defer f.mu.Unlock()
		if f.facts["multi"] == "1" {
			return driver.RowsAffected(0), nil
		}
		return nil, refusal(1064, "42000", "You have an error in your SQL syntax")
	}
	if id, ok := strings.CutPrefix(query, "KILL CONNECTION "); ok {
		defer f.mu.Unlock()
		n, _ := strconv.ParseUint(id, 10, 64)
		f.sent = append(f.sent, query)
		f.end(n)
		return driver.RowsAffected(0), nil
	}
	f.sent = append(f.sent, query)
	reply := f.reply
	f.mu.Unlock()
	if reply != nil {
		if err := reply(ctx, query); err != nil {
			return nil, err
		}
	}
	return driver.RowsAffected(1), nil
}

var (
	lockName    = regexp.MustCompile(`(GET_LOCK|IS_USED_LOCK)\('([^']+)'`)
	processByID = regexp.MustCompile(`PROCESSLIST WHERE ID = (\d+)`)
)

// hush blocks until ctx ends where the fact "silent" is how query begins.
func (f *fake) hush(ctx context.Context, query string) error {
	f.mu.Lock()
	silent := f.facts["silent"]
	f.mu.Unlock()
	if silent == "" || !strings.HasPrefix(query, silent) {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (c *fakeConn) QueryContext(ctx context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	f := c.server
	if err := f.hush(ctx, query); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.alive[c.id] != c {
		return nil, driver.ErrBadConn
	}
	fact := func(name string) driver.Value { return f.facts[name] }
	switch {
	case query == "XA RECOVER":
		return f.recover()
	case strings.HasPrefix(query, "SELECT VERSION()"):
		return row(f.version, fact("user").(string)+"@%", fact("user").(string)+"@localhost"), nil
	case strings.HasPrefix(query, "SELECT @@log_bin"):
		return row(fact("log_bin"), fact("sync_binlog"), fact("flush"), fact("packet"), fact("conns"), fact("read_only"),
			fact("rollback_on_timeout")), nil
	case query == "SELECT @@binlog_format":
		return variable(f.facts["format"])
	case query == "SELECT @@sql_log_bin":
		return variable(f.facts["sql_log_bin"])
	case query == "SELECT @@xa_detach_on_prepare":
		return variable(f.detached)
	case query == "SELECT @@wsrep_on":
		return variable(f.facts["wsrep"])
	case strings.Contains(query, "innodb_trx"):
		if f.facts["process"] == "0" {
			return nil, refusal(1227, "42000", "Access denied; you need (at least one of) the PROCESS privilege(s) for this operation")
		}
		if strings.Contains(query, "thread_id = 0") && len(f.limbo) > 0 {
			next := f.limbo[0]
			f.limbo = f.limbo[1:]
			if next < 0 {
				return nil, refusal(3854, "HY000", "Cannot convert string from utf8mb4 to utf8mb3")
			}
			return row(strconv.Itoa(next)), nil
		}
		return row("0"), nil
	case strings.HasPrefix(query, "SELECT CONNECTION_ID()"):
		detached := driver.Value("0")
		if strings.Contains(query, "xa_detach") {
			detached = f.detached
		}
		return row(strconv.FormatUint(c.id, 10), fact("autocommit"), detached), nil
	case strings.HasPrefix(query, "SELECT GET_LOCK"):
		name := lockName.FindStringSubmatch(query)[2]
		if holder, held := f.locks[name]; held && holder != c.id {
			return row("0"), nil
		}
		f.locks[name] = c.id
		return row("1"), nil
	case strings.HasPrefix(query, "SELECT IS_USED_LOCK"):
		var holders []driver.Value
		for _, m := range lockName.FindAllStringSubmatch(query, -1) {
			if id, held := f.locks[m[2]]; held {
				holders = append(holders, strconv.FormatUint(id, 10))
			} else {
				holders = append(holders, nil)
			}
		}
		return row(holders...), nil
	case query == "SHOW PROCESSLIST":
		return f.processes(), nil
	case processByID.MatchString(query):
		if f.facts["wide"] == "1" {
			return nil, refusal(3854, "HY000", "Cannot convert string from utf8mb4 to utf8mb3")
		}
		id, _ := strconv.ParseUint(processByID.FindStringSubmatch(query)[1], 10, 64)
		if _, alive := f.alive[id]; !alive {
			return &fakeRows{columns: 1}, nil
		}
		return row(fact("user")), nil
	case query == "SELECT 1":
		return row("1"), nil
	}
	return nil, fmt.Errorf("the fake server does not know %q", query)
}

// processes is SHOW PROCESSLIST, cut off before its first line where the fact "cut" says so.
func (f *fake) processes() driver.Rows {
	list := &fakeRows{columns: 3}
	if f.facts["cut"] == "1" {
		list.err = mysql.ErrInvalidConn
		return list
	}
	for id := range f.alive {
		list.rows = append(list.rows, []driver.Value{strconv.FormatUint(id, 10), f.facts["user"], "%"})
	}
	return list
}

func (f *fake) recover() (driver.Rows, error) {
	switch f.facts["recover"] {
	case "denied":
		return nil, refusal(1401, "XAE03", "XAER_RMERR: Fatal error occurred in the transaction branch - check your data for consistency")
	case "unknown":
		return nil, refusal(1064, "42000", "You have an error in your SQL syntax")
	case "garbled":
		return row("1", "2", "3", "abcd"), nil
	}
	return &fakeRows{columns: 4}, nil
}

func variable(value string) (driver.Rows, error) {
	if value == "" {
		return nil, refusal(1193, "HY000", "Unknown system variable")
	}
	return row(value), nil
}

func row(values ...driver.Value) driver.Rows {
	return &fakeRows{columns: len(values), rows: [][]driver.Value{values}}
}

type fakeRows struct {
	columns int
	rows    [][]driver.Value
	err     error // at the end, instead of the end
}

func (r *fakeRows) Columns() []string { return make([]string, r.columns) }
func (r *fakeRows) Close() error      { return nil }

func (r *fakeRows) Next(into []driver.Value) error {
	if len(r.rows) == 0 {
		if r.err != nil {
			return r.err
		}
		return io.EOF
	}
	copy(into, r.rows[0])
	r.rows = r.rows[1:]
	return nil
}

const fakeJob = "fakejob"

// open connects to f and makes a pool for fakeJob.
func (f *fake) open(t *testing.T, change ...func(*xa.Config, *xa.PoolConfig)) (*xa.Server, *xa.Pool) {
	t.Helper()
	c := xa.Config{Connector: f, Address: "fake:3306", Job: fakeJob, VerbTimeout: 5 * time.Second}
	pc := xa.PoolConfig{Job: fakeJob}
	for _, fn := range change {
		fn(&c, &pc)
	}
	server, err := xa.Connect(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	p := xa.NewPool(server, pc)
	t.Cleanup(func() { require.NoError(t, p.Close(context.WithoutCancel(t.Context()))) })
	f.statements()
	return server, p
}

var fakeID = xa.ID{Job: fakeJob, Epoch: 3, Lane: 0, Seq: 9}

const fakeInsert = "INSERT INTO t VALUES (1)"

// reach brings a fresh session of p into state, and forgets what was sent for it.
func (f *fake) reach(t *testing.T, p *xa.Pool, state xa.State) *xa.Session {
	t.Helper()
	ctx := t.Context()
	f.answer(nil)
	s, err := p.Take(ctx, 0)
	require.NoError(t, err)
	t.Cleanup(func() {
		f.answer(nil)
		require.NoError(t, p.Discard(context.WithoutCancel(ctx), s))
	})
	if state != xa.None {
		require.NoError(t, s.Start(ctx, fakeID))
	}
	switch state {
	case xa.None, xa.Active:
	case xa.Stalled:
		f.on("INSERT", refusal(1205, "HY000", "Lock wait timeout exceeded; try restarting transaction"))
		_, err := s.Exec(ctx, fakeInsert)
		require.ErrorIs(t, err, xa.ErrLockWait)
	case xa.Ended:
		require.NoError(t, s.End(ctx))
	case xa.Prepared:
		require.NoError(t, s.End(ctx))
		require.NoError(t, s.Prepare(ctx))
	case xa.Poisoned:
		f.on("INSERT", refusal(1062, "23000", "Duplicate entry '1' for key 't.PRIMARY'"))
		_, err := s.Exec(ctx, fakeInsert)
		require.Error(t, err)
	case xa.Broken:
		f.on("INSERT", mysql.ErrInvalidConn)
		_, err := s.Exec(ctx, fakeInsert)
		require.ErrorIs(t, err, xa.ErrSessionLost)
	}
	require.Equal(t, state, s.State())
	f.answer(nil)
	f.statements()
	return s
}
