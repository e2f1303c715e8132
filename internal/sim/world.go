package sim

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/uuid"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/xa"
	"github.com/xasink/xasink/xa/xasim"
)

const (
	job  = "sim"
	user = "sink"
)

// How long things take. A slow answer outlasts the sink's patience with a verb.
const (
	slow      = 40 * time.Second
	downTime  = 7 * time.Second
	storeDown = 15 * time.Second
	passing   = 1200 * time.Millisecond // of Wait: longer than a branch is held by a session that has ended
)

// lockTimes are how long strangers lock rows: through one lock wait timeout of the sink, or two, or for longer.
var lockTimes = [...]time.Duration{1300 * time.Millisecond, 1700 * time.Millisecond, 2500 * time.Millisecond, 5 * time.Second}

// world is what outlives processes: the server, the store, and strangers.
type world struct {
	scenario Scenario
	server   *xasim.Server
	history  *history
	storage  *storage
	ledger   ledger.Ledger
	lives    int // process runs so far
	result   Result
	falseOK  bool    // FalseOK waits for its statement
	done     bool    // the source is at its end, and all of it is committed
	through  *client // the process that did that
	foreign  int     // branches that strangers prepared
	orphans  uint64
	late     []xa.ID   // orphans, in the order in which they came
	locked   time.Time // until when strangers lock rows
}

func newWorld(ctx context.Context, s Scenario, keep bool) (*world, error) {
	w := &world{scenario: s, server: xasim.New(s.Kind)}
	w.history = newHistory(job, w.server, keep)
	w.history.most = s.Pending
	w.storage = newStorage(w.history)
	var err error
	w.server.SetDetachDelay(s.Detach)
	if w.ledger, err = ledger.New(ledger.DefaultDatabase); err != nil {
		return nil, err
	}
	chosen, err := tablesOf(s.Tables)
	if err != nil {
		return nil, err
	}
	ddl := []string{"CREATE DATABASE shop DEFAULT CHARACTER SET utf8mb4", "CREATE TABLE shop.strange (id BIGINT PRIMARY KEY)"}
	for _, k := range chosen {
		ddl = append(ddl, k.ddl)
	}
	if err := w.admin(ctx, ddl...); err != nil {
		return nil, err
	}
	return w, nil
}

// session opens a session of the administrator.
func (w *world) session(ctx context.Context) (*session, error) {
	c, err := w.server.Connector().Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &session{c}, nil
}

// session is a connection without the pool of database/sql around it.
type session struct{ driver.Conn }

