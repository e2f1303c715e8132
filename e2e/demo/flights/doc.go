// Package flights is one real job, small enough to be killed again and again: a CSV file of flights goes into a table of
// flights, by inserts, and into running totals per airport, by upserts that add. The totals are summed per Write, so a
// Write that counts twice, or not at all, shows in them at once; the table has no key that would keep a doubled row out.
//
// The worker is a process of its own: [Launch] runs this program again, which has to call [WorkerMain] when [IsWorker]
// says so. [Inspect] compares what the server has with the file, read by other code than the worker's.
package flights
