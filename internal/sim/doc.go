// Package sim runs whole sinks on a server in memory, from a [Scenario] that says what is written and what goes wrong,
// and checks that every row of the source is in its table once, and that the rules of the design's section 2 were kept
// on the way: 1 and 4 to 8, 10, 14 and 15, and the order of commits of section 5.
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
