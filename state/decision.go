package state

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/xasink/xasink/xa"
)

// FormatVersion is the newest format of a stored decision that this version reads, and the one that it writes.
const FormatVersion = 1

// MaxPosition is the longest position of one source, in bytes.
const MaxPosition = 2048

// Decision is a persisted checkpoint: positions, and the branches to commit. It is a value: whoever holds one does
// not change what its slices point to.
type Decision struct {
	Job         string
	Store       uuid.UUID // id of the store it is written to
	Epoch       uint64    // the claim under which it is written
	Number      uint64    // last + 1 in the job; the first is 1
	Predecessor uint64    // number of the decision it follows; 0 for the first
	Whole       uint64    // the newest decision that its writer knew to be wholly committed; 0 for none. The store keeps from there on
	Run         uuid.UUID // the process run, for people
	Time        time.Time // for people; UTC, microseconds
	Positions   []Position
	Pending     []Range // every pending branch of the job, sorted (Range.Compare), disjoint, neighbours merged
	Lanes       []Lane  // one per lane that ever proved a commit, or has tables; sorted by number
	Bounds      Bounds
	Server      Server
}

// Position is where a source goes on: opaque bytes of at most MaxPosition.
type Position struct {
	Source string
	Data   []byte
}

// Range is a run of prepared branches of one lane and epoch, From to To inclusive, that all belong to one decision. A
// seq that was not prepared splits a range.
type Range struct {
	Server  string // Identity.Name of the server that holds them
	Epoch   uint64
	Lane    uint32
	From    uint64
	To      uint64
	Belongs uint64 // number of the first accepted decision that lists them
	Rows    uint64 // rows of all of them together
}

// Lane is what a decision knows of one lane: the highest branch proven committed (Epoch and Seq both 0: none yet), and
// the tables that the lane last wrote, sorted.
type Lane struct {
	Number uint32
	Epoch  uint64
	Seq    uint64
	Tables []string
}

// Bounds are the highest numbers ever in use, never lowered: owner marks are looked for below them.
type Bounds struct {
	Lanes uint32 // lane numbers are below this
	Marks uint32 // mark numbers within a lane are below this
}

// Server is the identity of the target server, as recovery saw it.
type Server struct {
	Name    string
	Started time.Time
}

// IDs yields the branches of r in the order of their seq. job is the decision's.
func (r Range) IDs(job string) func(yield func(xa.ID) bool) {
	return func(yield func(xa.ID) bool) {
		for seq := r.From; ; seq++ {
			if !yield(xa.ID{Job: job, Epoch: r.Epoch, Lane: r.Lane, Seq: seq}) || seq == r.To {
				return
			}
		}
	}
}

// Part is a sink's whole part of a decision. The coordinator adds positions and the claim's numbers.
type Part struct {
	Pending []Range // Belongs is 0 where no accepted decision has listed the branches yet; Next fills it in
	Lanes   []Lane
	Bounds  Bounds
	Server  Server
	Whole   uint64
}

// Errors of stores. Each is matched with errors.Is; the text says what to do.
var (
	// ErrFenced: a newer claim exists. The job has ended in this process for good.
	ErrFenced = errors.New("fenced: the job has a newer owner")
	// ErrInDoubt: the write may be there, or come later. Only the identical write, repeated until it is accepted or
	// refused, or a newer claim settles it.
	ErrInDoubt = errors.New("in doubt: the decision may be stored, now or later")
	// ErrRefused: the decision is not the one that may follow: its number is not last + 1, and it does not equal the
	// last. It is definitely not stored by this call.
	ErrRefused = errors.New("the decision was refused")
	// ErrUnreadable: a stored decision, or the store itself, cannot be read: damaged, truncated, or newer than this version.
	ErrUnreadable = errors.New("the stored state cannot be read")
	// ErrLocked: another process holds the store.
	ErrLocked = errors.New("another process holds the state file")
	// ErrOtherJob: the store belongs to another job.
	ErrOtherJob = errors.New("the state file belongs to another job")
)
