// Package txnsink writes rows to MySQL or MariaDB so that each one is there exactly once, whatever crashes.
//
// Rows are staged in XA transaction branches. A checkpoint prepares the open branches, writes a decision (positions and
// branches) to a state store, and only then commits the branches. After a crash [Open] reads the decision, commits what
// it lists, rolls back what it does not, and tells where the source goes on.
//
// Duties of the caller of a [Sink], in order:
//
//  1. [Open]. It claims the job, recovers, and stores the claim's own decision before it returns.
//  2. Go on reading at [Sink.Position].
//  3. Fill a batch from [Sink.Batch] and give it to [Sink.Write] together with the position behind its rows. What one
//     Write holds is never divided between two checkpoints.
//  4. In an idle loop call [Sink.Tick] when it asks for it.
//  5. At the end of input, and for a graceful stop, call [Sink.Finish] with a fresh context; always [Sink.Close].
//  6. After any error of Write, Flush, Tick or Checkpoint only Close is left. Open again: it resumes at the newest
//     decision. After [ErrFenced] another owner has the job: end.
//
// Under Sink lies [Writer], which knows no store, for callers with a coordinator of their own.
package txnsink
