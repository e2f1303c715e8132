// Package xa is the XA protocol of MySQL and MariaDB, one session at a time: names of branches, a session as a state
// machine, a pool of sessions with owner marks, the scan of prepared branches, errors that say what became of an
// effect, and what a server can do. It knows no rows and no checkpoints.
//
// Duties of the caller, in order:
//
//  1. [Connect] to a server; it is probed, not guessed from its version.
//  2. Take sessions from a [Pool]. A session may send an XA verb only after its owner mark is held and the pool's
//     Admit function, which compares the job row and the server's identity, has agreed.
//  3. Drive a branch: Start, Exec (any number), End, Prepare, then Commit or Rollback. A verb that the state does not
//     allow is refused before a packet is sent.
//  4. After any error look at [OutcomeOf]. An outcome in doubt is a value that travels; it is never taken for a
//     failure, nor for a success. A broken session is given to [Pool.Discard], which ends it on the server as well.
package xa