func (s *session) exec(ctx context.Context, statements ...string) error {
	for _, text := range statements {
		if _, err := s.Conn.(driver.ExecerContext).ExecContext(ctx, text, nil); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

func (s *session) query(ctx context.Context, text string) ([][]driver.Value, error) {
	rows, err := s.Conn.(driver.QueryerContext).QueryContext(ctx, text, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	defer func() { _ = rows.Close() }()
	var all [][]driver.Value
	for {
		row := make([]driver.Value, len(rows.Columns()))
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
}

// admin executes statements on a session of their own.
func (w *world) admin(ctx context.Context, statements ...string) error {
	s, err := w.session(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	return s.exec(ctx, statements...)
}

// act lets a go wrong at point p of c. The error is the point's answer.
func (w *world) act(ctx context.Context, c *client, a Act, p fault.Point) error {
	switch a.What {
	case Die:
		c.die()
		return errDead
	case Vanish:
		for _, id := range w.sinkSessions(ctx) {
			_ = w.server.Freeze(id)
		}
		c.die()
		return errDead
	case Pause:
		w.pause(ctx, c)
	case Fail:
		return &fault.Error{Point: p}
	case Restart:
		w.server.Restart(xasim.Crash{})
	case Down:
		w.server.Kill()
		time.AfterFunc(downTime, func() { w.server.Boot(xasim.Crash{}) })
	case Kill:
		if ids := w.sinkSessions(ctx); len(ids) > 0 {
			_ = w.admin(ctx, fmt.Sprintf("KILL CONNECTION %d", ids[c.points%len(ids)]))
		}
	case LoseRequest:
		w.server.Inject(xasim.Fault{User: user, Act: xasim.LoseRequest})
	case LoseAnswer:
		w.server.Inject(xasim.Fault{User: user, Act: xasim.LoseAnswer})
	case FreezeRequest:
		w.server.Inject(xasim.Fault{User: user, Act: xasim.FreezeRequest})
	case FreezeAnswer:
		w.server.Inject(xasim.Fault{User: user, Act: xasim.FreezeAnswer})
	case SlowAnswer:
		w.server.Inject(xasim.Fault{User: user, Act: xasim.SlowAnswer, Delay: slow})
	case Interrupt:
		w.server.Inject(xasim.Fault{User: user, Contains: "`shop`", Act: xasim.Refuse, Err: &mysql.MySQLError{
			Number: 1317, SQLState: [5]byte{'7', '0', '1', '0', '0'}, Message: "Query execution was interrupted"}})
	case Forget:
		n, at := 0, c.points
		w.server.Restart(xasim.Crash{Lose: func(x xasim.XID) bool {
			id, ours := x.ID()
			n++
			return ours && id.Job == job && n%2 == at%2
		}})
	case FalseOK:
		// OK to the session that prepared is never false, and neither is any on a detached server (server-facts 0.3).
		if c.opened == 0 && w.scenario.Kind.String() != xasim.MySQL().String() {
			w.falseOK = true
			w.server.Inject(xasim.Fault{User: user, Statement: [...]string{"XA COMMIT", "XA ROLLBACK"}[c.points%2], Act: xasim.FalseOK})
		}
	case Busy:
		w.server.Inject(xasim.Fault{User: user, Statement: "XA COMMIT", Act: xasim.Refuse, Err: &mysql.MySQLError{
			Number: 1205, SQLState: [5]byte{'H', 'Y', '0', '0', '0'}, Message: "Lock wait timeout exceeded; try restarting transaction"}})
	case Swallow:
		w.server.Inject(xasim.Fault{User: user, Statement: "INSERT INTO `" + ledger.DefaultDatabase + "`.`branches`", Contains: "VALUES", Act: xasim.Swallow})
	case Wait:
		time.Sleep(passing)
	case Lock:
		w.lock(ctx, c.points)
	case Orphan:
		w.orphan(ctx, c.points)
	case Foreign:
		w.foreignBranch(ctx, c.points)
	case Operator:
		w.byHand(ctx, "ROLLBACK", w.history.left(), c.points)
	case CommitListed:
		w.byHand(ctx, "COMMIT", w.history.listed(), c.points)
	case CommitStray:
		if c.opened == 0 {
			w.byHand(ctx, "COMMIT", w.strays(c), c.points)
		}
	case StoredInDoubt, LostInDoubt, LateInDoubt:
		w.storage.next = a.What
	case NoStore:
		w.storage.down = time.Now().Add(storeDown)
	case whatEnd:
	}
	return nil
}

// sinkSessions are the connection ids of the sink's user, rising.
func (w *world) sinkSessions(ctx context.Context) []uint64 {
	s, err := w.session(ctx)
	if err != nil {
		return nil
	}
	defer func() { _ = s.Close() }()
	rows, err := s.query(ctx, "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = '"+user+"' ORDER BY ID")
	if err != nil {
		w.history.breach(Stuck, "the simulation cannot see sessions: %v", err)
		return nil
	}
	var ids []uint64
	for _, r := range rows {
		var id uint64
		if _, err := fmt.Sscan(text(r[0]), &id); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

func text(v driver.Value) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

// contended is a statement that locks a row which the sink writes, "" where its tables have none.
func (w *world) contended(n int) string {
	var upserted []string
	for _, k := range tables {
		if k.declare.Operations != 0 && strings.IndexByte(w.scenario.Tables, k.letter) >= 0 {
			upserted = append(upserted, k.declare.Name)
		}
	}
	if len(upserted) == 0 {
		return ""
	}
	return fmt.Sprintf("INSERT INTO shop.%s (id, n) VALUES (%d, 7) ON DUPLICATE KEY UPDATE n = n + 7", upserted[n%len(upserted)], n%hot)
}

// lock lets a stranger lock a row for a while.
func (w *world) lock(ctx context.Context, n int) {
	statement := w.contended(n)
	s, err := w.session(ctx)
	if err != nil || statement == "" {
		return
	}
	if err := s.exec(ctx, "SET SESSION innodb_lock_wait_timeout = 1", "BEGIN", statement); err != nil {
		_ = s.Close()
		return
	}
	d := lockTimes[n%len(lockTimes)]
	if until := time.Now().Add(d); until.After(w.locked) {
		w.locked = until
	}
	time.AfterFunc(d, func() { _ = s.Close() })
}

// orphan prepares a branch as an owner before this one would have, had its PREPARE been late.
func (w *world) orphan(ctx context.Context, n int) {
	statement := w.contended(n)
	if w.history.claimed < 2 || statement == "" {
		return
	}
	w.orphans++
	const farAhead = 1_000_000
	id := xa.ID{Job: job, Epoch: 1 + uint64(n)%(w.history.claimed-1), Lane: recovery.FirstLane + uint32(n%2), Seq: farAhead + w.orphans}
	proof, err := w.ledger.ProofSQL(ledger.Proof{ID: id, Run: uuid.New()})
	if err != nil {
		return
	}
	s, err := w.session(ctx)
	if err != nil {
		return
	}
	defer func() { _ = s.Close() }()
	xid := id.XID().SQL()
	err = s.exec(ctx, "SET SESSION innodb_lock_wait_timeout = 1", "XA START "+xid, statement, proof, "XA END "+xid, "XA PREPARE "+xid)
	if err == nil {
		w.late = append(w.late, id)
	}
}

// byHand lets an operator send verb for one of branches, which works if no session holds it.
func (w *world) byHand(ctx context.Context, verb string, branches []xa.ID, n int) {
	if len(branches) == 0 {
		return
	}
	w.history.sync()
	w.history.operator = true
	_ = w.admin(ctx, "XA "+verb+" "+branches[n%len(branches)].XID().SQL())
	w.history.sync()
	w.history.operator = false
}

// strays are the branches that the opening of c has seen, and has to roll back. Those whose proof row
// would be at or below its lane's watermark are left out: nothing could tell it from one that was committed in time.
func (w *world) strays(c *client) []xa.ID {
	return slices.DeleteFunc(w.history.orphans(), func(id xa.ID) bool {
		l, _ := w.history.current.Lane(id.Lane)
		return c.unseen(id) || id.Epoch < l.Epoch || id.Epoch == l.Epoch && id.Seq <= l.Seq
	})
}

// foreignBranch prepares a branch that is no business of the sink: its names are ours but for one thing, or others'.
func (w *world) foreignBranch(ctx context.Context, n int) {
	r := rand.New(rand.NewPCG(w.scenario.Seed, uint64(n)))
	w.foreign++
	x := xa.ID{Job: job, Epoch: 1, Lane: recovery.FirstLane, Seq: 2_000_000 + uint64(w.foreign)}.XID()
	switch r.IntN(4) {
	case 0:
		x = xa.ID{Job: job + "2", Epoch: 1, Lane: recovery.FirstLane, Seq: uint64(w.foreign)}.XID()
	case 1:
		x.Format = 1
	case 2:
		x.BQUAL = x.BQUAL[:len(x.BQUAL)-1]
	default:
		x = xa.XID{Format: 77, GTRID: fmt.Sprint("app", w.foreign), BQUAL: "b"}
	}
	s, err := w.session(ctx)
	if err != nil {
		w.foreign--
		return
	}
	defer func() { _ = s.Close() }()
	err = s.exec(ctx, "XA START "+x.SQL(), fmt.Sprintf("INSERT INTO shop.strange VALUES (%d)", w.foreign), "XA END "+x.SQL(), "XA PREPARE "+x.SQL())
	if err != nil {
		w.foreign--
	}
}
