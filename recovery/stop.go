package recovery

import (
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/xa"
)

// StopKind is why a job must not go on by itself.
type StopKind uint8

// The kinds. The first four come from View.Check.
const (
	StopInvalid       StopKind = iota
	StopOtherStore             // the job row names another store: a second installation, or the state file is gone
	StopOldStore               // the job row's epoch is above the store's: an old copy of the store
	StopLaterBranch            // a prepared branch of ours is of an epoch above the store's
	StopUnknownOwner           // a live owner mark while the ledger does not know the job
	StopFenced                 // a prepared branch of ours has the claim's epoch or a later one
	StopTakenBack              // the server took commits back
	StopStoreBehind            // proof rows that no kept decision explains: the store is older than the database
	StopLimbo                  // an attached server holds transactions that XA RECOVER does not show
	StopUndecided              // Adopt: prepared branches of the job for which the operator has not decided
	StopContradiction          // Adopt: the operator's word contradicts what the server shows
)

// Way is one way on from a stop: what it means, and what to type. Go and SQL may be empty.
type Way struct {
	What string
	Go   string
	SQL  []string
}

// Stop is a state that only a human can settle. Nothing was committed or rolled back because of it. StopFenced matches
// state.ErrFenced and ledger.ErrFenced.
type Stop struct {
	Kind     StopKind
	Job      string
	Server   string // address
	Reason   string
	Branches []xa.ID         // those that are the reason, at most as many as make it clear
	Sessions []xa.MarkHolder // those that are the reason
	Row      *ledger.Job     // the job row, where it is the reason
	Ways     []Way
}

func (s *Stop) Error() string { panic("stub") }

// ServerError: the server restarted, or is another one, since recovery saw it. It ends the task; only a new recovery
// may trust the server again.
type ServerError struct {
	Job     string
	Address string
	Want    xa.Identity // what recovery saw
	Have    xa.Identity // what is there
}

func (e *ServerError) Error() string { panic("stub") }
