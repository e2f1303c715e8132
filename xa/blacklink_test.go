package xa_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/xa"
)

// link is a TCP proxy that can go black: it forwards nothing more then, takes new connections, and closes none.
type link struct {
	listener net.Listener
	server   string

	mu    sync.Mutex
	black bool
	open  []net.Conn
	done  sync.WaitGroup
}

// newLink gives a proxy to real, and real's data source name through it. What waits in it ends with the test.
func newLink(t *testing.T, real servertest.Server, database, options string) (*link, string) {
	t.Helper()
	config, err := mysql.ParseDSN(real.DSN(database))
	require.NoError(t, err)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &link{listener: listener, server: config.Addr}
	l.done.Go(l.accept)
	t.Cleanup(l.close)
	config.Addr = listener.Addr().String()
	dsn := config.FormatDSN()
	if options != "" {
		dsn = withOption(dsn, options)
	}
	return l, dsn
}

func (l *link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		var d net.Dialer
		server, err := d.DialContext(context.Background(), "tcp", l.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		l.mu.Lock()
		l.open = append(l.open, client, server)
		l.mu.Unlock()
		l.done.Go(func() { l.forward(client, server) })
		l.done.Go(func() { l.forward(server, client) })
	}
}

// forward passes on what it reads, and the end, unless the link is black by then.
func (l *link) forward(from, to net.Conn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if l.isBlack() {
			_, _ = io.Copy(io.Discard, from)
			return
		}
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			_ = to.Close()
			return
		}
	}
}

func (l *link) isBlack() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.black
}

func (l *link) goBlack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.black = true
}

// close cuts everything, so that the server ends its sessions.
func (l *link) close() {
	_ = l.listener.Close()
	l.mu.Lock()
	for _, c := range l.open {
		_ = c.Close()
	}
	l.mu.Unlock()
	l.done.Wait()
}

// The limits of these tests, and what a loaded machine may add to them.
const (
	testVerb      = 1500 * time.Millisecond
	testStatement = 2 * time.Second
	testLocks     = 2 * time.Second // LockWait and MetadataLockWait
	slack         = 4 * time.Second
)

// within runs do, which has no deadline of its own, and tells its error, which comes between least and most.
func within(t *testing.T, least, most time.Duration, do func(ctx context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	result := make(chan error, 1)
	begin := time.Now()
	go func() { result <- do(ctx) }()
	select {
	case err := <-result:
		require.GreaterOrEqual(t, time.Since(begin), least)
		return err
	case <-time.After(most + slack):
		require.Fail(t, "it is still waiting", "after %s", most+slack)
		return nil
	}
}

// blackRig is a server behind a link, with short limits.
func blackRig(t *testing.T, real servertest.Server, options string) (*rig, *link) {
	t.Helper()
	var l *link
	r := newRig(t, real, func(c *xa.Config) {
		parsed, err := mysql.ParseDSN(c.DSN)
		require.NoError(t, err)
		l, c.DSN = newLink(t, real, parsed.DBName, options)
		c.VerbTimeout, c.StatementTimeout = testVerb, testStatement
		c.LockWait, c.MetadataLockWait = time.Second, time.Second
	})
	return r, l
}

// TestABlackLinkDoesNotHoldAQuestionForEver: each of them is asked without a deadline.
func TestABlackLinkDoesNotHoldAQuestionForEver(t *testing.T) {
	questions := map[string]func(context.Context, *xa.Server) error{
		"identity": func(ctx context.Context, s *xa.Server) error { _, err := s.Identify(ctx, s.DB()); return err },
		"scan":     func(ctx context.Context, s *xa.Server) error { _, err := s.Scan(ctx, s.DB()); return err },
		"limbo":    func(ctx context.Context, s *xa.Server) error { _, _, err := s.Limbo(ctx); return err },
		"settled":  func(ctx context.Context, s *xa.Server) error { return s.Settled(ctx) },
		"alive":    func(ctx context.Context, s *xa.Server) error { _, err := s.SessionAlive(ctx, 1); return err },
		"kill":     func(ctx context.Context, s *xa.Server) error { return s.KillSession(ctx, 1) },
		"holder": func(ctx context.Context, s *xa.Server) error {
			_, _, err := s.MarkHolder(ctx, s.DB(), xa.Mark{Job: "orders"})
			return err
		},
		"holders": func(ctx context.Context, s *xa.Server) error { _, err := s.Holders(ctx, "orders", 9, 9); return err },
	}
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		t.Parallel() // it is all waiting
		r, l := blackRig(t, real, "")
		require.NoError(t, r.server.Settled(t.Context()))
		l.goBlack()
		var all sync.WaitGroup
		for name, ask := range questions {
			all.Go(func() {
				err := within(t, testVerb-time.Second, testVerb, func(ctx context.Context) error { return ask(ctx, r.server) })
				require.ErrorIs(t, err, context.DeadlineExceeded, "%s", name)
				require.ErrorContains(t, err, "no answer within 1.5s", "%s", name)
				require.ErrorContains(t, err, r.server.Address(), "%s", name)
				require.NotContains(t, err.Error(), "\n", "%s", name)
			})
		}
		all.Wait()
	})
}

