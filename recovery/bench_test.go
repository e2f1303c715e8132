package recovery_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests spend their time in waits of a second that a server needs, not on a processor.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// bench is one server with a job, a ledger and a target table that only this test knows.
type bench struct {
	real   servertest.Server
	dsn    *mysql.Config
	admin  *sql.DB // plain statements of the test itself; no mark, no claim
	name   string  // of the database that holds ledger and target
	job    string
	jobs   []string // every job that the test ever had
	ledger ledger.Ledger
	store  *state.Memory
	faults *armed
	server *xa.Server
	log    *slog.Logger
}

// onServers runs story on each server that the environment names.
func onServers(t *testing.T, story func(t *testing.T, b *bench)) {
	t.Helper()
	t.Parallel() // most of the time passes in waits of a second that a server needs
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		t.Parallel()
		story(t, newBench(t, server))
	})
}

func newBench(t *testing.T, server servertest.Server) *bench {
	t.Helper()
	config, err := mysql.ParseDSN(server.DSN(""))
	require.NoError(t, err)
	b := &bench{
		real: server, dsn: config, admin: server.DB(t), name: server.Database(t), job: "recovery-" + unique(t), faults: &armed{},
		log: slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
	b.jobs = []string{b.job}
	b.store = state.NewMemory(state.WithFaults(b.faults))
	b.ledger, err = ledger.New(b.name)
	require.NoError(t, err)
	b.exec(t, "CREATE TABLE `"+b.name+"`.`target` (`id` BIGINT PRIMARY KEY) ENGINE=InnoDB")
	b.server = b.connect(t, config)
	t.Cleanup(func() { b.cleanUp(t) })
	return b
}

// cleanUp rolls back what the test left prepared, which includes the foreign branches that it made.
func (b *bench) cleanUp(t *testing.T) {
	left := func() (left []xa.XID) {
		for _, x := range b.scan(t) {
			if id, ok := x.ID(); ok && slices.Contains(b.jobs, id.Job) || slices.Contains(b.jobs, x.GTRID) {
				left = append(left, x)
			}
		}
		return left
	}
	if b.attached() && len(left()) > 0 {
		<-time.After(recovery.MinDetachWait) // no event tells when the server has let go of a branch (server-facts.md, 1b)
	}
	require.NoError(t, b.server.Close())
	require.Eventually(t, func() bool {
		for _, x := range left() {
			_, _ = b.admin.ExecContext(context.Background(), "XA ROLLBACK "+x.SQL()) // refused while its session is ending
		}
		return len(left()) == 0
	}, 20*time.Second, 50*time.Millisecond)
}

// connect is a handle on the server of its own, as another process has it.
func (b *bench) connect(t *testing.T, config *mysql.Config) *xa.Server {
	t.Helper()
	server, err := xa.Connect(t.Context(), xa.Config{DSN: config.FormatDSN(), Job: b.job, Faults: b.faults})
	require.NoError(t, err)
	return server
}

func (b *bench) attached() bool { return !b.server.Abilities().Detached }

func (b *bench) exec(t *testing.T, query string) {
	t.Helper()
	servertest.Exec(t, b.admin, query)
}

func (b *bench) scan(t *testing.T) []xa.XID {
	t.Helper()
	return b.real.Scan(t)
}

// prepared are the job's prepared branches.
func (b *bench) prepared(t *testing.T) []xa.ID {
	t.Helper()
	return b.real.Prepared(t, b.job)
}

// rows are the ids in the target table.
func (b *bench) rows(t *testing.T) []int {
	t.Helper()
	rows, err := b.admin.QueryContext(t.Context(), "SELECT `id` FROM `"+b.name+"`.`target` ORDER BY `id`")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	var ids []int
	for rows.Next() {
		var id int
		require.NoError(t, rows.Scan(&id))
		ids = append(ids, id)
	}
	require.NoError(t, rows.Err())
	return ids
}

func (b *bench) id(epoch uint64, lane uint32, seq uint64) xa.ID {
	return xa.ID{Job: b.job, Epoch: epoch, Lane: lane, Seq: seq}
}

// statements of a branch with one row, from START to PREPARE.
func (b *bench) statements(t *testing.T, id xa.ID, row int) []string {
	t.Helper()
	proof, err := b.ledger.ProofSQL(ledger.Proof{
		ID: id, Run: uuid.New(), Tables: []ledger.TableUse{{Table: b.name + ".target", Kind: "insert", Rows: 1}},
	})
	require.NoError(t, err)
	x := id.XID().SQL()
	return []string{"XA START " + x, b.insert(row), proof, "XA END " + x, "XA PREPARE " + x}
}

func (b *bench) insert(row int) string {
	return fmt.Sprintf("INSERT INTO `%s`.`target` VALUES (%d)", b.name, row)
}

// dead leaves a branch prepared, as an owner that is dead and gone leaves it: no session, no mark.
func (b *bench) dead(t *testing.T, id xa.ID, row int) {
	t.Helper()
	require.NoError(t, b.ledger.Create(t.Context(), b.admin))
	b.zombie(t, id, row)()
}

// zombie leaves a branch prepared by a session that lives on without a mark, until end is called.
func (b *bench) zombie(t *testing.T, id xa.ID, row int) (end func()) {
	t.Helper()
	conn, err := b.admin.Conn(t.Context())
	require.NoError(t, err)
	for _, query := range b.statements(t, id, row) {
		_, err := conn.ExecContext(t.Context(), query)
		require.NoError(t, err, query)
	}
	return func() { b.hangUp(t, conn) }
}

// hangUp closes a session for good and returns when the server no longer shows it. On attached servers its branch may
// be held a moment longer, which the code under test has to wait for.
func (b *bench) hangUp(t *testing.T, conn *sql.Conn) {
	t.Helper()
	var session uint64
	require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&session))
	require.ErrorIs(t, conn.Raw(func(any) error { return driver.ErrBadConn }), driver.ErrBadConn)
	require.Eventually(t, func() bool {
		alive, err := b.server.SessionAlive(t.Context(), session)
		return err == nil && !alive
	}, 10*time.Second, 5*time.Millisecond)
}

