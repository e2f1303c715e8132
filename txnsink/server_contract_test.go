package txnsink_test

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

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/txnsink/writertest"
	"github.com/xasink/xasink/xa"
	"github.com/xasink/xasink/xa/xasim"
)

// The tests of the files …_contract_test.go run a whole sink in a bubble on a server in memory.

// shop is such a server, with the tables of writertest, and the store of a job.
type shop struct {
	t      *testing.T
	server *xasim.Server
	db     *sql.DB // of the test itself
	store  *state.Memory
	change func(*txnsink.Config)
}

func inShop(t *testing.T, story func(t *testing.T, s *shop)) {
	t.Helper()
	for _, kind := range xasim.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shop{t: t, server: xasim.New(kind), store: state.NewMemory()}
				s.db = sql.OpenDB(s.server.Connector())
				s.db.SetMaxIdleConns(0)
				t.Cleanup(func() {
					require.NoError(t, s.db.Close())
					s.server.Kill()
					synctest.Wait()
				})
				s.exec(append([]string{"CREATE DATABASE shop"}, writertest.DDL("shop")...)...)
				story(t, s)
			})
		})
	}
}

func (s *shop) exec(statements ...string) {
	s.t.Helper()
	conn, err := s.db.Conn(s.t.Context())
	require.NoError(s.t, err)
	defer func() { _ = conn.Close() }()
	for _, text := range statements {
		_, err := conn.ExecContext(s.t.Context(), text)
		require.NoError(s.t, err, text)
	}
}

func (s *shop) config() txnsink.Config {
	cfg := txnsink.Config{
		Job: "shop", Connector: s.server.ConnectorFor(xasim.Account{User: "sink", Database: "shop"}), Store: s.store,
		Tables: writertest.Tables(), LedgerDatabase: "book", CheckpointInterval: time.Hour,
		Start: func(context.Context) ([]byte, error) { return []byte("start"), nil },
	}
	if s.change != nil {
		s.change(&cfg)
	}
	return cfg
}

func (s *shop) open() *txnsink.Sink {
	s.t.Helper()
	sink, err := txnsink.Open(s.t.Context(), s.config())
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, sink.Close()) })
	return sink
}

// orphan leaves a prepared branch of an owner of epoch 1 that locks an order.
func (s *shop) orphan(order int) {
	s.t.Helper()
	l, err := ledger.New("book")
	require.NoError(s.t, err)
	id := xa.ID{Job: "shop", Epoch: 1, Lane: recovery.FirstLane, Seq: 1000}
	proof, err := l.ProofSQL(ledger.Proof{ID: id, Run: uuid.New()})
	require.NoError(s.t, err)
	x := id.XID().SQL()
	s.exec("XA START "+x, fmt.Sprintf("INSERT INTO shop.orders VALUES (%d, 'orphan')", order), proof, "XA END "+x, "XA PREPARE "+x)
}

func (s *shop) content() writertest.Content { return writertest.ReadSQL(s.t, s.db, "shop") }

func (s *shop) prepared() (n int) {
	rows, err := s.db.QueryContext(s.t.Context(), "XA RECOVER")
	require.NoError(s.t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		n++
	}
	require.NoError(s.t, rows.Err())
	return n
}

// aRow adds a row to a batch.
type aRow func(b *txnsink.Batch)

func anEvent(id int64) aRow {
	return func(b *txnsink.Batch) { b.Insert("events").Int64(id).String("e") }
}

func anOrder(id int64, text string) aRow {
	return func(b *txnsink.Batch) { b.Upsert("orders").Int64(id).String(text) }
}

func put(t *testing.T, sink *txnsink.Sink, next string, rows ...aRow) error {
	t.Helper()
	b := sink.Batch()
	for _, add := range rows {
		add(b)
	}
	return sink.Write(t.Context(), b, []byte(next))
}

// A statement with rows that was answered OK and not executed is found by its count of rows, and nothing is prepared.
func TestRowsThatTheServerDidNotCountAreNeverPrepared(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		sink := s.open()
		require.NoError(t, put(t, sink, "1", anEvent(1)))
		s.server.Inject(xasim.Fault{Statement: "INSERT INTO", Contains: "`events`", Act: xasim.Swallow})
		require.ErrorContains(t, put(t, sink, "3", anEvent(2), anEvent(3)), "affected rows")
		require.NoError(t, sink.Close())
		require.Zero(t, s.prepared())
		sink = s.open()
		require.Equal(t, "start", string(sink.Position()))
		require.NoError(t, put(t, sink, "3", anEvent(1), anEvent(2), anEvent(3)))
		require.NoError(t, sink.Finish(t.Context()))
		require.Equal(t, []int64{1, 2, 3}, s.content().Events)
	})
}

