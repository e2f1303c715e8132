// Package sim runs whole sinks on a server in memory, from a [Scenario] that says what is written and what goes wrong,
// and checks that every row of the source is in its table once, and that the rules of the design's section 2 were kept
// on the way, by what the server did and by the decisions that were accepted until then:
//
//	1       what is committed is listed, what is rolled back is not, and is of an older epoch; nothing is dropped from a list
//	2       no branch is prepared without its proof row
//	4, 8    nothing under a decision before it is accepted; no decision, and no claim, of an older epoch
//	5, 6, 7 no ROLLBACK of a branch of the own epoch that is prepared; none prepared without rows; no name twice
//	9       no more branches are prepared than the cap lets; a Write that gives up on a lock waits for somebody else
//	10      positions never go backwards; the tables are what a prefix of the source makes of them
//	14, 15  the source is told of what is wholly committed; the end is told when nothing is left
//
// and the order of commits (section 5), the sweep at once for whom a Write waits (section 7), and limbo (section 8). 3
// shows as rows that are missing. 11 is about the queues of an engine, 12 about changes of tables, 13 about a store on
// disk: none of them is simulated. 16 and 17 are no matter of what happens in which order.
//
// [Run] belongs inside a bubble of testing/synctest, where waiting costs nothing. A scenario decides everything, so
// that one which fails can be printed, made shorter by [Reduce], and run again:
//
//	make sim N=100000 SEED=7
//	go test ./internal/sim -run TestScript -v -args -sim.script='mysql exactly-once seed=3 … | die@#40'
//	go test ./internal/sim -run TestEvery -timeout 0 -args -sim.all
//
// Processes are simulated in one: each has its own connections, its own view of the store and its own memory of the
// jobs it held (package process). A process that dies leaves nothing behind but what server and store have; one that
// is held while another runs goes on afterwards, as after a suspended machine wakes up.
package sim
