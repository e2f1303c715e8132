package recovery

import (
	"context"

	"github.com/google/uuid"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// Bounds in which Look searches for owner marks of a job that the ledger does not know.
const (
	UnknownLanes uint32 = 64
	UnknownMarks uint32 = 4
)

// View is what a server and its ledger know of a job before anybody claims it.
type View struct {
	Name     string          // of the job
	Address  string          // of the server
	Job      *ledger.Job     // the job row; nil: the ledger knows nothing
	Prepared []xa.XID        // every prepared branch on the server, ours and others'
	Marks    []xa.MarkHolder // live owner marks of the job
	Identity xa.Identity     // of the server and its start
}

// Look reads what the server and its ledger know of job. It creates, kills and changes nothing. ctx bounds all of it.
func Look(ctx context.Context, server *xa.Server, l ledger.Ledger, job string) (View, error) {
	panic("stub")
}

// Check compares the view with a store and what it knows of the job (Store.Peek). nil: the job may be claimed. Else
// the opening ends here. It is pure.
func (v View) Check(store uuid.UUID, info state.Info) *Stop { panic("stub") }

// Floor is the highest epoch seen; a claim must be above it.
func (v View) Floor() uint64 { panic("stub") }
