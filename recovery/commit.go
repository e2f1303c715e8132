package recovery

import (
	"context"
	"log/slog"
	"time"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// CommitRequest names one branch that a definitely accepted decision lists, and what is needed to commit it.
type CommitRequest struct {
	Server *xa.Server
	Pool   *xa.Pool
	Lane   uint32 // whose sessions to use: LaneRecovery or LaneCommitter
	Ledger ledger.Ledger
	Owner  Owner
	Bounds state.Bounds // in which owner marks are looked for
	ID     xa.ID
	// Session is the session that prepared the branch and still holds it, on attached servers; nil otherwise. It stays
	// the caller's: after success its state is None, or Broken where it had to be ended; it is then discarded already.
	Session    *xa.Session
	DetachWait time.Duration // as in Opening
	Deadline   time.Duration // for all attempts together; 0 is 1 min
	Logger     *slog.Logger  // nil discards
}

// Commit commits one branch and returns nil only with proof that it is committed. The caller owns the claim, and keeps
// the order of commits. ctx is looked at before the first verb; after that the call goes on under its own deadline.
//
// An OK is proof on a detached server and on the session that prepared; elsewhere the ledger is asked. An unknown XID
// is settled by a scan and then the ledger. An outcome in doubt ends its session, waits until it is gone, and repeats.
// Refusals that leave the branch prepared and may pass (1205, 1317, 1290 and the like) are repeated with backoff.
//
// Errors: *LostError when the branch is neither prepared nor proven, or was rolled back by the server; both ErrFenced;
// *ServerError; *Stop for limbo; after the deadline an error for which xa.OutcomeOf tells whether the branch is still
// prepared (Refused) or in doubt.
func Commit(ctx context.Context, r CommitRequest) error { panic("stub") }
