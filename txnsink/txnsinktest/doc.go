// Package txnsinktest is an in-memory database for tests of code that uses a [txnsink.Sink]: it needs no server, and it
// fails where a test says so.
//
//	db := txnsinktest.New(txnsink.Layout{Name: "orders", Key: []string{"id"}, Columns: []txnsink.LayoutColumn{
//		{Name: "id", Type: "bigint"}, {Name: "amount", Type: "decimal(12,2)"}}})
//	db.FailAfter(fault.Prepare)
//	sink, err := db.Open(ctx, cfg) // in place of txnsink.Open(ctx, cfg)
//
// The sink is the real one. Below it rows become visible ([DB.Rows]) only by the COMMIT of their branch, prepared
// branches ([DB.Prepared]) outlive the sink, and the next Open recovers as on a server: by the stored decision, the
// prepared branches and the proof rows, with the same plan. A newer owner fences the older one, a job of another store
// is refused, segments are split as on MySQL, or not at all as on MariaDB ([NewAttached]), and a row that a prepared branch
// still holds makes a Write settle first.
//
// What it is not: a database server. Values are checked as strict mode does it (length, range, members, NULL), and a
// duplicate is a *[txnsink.RowError] with code 1062, but keys and texts are compared byte by byte, without a collation;
// dates are read in the server's own notation only, and rounded and bounded as on MySQL; JSON is kept as it was given;
// FLOAT and DOUBLE are shown with Go's shortest digits; columns that are not written are NULL; foreign keys tie tables
// to one lane and are not checked; there are no triggers. A lock that another job holds is told at once, without the
// second that a server waits.
package txnsinktest
