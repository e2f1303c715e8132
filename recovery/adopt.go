package recovery

import (
	"context"
	"errors"
	"fmt"
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
	Positions  []state.Position // where the sources go on, under the names that the sink gives them (Config.Source, "source")
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
// the operator states. It claims above every epoch seen, ends old sessions, and refuses while a prepared branch of the
// job has no fate (StopUndecided), or a fate contradicts what the server shows (StopContradiction): before anything is
// changed, and once more when the old sessions are gone, after which no branch can appear. It neither forgets epochs
// nor deletes proof rows.
//
// The operator's word is first written as a decision that lists what is to be committed. So what follows a crash in it
// may be an ordinary opening, or the same Adopt again: a fate that was carried out already is no contradiction. The
// claim is closed at the end; the store is not.
func Adopt(ctx context.Context, r AdoptRequest) (Adoption, error) {
	a, err := newAdopting(r)
	if err == nil {
		err = a.run(ctx)
	}
	if err != nil {
		return a.done, fmt.Errorf("adoption of job %s: %w", r.Job, fenced(err))
	}
	return a.done, nil
}

// Reset is Adopt with the positions asked from start again, before anything is changed; r.Positions must be empty.
func Reset(ctx context.Context, r AdoptRequest, start func(ctx context.Context) ([]state.Position, error)) (Adoption, error) {
	if len(r.Positions) > 0 {
		return Adoption{}, fmt.Errorf("reset of job %s: the positions come from start; to state them use Adopt", r.Job)
	}
	positions, err := start(ctx)
	if err != nil {
		return Adoption{}, fmt.Errorf("reset of job %s: first position: %w", r.Job, err)
	}
	r.Positions = positions
	return Adopt(ctx, r)
}

func newAdopting(r AdoptRequest) (*adopting, error) {
	a := &adopting{request: r}
	switch {
	case r.Server == nil, r.Store == nil:
		return a, errors.New("server and store must be set")
	case xa.CheckJob(r.Job) != nil:
		return a, xa.CheckJob(r.Job)
	case r.Run == uuid.Nil:
		return a, errors.New("run must be set")
	case len(r.Positions) == 0:
		return a, errors.New("the positions where the sources go on must be stated")
	}
	for id, f := range r.Branches {
		if id.Job != r.Job {
			return a, fmt.Errorf("branch %s is not of this job", id)
		}
		if f > FateRollBack {
			return a, fmt.Errorf("branch %s: fate %d is none", id, f)
		}
	}
	return a, nil
}
