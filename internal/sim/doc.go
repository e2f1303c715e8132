// Package sim runs whole sinks on a server in memory, from a [Scenario] that says what is written and what goes wrong,
// and checks that every row of the source is in its table once, and that the rules of the design's section 2 were kept
// on the way.
//
// [Run] belongs inside a bubble of testing/synctest, where waiting costs nothing. A scenario decides everything, so
// that one which fails can be printed, made shorter by [Reduce], and run again.
package sim
