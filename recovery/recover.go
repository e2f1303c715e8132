package recovery

import (
	"context"
	"log/slog"
	"time"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// MinDetachWait is the shortest wait, on attached servers, between the end of an old session and the first verb that
// may name its branch (server-facts.md, 1b).
const MinDetachWait = time.Second

// Opening is what Recover needs.
type Opening struct {
	Server    *xa.Server
	Ledger    ledger.Ledger
	Pool      *xa.Pool // its Admit function is Admit's; no session was taken from it yet
	Owner     Owner
	View      View             // what Look saw, before the claim
	Decisions []state.Decision // Claim.History; empty for a new job
	Bounds    state.Bounds     // lanes and marks that the new owner will use
	// DetachWait is how long a branch is left alone after the session that held it ended, on attached servers;
	// 0 is MinDetachWait, less is refused.
	DetachWait time.Duration
	Logger     *slog.Logger   // nil discards
	Faults     fault.Injector // acts at the ledger's points; the server's and the pool's own are in xa.Config
}

// Report is what a recovery found and did.
type Report struct {
	Actions    []Action
	Committed  int // branches committed now
	Already    int // listed branches that were committed before
	RolledBack int
	Foreign    int // prepared branches of others, untouched
	// Part is the base of the claim's own decision: nothing pending, watermarks as proven now, bounds, the server,
	// and as Whole the current decision's number, because all of its branches are committed.
	Part state.Part
	// Dead are the proof rows of earlier owners that may be pruned once the claim's own decision is accepted.
	Dead     []ledger.Span
	Identity xa.Identity
}

// Recover makes the claim's owner the only one on the server and settles what earlier owners left: it raises the job
// row, ends their sessions, plans, commits what the current decision lists and rolls back orphans. ctx bounds it; it is
// looked at between verbs, never inside one.
//
// Errors: *Stop, *LostError, *ServerError; ErrFenced of state and of ledger both match where a newer owner was met;
// ledger.ErrPrivilege; everything else may be tried again by a new opening.
func Recover(ctx context.Context, o Opening) (Report, error) { panic("stub") }

// Admit is the Admit function of a pool: it reads the job row on the new session, and then compares the server's
// identity and start with saw. Errors: both ErrFenced; *ServerError.
func Admit(server *xa.Server, l ledger.Ledger, owner Owner, saw xa.Identity) func(ctx context.Context, s *xa.Session) error {
	panic("stub")
}

// Remaining are the branches of job that are prepared on the server, for the end of a job: exit 0 only where there is
// none.
func Remaining(ctx context.Context, server *xa.Server, job string) ([]xa.ID, error) { panic("stub") }
