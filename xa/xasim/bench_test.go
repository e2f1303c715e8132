package xasim_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/xasink/xasink/xa/xasim"
)

// BenchmarkBranch is one whole branch with one row, on one session.
func BenchmarkBranch(b *testing.B) {
	server := xasim.New(xasim.MySQL())
	db := sql.OpenDB(server.Connector())
	defer func() { _ = db.Close() }()
	ctx := context.Background()
	conn := must(db.Conn(ctx))
	defer func() { _ = conn.Close() }()
	must(conn.ExecContext(ctx, "CREATE DATABASE d"))
	must(conn.ExecContext(ctx, "CREATE TABLE d.t (id BIGINT PRIMARY KEY, v VARCHAR(20) NOT NULL)"))
	for n := 0; b.Loop(); n++ {
		name := fmt.Sprintf("X'%016x'", n)
		for _, s := range []string{
			"XA START " + name, fmt.Sprintf("INSERT INTO d.t VALUES (%d, 'x')", n), "XA END " + name, "XA PREPARE " + name, "XA COMMIT " + name,
		} {
			must(conn.ExecContext(ctx, s))
		}
	}
}

// BenchmarkInsert is a statement of 1000 rows.
func BenchmarkInsert(b *testing.B) {
	server := xasim.New(xasim.MySQL())
	db := sql.OpenDB(server.Connector())
	defer func() { _ = db.Close() }()
	ctx := context.Background()
	must(db.ExecContext(ctx, "CREATE DATABASE d"))
	must(db.ExecContext(ctx, "CREATE TABLE d.t (id BIGINT PRIMARY KEY, v VARCHAR(20) NOT NULL)"))
	for n := 0; b.Loop(); n++ {
		var s strings.Builder
		s.WriteString("INSERT INTO d.t VALUES ")
		for i := range 1000 {
			if i > 0 {
				s.WriteByte(',')
			}
			fmt.Fprintf(&s, "(%d,'row %d')", n*1000+i, i)
		}
		must(db.ExecContext(ctx, s.String()))
	}
}
