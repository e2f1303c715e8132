package xa_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/xa"
)

// rig is one test's corner of a real server: its own database, job and table `t` (id primary key, v).
type rig struct {
	real   servertest.Server
	admin  *sql.DB
	db     string
	job    string
	server *xa.Server
	seq    uint64
}

// table is the rig's table, ready for a statement.
func (r *rig) table() string { return "`" + r.db + "`.`t`" }

func newRig(t *testing.T, real servertest.Server, change ...func(*xa.Config)) *rig {
	t.Helper()
	r := &rig{real: real, admin: real.DB(t), db: real.Database(t), job: real.Job(t)}
	servertest.Exec(t, r.admin, "CREATE TABLE "+r.table()+" (id BIGINT PRIMARY KEY, v VARCHAR(10)) ENGINE=InnoDB")
	c := xa.Config{DSN: real.DSN(r.db), Job: r.job, Run: "test"}
	for _, f := range change {
		f(&c)
	}
	server, err := xa.Connect(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	r.server = server
	return r
}

// pool makes a pool that is closed before the rig is taken down.
func (r *rig) pool(t *testing.T, change ...func(*xa.PoolConfig)) *xa.Pool {
	t.Helper()
	c := xa.PoolConfig{Job: r.job}
	for _, f := range change {
		f(&c)
	}
	p := xa.NewPool(r.server, c)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		require.NoError(t, p.Close(ctx))
	})
	return p
}

// id is a new branch of lane 0.
func (r *rig) id() xa.ID {
	r.seq++
	return xa.ID{Job: r.job, Epoch: 1, Lane: 0, Seq: r.seq}
}

// insert is a statement for one row.
func (r *rig) insert(id int) string {
	return fmt.Sprintf("INSERT INTO %s VALUES (%d, 'v')", r.table(), id)
}

// rows counts what is committed.
func (r *rig) rows(t *testing.T) int64 {
	t.Helper()
	return servertest.Int(t, r.admin, "SELECT COUNT(*) FROM "+r.table())
}

// take gives a session of lane 0.
func take(t *testing.T, p *xa.Pool) *xa.Session {
	t.Helper()
	s, err := p.Take(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, xa.None, s.State())
	return s
}

// prepare brings a branch with one row to PREPARED on s.
func (r *rig) prepare(t *testing.T, s *xa.Session, row int) xa.ID {
	t.Helper()
	id := r.id()
	require.NoError(t, s.Start(t.Context(), id))
	n, err := s.Exec(t.Context(), r.insert(row))
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.NoError(t, s.End(t.Context()))
	require.NoError(t, s.Prepare(t.Context()))
	return id
}

func TestF23_PreparedAndCommittedOnOneSession(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		s := take(t, p)
		id := r.prepare(t, s, 1)
		require.Zero(t, r.rows(t), "a prepared row is visible")
		want := xa.Prepared
		if r.server.Abilities().Detached {
			want = xa.None
		}
		require.Equal(t, want, s.State())
		require.NoError(t, s.Commit(t.Context(), id.XID()))
		require.Equal(t, xa.None, s.State())
		require.EqualValues(t, 1, r.rows(t))
		require.Empty(t, real.Prepared(t, r.job))
	})
}
