// Package recovery settles what earlier owners of a job left on a server, and commits branches with proof while the
// job runs. What is to be done is decided by [Plan], a pure function; the rest of the package carries it out.
//
// Duties of the caller, in the order of an opening:
//
//  1. [Look], then [View.Check] with what the store's Peek knows. Nothing has been changed so far; a [Stop] ends here.
//  2. Claim the job in the store, with [View.Floor] as floor.
//  3. Make a pool whose Admit function is [Admit]'s. No session may be taken from it yet.
//  4. [Recover]. A *Stop, *LostError or *ServerError in it ends the opening.
//  5. Write the claim's own decision: the positions of the last one, and Report.Part. Only then the source starts, and
//     only then may a branch carry the claim's epoch.
//
// A crash or an error at any step leaves a state from which the next opening goes on; a [Stop] is for an operator, whose
// ways on are [Adopt] and [Reset]. While the job runs, [Commit] commits one branch of an accepted decision, [Sweep] rolls
// back what dead owners prepared late, and [Prunable] names the proof rows that may go. A job is at its end when
// [Remaining] finds nothing.
package recovery
