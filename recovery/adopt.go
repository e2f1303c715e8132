package recovery

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// Fate is an operator's word about one prepared branch.
type Fate uint8

// The fates.
const (
	FateUndecided Fate = iota
	FateCommit
	FateRollBack
)

// AdoptRequest is an operator's order to take over a job that the server knows under another store or epoch.
type AdoptRequest struct {
	Server     *xa.Server
	Ledger     ledger.Ledger
	Store      state.Store
	Job        string
	Run        uuid.UUID
	Positions  []state.Position // where the sources go on
	Branches   map[xa.ID]Fate   // the operator's word for every prepared branch of the job
	Bounds     state.Bounds     // lanes and marks that the new owner will use; zero keeps those of the job row
	DetachWait time.Duration    // as in Opening
	Logger     *slog.Logger     // nil discards
	Faults     fault.Injector   // as in Opening
}

// Adoption is what Adopt did.
type Adoption struct {
	Epoch      uint64 // of the claim made; used up
	Decision   state.Decision
	Committed  int
	RolledBack int
}

// Adopt takes over a job whatever store and epoch the server knows it under, at the positions and with the fates that
// the operator states. It claims above every epoch seen, ends old sessions, and refuses, before anything is changed,
// while a prepared branch of the job has no fate (StopUndecided), or a fate contradicts what the server shows
// (StopContradiction). It neither forgets epochs nor deletes proof rows.
//
// The operator's word is first written as a decision that lists what is to be committed; so a crash in it can be
// followed by an ordinary opening, or by the same Adopt again. The claim is closed at the end; the store is not.
func Adopt(ctx context.Context, r AdoptRequest) (Adoption, error) { panic("stub") }

// Reset is Adopt with the positions asked from start again; r.Positions must be empty.
func Reset(ctx context.Context, r AdoptRequest, start func(ctx context.Context) ([]state.Position, error)) (Adoption, error) {
	panic("stub")
}