// A statement of a Write is refused: no later one of it is sent, and nothing of it can be prepared.
func TestNothingIsSentBehindARefusedStatement(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		s.change = func(c *txnsink.Config) { c.BatchRows = 1 }
		sink := s.open()
		s.exec("INSERT INTO shop.events VALUES (2, 'there')")
		before := len(s.server.Events())
		var row *txnsink.RowError
		require.ErrorAs(t, put(t, sink, "1", anEvent(1), anEvent(2), anEvent(3)), &row)
		require.NoError(t, sink.Close())
		require.False(t, slices.ContainsFunc(s.server.EventsSince(before), func(e xasim.Event) bool { return e.Kind == xasim.Prepared }))
		require.Equal(t, []int64{2}, s.content().Events)
	})
}

// The lock is a dead owner's, who prepared late: the orphan is swept at once, and the statement sent again.
func TestLockOfALateOrphanIsSweptAtOnce(t *testing.T) {
	for name, rows := range map[string][]aRow{
		"a Write to one lane":                     {anOrder(1, "a")},
		"a Write to two lanes, which goes back":   {anEvent(1), anOrder(1, "a")},
		"a Write whose second row meets the lock": {anOrder(2, "a"), anEvent(2), anOrder(1, "a")},
	} {
		t.Run(name, func(t *testing.T) {
			inShop(t, func(t *testing.T, s *shop) {
				require.NoError(t, s.open().Close())
				sink := s.open()
				s.orphan(1)
				require.NoError(t, put(t, sink, "1", rows...))
				require.Equal(t, uint64(1), sink.Stats().OrphansRolledBack)
				require.Zero(t, sink.Stats().Checkpoints[txnsink.ReasonLockWait], "nothing of its own had to be committed")
				require.NoError(t, sink.Finish(t.Context()))
				require.Equal(t, "a", s.content().Orders[1])
			})
		})
	}
}

// However many Writes the branches hold: one that meets a lock is undone, and no other.
func TestOnlyTheWriteThatMetALockIsUndone(t *testing.T) {
	for before := range 4 {
		t.Run(fmt.Sprint(before, " Writes before"), func(t *testing.T) {
			inShop(t, func(t *testing.T, s *shop) {
				sink := s.open()
				want := map[int64]string{9: "a"}
				for i := range int64(before) {
					require.NoError(t, put(t, sink, "w", anEvent(i), anOrder(i, "a")))
					want[i] = "a"
				}
				stranger, err := s.db.Conn(t.Context())
				require.NoError(t, err)
				for _, text := range []string{"BEGIN", "INSERT INTO shop.orders VALUES (9, 'stranger')"} {
					_, err := stranger.ExecContext(t.Context(), text)
					require.NoError(t, err)
				}
				time.AfterFunc(1300*time.Millisecond, func() { _ = stranger.Close() })
				require.NoError(t, put(t, sink, "last", anEvent(9), anOrder(9, "a")))
				require.Equal(t, uint64(1), sink.Stats().LockWaits)
				require.NoError(t, sink.Finish(t.Context()))
				require.Len(t, s.content().Events, before+1)
				require.Equal(t, want, s.content().Orders)
			})
		})
	}
}

// On an attached server a lane's session holds the branch that it prepared until the COMMIT, which is sent there: the
// next Write to that lane waits for it.
func TestAnAttachedLaneWaitsForTheCommitOnItsSession(t *testing.T) {
	inShop(t, func(t *testing.T, s *shop) {
		if s.server.Kind().String() == xasim.MySQL().String() {
			t.Skip("a detached server's session is free after PREPARE")
		}
		cfg := s.config()
		w, err := txnsink.NewWriter(t.Context(), cfg.WriterConfig(uuid.New()))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, w.Close()) })
		sink, err := txnsink.OpenWith(t.Context(), cfg, w)
		require.NoError(t, err)
		require.NoError(t, put(t, sink, "1", anEvent(1)))
		_, err = w.Prepare(t.Context())
		require.NoError(t, err)
		session := s.holder()
		b := w.Batch()
		anEvent(2)(b)
		require.ErrorIs(t, w.Write(t.Context(), b), txnsink.ErrNeedsCheckpoint)
		why, _ := w.NeedsCheckpoint()
		require.Equal(t, txnsink.ReasonPending, why)
		require.NoError(t, sink.Checkpoint(t.Context()))
		committed := s.last(xasim.Committed)
		require.Equal(t, session, committed.Session, "by the session that prepared it")
	})
}

// holder is the session of the newest PREPARE.
func (s *shop) holder() uint64 { return s.last(xasim.Prepared).Session }

// last is the newest event of a branch, of the given kind.
func (s *shop) last(kind xasim.EventKind) xasim.Event {
	for _, e := range slices.Backward(s.server.Events()) {
		if e.Kind == kind && e.XID != (xa.XID{}) {
			return e
		}
	}
	require.Fail(s.t, "there is no such event", "%s", kind)
	return xasim.Event{}
}
