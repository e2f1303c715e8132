package ledger

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/xasink/xasink/xa"
)

// Job is a job row: what the server knows of a job's owner.
type Job struct {
	Name    string
	Store   uuid.UUID // id of the state store that owns the job
	Run     uuid.UUID // process run of the owner, for people
	Epoch   uint64    // the owner's claim
	Lanes   uint32    // lane numbers ever in use are below this
	Marks   uint32    // owner mark numbers within a lane ever in use are below this
	Server  string    // xa.Identity.Name of the server when the row was raised
	Started time.Time // start of that server process; UTC, microseconds
}

// Job reads the job row of name. nil without an error: the ledger knows nothing of the job, because it has no such
// row, or the table or the database does not exist.
func (l Ledger) Job(ctx context.Context, q xa.Queryer, name string) (*Job, error) { panic("stub") }

// Raise makes next the job row, on condition that the row still is as it was looked at: looked nil inserts it, else
// store, epoch and run of the row must equal looked's. Bounds are never lowered. next.Epoch must be above
// looked.Epoch.
//
// A Raise whose answer was lost may be repeated with the same next: where the row already is next's (store, epoch and
// run) it succeeds. Errors: ErrFenced when somebody else was faster; ErrAbsent; ErrPrivilege.
func (l Ledger) Raise(ctx context.Context, q xa.Queryer, looked *Job, next Job) error { panic("stub") }

// Admit reads the job row and compares it with an owner's claim. ErrFenced: the row names another store or a higher
// epoch. A row that is missing, or whose epoch is lower, is an error of its own: the claim was never raised here.
func (l Ledger) Admit(ctx context.Context, q xa.Queryer, job string, store uuid.UUID, epoch uint64) error {
	panic("stub")
}
