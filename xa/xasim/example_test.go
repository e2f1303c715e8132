package xasim_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/xa/xasim"
)

// must ends an example that goes wrong.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A sink writes to a simulated server, which forgets to answer its first COMMIT. The branch is committed all the same,
// and the sink finds that out.
func Example() {
	ctx := context.Background()
	server := xasim.New(xasim.MySQL())
	db := sql.OpenDB(server.Connector())
	defer func() { _ = db.Close() }()
	must(db.ExecContext(ctx, "CREATE DATABASE shop"))
	must(db.ExecContext(ctx, "CREATE TABLE shop.visits (id BIGINT PRIMARY KEY, page VARCHAR(100) NOT NULL)"))

	sink := must(txnsink.Open(ctx, txnsink.Config{
		Job: "visits", Connector: server.ConnectorFor(xasim.Account{Database: "shop"}), Store: state.NewMemory(),
		Tables: []txnsink.Table{{Name: "visits"}},
		Start:  func(context.Context) ([]byte, error) { return []byte("0"), nil },
	}))
	lost := server.Inject(xasim.Fault{Statement: "XA COMMIT", Act: xasim.LoseAnswer})
	b := sink.Batch()
	b.Insert("visits").Int64(1).String("/home")
	if err := sink.Write(ctx, b, []byte("1")); err != nil {
		panic(err)
	}
	if err := sink.Finish(ctx); err != nil {
		panic(err)
	}

	var n int
	_ = db.QueryRowContext(ctx, "SELECT COUNT(*) FROM shop.visits").Scan(&n)
	fmt.Println("rows:", n, "answers lost:", lost())
	for _, e := range server.Events() {
		if e.XID != (xasim.XID{}) {
			fmt.Println(e.Kind, e.XID)
		}
	}
	// Output:
	// rows: 1 answers lost: 1
	// started visits/e1.w2.s1
	// prepared visits/e1.w2.s1
	// detached visits/e1.w2.s1
	// committed visits/e1.w2.s1
}

// A prepared branch outlives a crash of the server, unseen until it is committed.
func ExampleServer_Restart() {
	ctx := context.Background()
	server := xasim.New(xasim.MariaDB())
	db := sql.OpenDB(server.Connector())
	defer func() { _ = db.Close() }()
	must(db.ExecContext(ctx, "CREATE DATABASE shop"))
	must(db.ExecContext(ctx, "CREATE TABLE shop.t (id INT PRIMARY KEY)"))
	conn := must(db.Conn(ctx))
	for _, s := range []string{"XA START 'one'", "INSERT INTO shop.t VALUES (1)", "XA END 'one'", "XA PREPARE 'one'"} {
		must(conn.ExecContext(ctx, s))
	}

	server.Restart(xasim.Crash{})
	fmt.Println("the old session:", conn.PingContext(ctx))
	var n int
	_ = db.QueryRowContext(ctx, "SELECT COUNT(*) FROM shop.t").Scan(&n)
	fmt.Println("rows before the commit:", n)
	must(db.ExecContext(ctx, "XA COMMIT 'one'"))
	_ = db.QueryRowContext(ctx, "SELECT COUNT(*) FROM shop.t").Scan(&n)
	fmt.Println("rows after it:", n)
	_, err := db.ExecContext(ctx, "XA COMMIT 'one'")
	fmt.Println("once more:", err)
	// Output:
	// the old session: invalid connection
	// rows before the commit: 0
	// rows after it: 1
	// once more: Error 1397 (XAE04): XAER_NOTA: Unknown XID
}

// What a simulated server does not know it says, with the statement in the message.
func ExampleNew() {
	db := sql.OpenDB(xasim.New(xasim.MySQL()).Connector())
	defer func() { _ = db.Close() }()
	_, err := db.Exec("GRANT SELECT ON *.* TO somebody")
	fmt.Println(err)
	// Output:
	// Error 1235 (42000): xasim does not support GRANT SELECT; the statement was: GRANT SELECT ON *.* TO somebody
}
