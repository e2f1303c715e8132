// Package xasim is a MySQL or MariaDB server in memory, for tests and simulations of whatever speaks XA to one: a sink
// of this project, or a pipeline that embeds it.
//
//	server := xasim.New(xasim.MySQL())
//	db := sql.OpenDB(server.Connector())                                  // for the test itself
//	sink, err := txnsink.Open(ctx, txnsink.Config{Connector: server.ConnectorFor(xasim.Account{Database: "shop"}), …})
//
// It is reached as a driver of database/sql, and behaves there as github.com/go-sql-driver/mysql does against a real
// server: the same errors with the server's numbers, SQLSTATEs and texts, a connection that is closed by an ended
// context while the server goes on with the statement, sessions with their own life.
//
// # What is simulated
//
// The rules of XA in all states of a session, for MySQL with and without xa_detach_on_prepare and for MariaDB; prepared
// branches that outlive their session and a crash; row locks and locks of unique keys with waits, time limits and
// deadlocks; metadata locks; savepoints; named locks; KILL; wait_timeout; FLUSH TABLES WITH READ LOCK; read_only; rights
// that a user lacks; the tables of information_schema that a client of this project reads. Package conformance has the
// table of what is promised, which is run against real servers as well: where the two differ a test fails.
//
// # What is not
//
//   - Every transaction reads and locks as at READ COMMITTED, whatever level it asks for, so there are no gap locks and
//     no snapshots. SERIALIZABLE is refused.
//   - Texts in collations that ignore capitals are compared without them; accents count.
//   - There are no foreign keys, triggers, views, generated columns, temporary tables, partitions, character sets other
//     than UTF-8, ASCII and binary, time zones by name, users with passwords, or replicas.
//   - The order of rows without ORDER BY is that of the primary key. A server's optimizer may read a whole table where
//     this one reads a range, and then waits for rows that are not met here.
//
// A statement that is not known is never answered OK: it is error 1235 with its text in the message, where a real server
// may take it, and 1064 where none does, or where the simulator does not know the beginning of the statement.
//
// # Faults
//
// [Server.Inject] lets a statement lose its answer, freeze, fail or crash the server, counted and so the same in every
// run; [Server.Restart] is a kill -9 with what a start may lose; [Server.Events] tells what the server really did, for a
// checker that does not want to believe the client.
//
// # Time and goroutines
//
// Time is that of package time alone, no goroutine polls, and nothing waits with a mutex held: inside a bubble of
// testing/synctest every time limit passes at once, and a simulation of many crashes takes milliseconds. Each session
// has one goroutine, which ends when the connection is closed, or killed; so a test closes its databases. A frozen session
// ends with [Server.Kill] only: in a bubble put it behind a defer.
package xasim
