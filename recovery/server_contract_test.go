package recovery_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
	"github.com/xasink/xasink/xa/xasim"
)

// The tests of the files …_contract_test.go run in a bubble on a server in memory. What happens between two steps of the
// code under test is put there by its fault points.

// world is a server with a job, a ledger and a target table.
type world struct {
	t      *testing.T
	server *xasim.Server
	admin  *sql.DB    // of the test itself
	handle *xa.Server // of the code under test
	ledger ledger.Ledger
	store  *state.Memory
	job    string
	at     func(p fault.Point) // called at each point; nil does nothing
	wire   *wire               // between handle and server
}

// At is of fault.Injector.
func (w *world) At(_ context.Context, p fault.Point) error {
	if w.at != nil {
		w.at(p)
	}
	return nil
}

// String is of fault.Injector.
func (w *world) String() string { return "world" }

// onKinds runs story on each kind of server that fits.
func onKinds(t *testing.T, fits func(xasim.Kind) bool, story func(t *testing.T, w *world)) {
	t.Helper()
	for _, kind := range xasim.Kinds() {
		if !fits(kind) {
			continue
		}
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t, server: xasim.New(kind), store: state.NewMemory(), job: "job"}
				w.admin = sql.OpenDB(w.server.Connector())
				w.admin.SetMaxIdleConns(0) // a session ends when it is left
				l, err := ledger.New("book")
				require.NoError(t, err)
				w.ledger = l.WithFaults(w)
				w.wire = &wire{Connector: w.server.ConnectorFor(xasim.Account{User: "sink"})}
				w.handle, err = xa.Connect(t.Context(), xa.Config{Connector: w.wire, Address: "simulated", Job: w.job, Faults: w})
				require.NoError(t, err)
				t.Cleanup(func() {
					require.NoError(t, w.handle.Close())
					require.NoError(t, w.admin.Close())
					w.server.Kill()
					synctest.Wait()
				})
				w.exec("CREATE DATABASE shop", "CREATE TABLE shop.target (id BIGINT PRIMARY KEY)")
				require.NoError(t, l.Create(t.Context(), w.admin))
				story(t, w)
			})
		})
	}
}

func anyKind(xasim.Kind) bool    { return true }
func attached(k xasim.Kind) bool { return k.String() != xasim.MySQL().String() }

func (w *world) exec(statements ...string) {
	w.t.Helper()
	for _, s := range statements {
		_, err := w.admin.ExecContext(context.WithoutCancel(w.t.Context()), s)
		require.NoError(w.t, err, s)
	}
}

func (w *world) id(epoch uint64, lane uint32, seq uint64) xa.ID {
	return xa.ID{Job: w.job, Epoch: epoch, Lane: lane, Seq: seq}
}

// rows are the ids in the target.
func (w *world) rows() (ids []int) {
	w.t.Helper()
	rows, err := w.admin.QueryContext(w.t.Context(), "SELECT id FROM shop.target ORDER BY id")
	require.NoError(w.t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int
		require.NoError(w.t, rows.Scan(&id))
		ids = append(ids, id)
	}
	require.NoError(w.t, rows.Err())
	return ids
}

// prepared are the job's branches in XA RECOVER.
func (w *world) prepared() []xa.ID {
	w.t.Helper()
	ids, err := recovery.Remaining(w.t.Context(), w.handle, w.job)
	require.NoError(w.t, err)
	return ids
}

// stranger is a session without an owner mark.
type stranger struct {
	w    *world
	conn *sql.Conn
}

func (w *world) stranger() *stranger {
	w.t.Helper()
	conn, err := w.admin.Conn(w.t.Context())
	require.NoError(w.t, err)
	s := &stranger{w, conn}
	w.t.Cleanup(s.leave)
	return s
}

func (s *stranger) exec(statements ...string) {
	s.w.t.Helper()
	for _, text := range statements {
		_, err := s.conn.ExecContext(context.WithoutCancel(s.w.t.Context()), text)
		require.NoError(s.w.t, err, text)
	}
}

// prepare makes a branch with one row and its proof row, from START to PREPARE.
func (s *stranger) prepare(id xa.ID, row int) {
	s.w.t.Helper()
	x := id.XID().SQL()
	s.exec("XA START "+x, fmt.Sprintf("INSERT INTO shop.target VALUES (%d)", row), s.w.proof(id), "XA END "+x, "XA PREPARE "+x)
}

func (s *stranger) commit(id xa.ID) {
	s.w.t.Helper()
	s.exec("XA COMMIT " + id.XID().SQL())
}

// leave ends the session; a branch that it has prepared stays. It may be called more than once.
func (s *stranger) leave() { _ = s.conn.Close() }

// proof is the statement of id's proof row.
func (w *world) proof(id xa.ID) string {
	w.t.Helper()
	text, err := w.ledger.ProofSQL(ledger.Proof{ID: id, Run: uuid.New()})
	require.NoError(w.t, err)
	return text
}

