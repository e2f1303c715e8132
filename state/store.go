package state

import (
	"context"

	"github.com/google/uuid"
)

// Store keeps the decisions of jobs. Implementations pass statetest.
type Store interface {
	// ID of this store: made once, when the store was, and never changed.
	ID() uuid.UUID
	// Peek reads what is known of job without claiming it. A job that was never claimed gives the zero Info.
	Peek(ctx context.Context, job string) (Info, error)
	// Claim takes ownership of job. Once it returned, every older claim's write is refused with ErrFenced, also one
	// that was sent before and arrives late. The new epoch is above the one held and above r.Floor.
	// Errors: ErrFenced when r.After is given and is not the epoch held; ErrUnreadable; ErrOtherJob. After any other
	// error the epoch may be used up without a claim to go with it: Peek tells by Run, and a new Claim goes above it.
	Claim(ctx context.Context, job string, r ClaimRequest) (Claim, error)
	// Close releases the store. Claims are dead after it.
	Close() error
}

// ClaimRequest says under which condition a claim is to be given.
type ClaimRequest struct {
	After *uint64   // the epoch that must be held now, a compare-and-set; nil: whatever it is. 0: never claimed
	Floor uint64    // an epoch seen elsewhere: the new one is above it
	Run   uuid.UUID // the claiming process run, for people
}

// Info is what a store knows of a job.
type Info struct {
	Epoch uint64    // newest epoch claimed; 0: never
	Run   uuid.UUID // the run that claimed it
	Last  *Decision // newest accepted decision; nil: none
}

// Claim is the ownership of a job at one epoch. One goroutine at a time.
type Claim interface {
	// Epoch of the claim.
	Epoch() uint64
	// Last is the newest accepted decision; nil before the first.
	Last() *Decision
	// History is every decision from the newest wholly committed one on (Last().Whole; where nothing is recorded as
	// whole: Last itself if it has nothing pending, else all there were), oldest first, Last at its end. What earlier
	// claims wrote is part of it. Older ones that a decision of it follows, by its Predecessor, may be part of it too.
	History() []Decision
	// Commit writes d durably and makes it Last. d.Number must be the last number + 1, d.Epoch the claim's epoch,
	// d.Job and d.Store the claim's. A repeat equal to the last succeeds.
	// Errors: ErrFenced; ErrRefused; ErrUnreadable (d cannot be encoded: definitely not stored); everything else is
	// ErrInDoubt, and then the only thing to do is the identical Commit.
	Commit(ctx context.Context, d Decision) error
	// Close gives up the claim object; the epoch stays used. It does not close the store.
	Close() error
}

// KeepsHistory is implemented by stores that say whether History is complete; a store without it keeps it.
type KeepsHistory interface{ KeepsHistory() bool }