// TestABlackLinkDoesNotHoldAReadForEver: neither one on a connection that is open, nor one that opens its own.
func TestABlackLinkDoesNotHoldAReadForEver(t *testing.T) {
	const longest = testStatement + testLocks
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		t.Parallel() // it is all waiting
		r, l := blackRig(t, real, "")
		conn, err := r.server.DB().Conn(t.Context())
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		_, err = conn.ExecContext(t.Context(), "DO SLEEP(2.5)")
		require.NoError(t, err, "a statement may take StatementTimeout, and wait for a lock")
		l.goBlack()
		var all sync.WaitGroup
		all.Go(func() {
			err := within(t, longest-time.Second, longest, func(ctx context.Context) error {
				_, err := conn.ExecContext(ctx, "DO 1")
				return err
			})
			require.ErrorIs(t, err, mysql.ErrInvalidConn)
		})
		all.Go(func() {
			err := within(t, testVerb-time.Second, testVerb, func(ctx context.Context) error {
				another, err := r.server.DB().Conn(ctx)
				if err == nil {
					_ = another.Close()
				}
				return err
			})
			require.ErrorContains(t, err, "no answer within 1.5s")
		})
		all.Wait()
	})
}

// TestAShorterReadTimeoutOfTheUsersIsKept.
func TestAShorterReadTimeoutOfTheUsersIsKept(t *testing.T) {
	real := servertest.Get(t, xa.MySQL)
	r, l := blackRig(t, real, "readTimeout=1500ms")
	conn, err := r.server.DB().Conn(t.Context())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	l.goBlack()
	begin := time.Now()
	_, err = conn.ExecContext(t.Context(), "DO 1")
	require.ErrorIs(t, err, mysql.ErrInvalidConn)
	require.Less(t, time.Since(begin), testStatement)
}

// TestABlackLinkDoesNotHoldAPoolForEver: each wait is as long as Config says.
func TestABlackLinkDoesNotHoldAPoolForEver(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		t.Parallel() // it is all waiting
		r, l := blackRig(t, real, "")
		p := r.pool(t)
		idle, working := take(t, p), take(t, p)
		ended, open, reading := take(t, p), take(t, p), take(t, p)
		require.NoError(t, working.Start(t.Context(), r.id()))
		require.NoError(t, ended.Start(t.Context(), r.id()))
		_, err := ended.Exec(t.Context(), r.insert(1))
		require.NoError(t, err)
		require.NoError(t, ended.End(t.Context()))
		require.NoError(t, open.Start(t.Context(), r.id()))
		p.Return(idle)
		l.goBlack()

		var all sync.WaitGroup
		all.Go(func() {
			err := within(t, testStatement-time.Second, testStatement, func(ctx context.Context) error {
				_, err := working.Exec(ctx, r.insert(2))
				return err
			})
			require.ErrorContains(t, err, "no answer within 2s (StatementTimeout)")
			require.Equal(t, xa.Broken, working.State())
			err = within(t, testVerb-time.Second, testVerb, func(ctx context.Context) error { return p.Discard(ctx, working) })
			require.ErrorContains(t, err, "no answer within 1.5s")
		})
		all.Go(func() {
			err := within(t, testVerb-time.Second, testVerb, func(ctx context.Context) error { return ended.Prepare(ctx) })
			require.Equal(t, xa.InDoubt, xa.OutcomeOf(err))
			require.ErrorContains(t, err, "no answer within 1.5s; ")
			require.ErrorContains(t, err, r.server.Address())
			require.NotContains(t, err.Error(), "\n")
		})
		all.Go(func() {
			err := within(t, testStatement-time.Second, testStatement, func(ctx context.Context) error {
				rows, err := reading.QueryContext(ctx, "SELECT 1")
				if err != nil {
					return err
				}
				defer func() { _ = rows.Close() }()
				return rows.Err()
			})
			require.ErrorContains(t, err, "no answer within 2s (StatementTimeout)")
		})
		all.Go(func() {
			err := within(t, testVerb, 2*testVerb+time.Second, func(ctx context.Context) error {
				_, err := p.Take(ctx, 0)
				return err
			})
			require.ErrorContains(t, err, "no answer within 1.5s")
		})
		all.Go(func() {
			err := within(t, testVerb-time.Second, testVerb, func(ctx context.Context) error {
				_, err := p.Take(ctx, 1)
				return err
			})
			require.ErrorContains(t, err, "no answer within 1.5s")
			require.NotContains(t, err.Error(), "\n")
		})
		all.Wait()
		err = within(t, testVerb-time.Second, testVerb+time.Second, func(ctx context.Context) error { return p.Close(ctx) })
		require.ErrorContains(t, err, "no answer within 1.5s")
		require.ErrorContains(t, err, "was not asked for 2 more sessions")
		require.NotContains(t, err.Error(), "\n")
		require.Zero(t, p.Sessions())
	})
}