// decide writes a decision that lists the given branches, as an owner who is dead now.
func (w *world) decide(ids ...xa.ID) {
	w.t.Helper()
	var list []state.Branch
	for _, id := range ids {
		list = append(list, state.Branch{Server: "s", ID: id, Rows: 1})
	}
	claim, err := w.store.Claim(w.t.Context(), w.job, state.ClaimRequest{Run: uuid.New()})
	require.NoError(w.t, err)
	part := state.Part{Pending: state.Merge(list), Bounds: state.Bounds{Lanes: 8, Marks: 2}, Server: state.Server{Name: "s"}}
	d := state.Next(claim.Last(), claim.Epoch(), w.store.ID(), uuid.New(), w.job, []state.Position{{Source: "s"}}, part, time.Now())
	require.NoError(w.t, claim.Commit(w.t.Context(), d))
}

// opened is an owner.
type opened struct {
	w      *world
	claim  state.Claim
	owner  recovery.Owner
	pool   *xa.Pool
	report recovery.Report
}

// open is a whole opening, with the claim's own decision.
func (w *world) open() (*opened, error) {
	w.t.Helper()
	ctx := w.t.Context()
	view, err := recovery.Look(ctx, w.handle, w.ledger, w.job)
	require.NoError(w.t, err)
	info, err := w.store.Peek(ctx, w.job)
	require.NoError(w.t, err)
	if stop := view.Check(w.store.ID(), info); stop != nil {
		return nil, stop
	}
	o := &opened{w: w}
	o.claim, err = w.store.Claim(ctx, w.job, state.ClaimRequest{Floor: view.Floor(), Run: uuid.New()})
	require.NoError(w.t, err)
	o.owner = recovery.Owner{Job: w.job, Store: w.store.ID(), Run: uuid.New(), Epoch: o.claim.Epoch()}
	o.pool = xa.NewPool(w.handle, xa.PoolConfig{
		Job: w.job, MarksPerLane: 2, Admit: recovery.Admit(w.handle, w.ledger, o.owner, view.Identity),
	})
	w.t.Cleanup(func() { require.NoError(w.t, o.pool.Close(context.Background())) })
	o.report, err = recovery.Recover(ctx, recovery.Opening{
		Server: w.handle, Ledger: w.ledger, Pool: o.pool, Owner: o.owner, View: view, Decisions: o.claim.History(),
		Bounds: state.Bounds{Lanes: 8, Marks: 2}, Faults: w,
	})
	if err != nil {
		return nil, err
	}
	return o, o.decide(o.report.Part)
}

func (o *opened) decide(part state.Part) error {
	positions := []state.Position{{Source: "s"}}
	return o.claim.Commit(o.w.t.Context(), state.Next(o.claim.Last(), o.owner.Epoch, o.owner.Store, o.owner.Run, o.owner.Job, positions, part, time.Now()))
}

// prepare makes a branch of the owner on a session of its pool.
func (o *opened) prepare(id xa.ID, row int) *xa.Session {
	t := o.w.t
	t.Helper()
	s, err := o.pool.Take(t.Context(), id.Lane)
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context(), id))
	_, err = s.Exec(t.Context(), fmt.Sprintf("INSERT INTO shop.target VALUES (%d)", row))
	require.NoError(t, err)
	_, err = s.LedgerExec(t.Context(), o.w.proof(id))
	require.NoError(t, err)
	require.NoError(t, s.End(t.Context()))
	require.NoError(t, s.Prepare(t.Context()))
	return s
}

func (o *opened) commit(id xa.ID) error {
	return recovery.Commit(o.w.t.Context(), recovery.CommitRequest{
		Server: o.w.handle, Pool: o.pool, Lane: recovery.LaneCommitter, Ledger: o.w.ledger, Owner: o.owner,
		Bounds: state.Bounds{Lanes: 8, Marks: 2}, ID: id, Deadline: time.Minute,
	})
}

func (o *opened) sweep(current state.Decision, proven ...state.Lane) (int, error) {
	return recovery.Sweep(o.w.t.Context(), recovery.SweepRequest{
		Server: o.w.handle, Pool: o.pool, Ledger: o.w.ledger, Owner: o.owner, Current: current, Proven: proven,
	})
}

// once lets do happen at the first point that fits after the first one that is since.
func (w *world) once(since fault.Point, fits func(fault.Point) bool, do func()) {
	armed, done := false, false
	w.at = func(p fault.Point) {
		switch {
		case p == since:
			armed = true
		case armed && !done && fits(p):
			done = true
			do()
		}
	}
	w.t.Cleanup(func() { require.True(w.t, done, "the moment of the story never came") })
}

func is(points ...fault.Point) func(fault.Point) bool {
	return func(p fault.Point) bool { return slices.Contains(points, p) }
}