// committed makes a branch that was committed long ago.
func (b *bench) committed(t *testing.T, id xa.ID, row int) {
	t.Helper()
	require.NoError(t, b.ledger.Create(t.Context(), b.admin))
	conn, err := b.admin.Conn(t.Context())
	require.NoError(t, err)
	for _, query := range append(b.statements(t, id, row), "XA COMMIT "+id.XID().SQL()) {
		_, err := conn.ExecContext(t.Context(), query)
		require.NoError(t, err, query)
	}
	require.NoError(t, conn.Close())
}

// foreign leaves a prepared branch of another system, which the test must find untouched.
func (b *bench) foreign(t *testing.T) xa.XID {
	t.Helper()
	x := xa.XID{Format: 201, GTRID: b.job, BQUAL: "f"}
	conn, err := b.admin.Conn(t.Context())
	require.NoError(t, err)
	for _, query := range []string{"XA START " + x.SQL(), b.insert(1_000_000), "XA END " + x.SQL(), "XA PREPARE " + x.SQL()} {
		_, err := conn.ExecContext(t.Context(), query)
		require.NoError(t, err)
	}
	b.hangUp(t, conn)
	return x
}

// decide writes a decision as an owner of epoch does, who is dead afterwards; it returns the epoch of a claim made for
// it.
func (b *bench) decide(t *testing.T, part state.Part) state.Decision {
	t.Helper()
	claim, err := b.store.Claim(t.Context(), b.job, state.ClaimRequest{Run: uuid.New()})
	require.NoError(t, err)
	defer func() { require.NoError(t, claim.Close()) }()
	part.Bounds = state.Bounds{Lanes: 5, Marks: 2}
	part.Server = state.Server{Name: "s", Started: time.Unix(0, 0).UTC()}
	d := state.Next(claim.Last(), claim.Epoch(), b.store.ID(), uuid.New(), b.job, position("start"), part, time.Now())
	require.NoError(t, claim.Commit(t.Context(), d))
	return d
}

// list is a decision that lists the given branches.
func (b *bench) list(t *testing.T, ids ...xa.ID) state.Decision {
	t.Helper()
	branches := make([]state.Branch, len(ids))
	for i, id := range ids {
		branches[i] = state.Branch{Server: "s", ID: id, Rows: 1}
	}
	return b.decide(t, state.Part{Pending: state.Merge(branches)})
}

func position(text string) []state.Position {
	return []state.Position{{Source: "file", Data: []byte(text)}}
}

// unique is an end for a name.
func unique(t *testing.T) string {
	t.Helper()
	_, random, _ := strings.Cut(servertest.Unique("x"), "_")
	return random
}

// armed is an injector that a test arms for a while.
type armed struct {
	in atomic.Pointer[fault.Injector]
}

func (a *armed) arm(in fault.Injector) { a.in.Store(&in) }
func (a *armed) disarm()               { a.in.Store(nil) }

func (a *armed) At(ctx context.Context, p fault.Point) error {
	if in := a.in.Load(); in != nil {
		return (*in).At(ctx, p)
	}
	return nil
}

func (a *armed) String() string { return "armed" }

// testWriter writes the log of the packages into the test's own.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(line []byte) (int, error) {
	w.t.Logf("%s", line)
	return len(line), nil
}

// grants are the rights outside of the ledger that a user needs to open a job.
func (b *bench) grants() []string {
	if b.attached() {
		return []string{"GRANT PROCESS ON *.*"}
	}
	return []string{"GRANT XA_RECOVER_ADMIN ON *.*"}
}

// user makes a user with the given rights and no others.
func (b *bench) user(t *testing.T, grants ...string) *mysql.Config {
	t.Helper()
	for i, g := range grants {
		grants[i] = strings.TrimPrefix(g, "GRANT ")
	}
	config := b.dsn.Clone()
	config.User, config.Passwd = b.real.User(t, grants...)
	return config
}