// TestAServerThatFallsSilentInTheMiddle of a question that takes several statements.
func TestAServerThatFallsSilentInTheMiddle(t *testing.T) {
	for _, c := range []struct{ statement, wide string }{
		{"SHOW PROCESSLIST", "1"}, {"KILL", "0"}, {"SELECT USER FROM", "0"},
	} {
		f := newFake("1")
		server, p := f.open(t, func(c *xa.Config, _ *xa.PoolConfig) { c.VerbTimeout = 300 * time.Millisecond })
		s := take(t, p)
		set := func(silent, wide string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.facts["silent"], f.facts["wide"] = silent, wide
		}
		set(c.statement, c.wide)
		err := within(t, 0, time.Second, func(ctx context.Context) error { return server.KillSession(ctx, s.ConnectionID()) })
		require.ErrorContains(t, err, "no answer within 300ms", "%s", c.statement)
		require.NotContains(t, err.Error(), "\n", "%s", c.statement)
		set("", "0")
	}
}

// TestConnectToASilentServerEnds: somebody listens at the address, takes the connection, and never says a word.
func TestConnectToASilentServerEnds(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	err = within(t, 0, time.Second, func(ctx context.Context) error {
		_, err := xa.Connect(ctx, xa.Config{DSN: "root:secret@tcp(" + l.Addr().String() + ")/", VerbTimeout: 200 * time.Millisecond})
		return err
	})
	require.ErrorContains(t, err, "connect on "+l.Addr().String()+": refused: ")
	require.ErrorContains(t, err, "no answer within 200ms; check that the server runs")
	require.NotContains(t, err.Error(), "\n")
	require.NotContains(t, err.Error(), "secret")
}

// TestHowLongAVerbMayTake follows StatementTimeout, so that whoever can set only that sets both.
func TestHowLongAVerbMayTake(t *testing.T) {
	for _, c := range []struct {
		statement, metadata time.Duration
		want                string
	}{
		{0, 0, "30s"},
		{time.Hour, 0, "30s"},
		{20 * time.Second, 0, "20s"},
		{3 * time.Second, 0, "10s"},
		{3 * time.Second, time.Second, "6s"},
		{0, time.Minute, "1m5s"},
	} {
		f := newFake("1")
		_, p := f.open(t, func(x *xa.Config, _ *xa.PoolConfig) {
			x.VerbTimeout, x.StatementTimeout, x.MetadataLockWait = 0, c.statement, c.metadata
		})
		s := f.reach(t, p, xa.Ended)
		var left time.Duration
		f.answer(func(ctx context.Context, _ string) error {
			deadline, _ := ctx.Deadline()
			left = time.Until(deadline)
			return nil
		})
		require.NoError(t, s.Prepare(t.Context()))
		f.answer(nil)
		require.Equal(t, c.want, (left + time.Second/2).Truncate(time.Second).String())
	}
}
