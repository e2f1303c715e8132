package recovery

import (
	"fmt"
	"strings"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
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

var stopNames = map[StopKind]string{
	StopOtherStore:    "another store owns the job",
	StopOldStore:      "the store is an old copy",
	StopLaterBranch:   "branches of a later owner",
	StopUnknownOwner:  "unknown owner alive",
	StopFenced:        "fenced",
	StopTakenBack:     "commits taken back",
	StopStoreBehind:   "the store is older than the database",
	StopLimbo:         "branches in limbo",
	StopUndecided:     "branches without a fate",
	StopContradiction: "the order contradicts the server",
}

func (k StopKind) String() string {
	if name, ok := stopNames[k]; ok {
		return name
	}
	return fmt.Sprintf("stop(%d)", uint8(k))
}

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
	Branches []xa.ID         // those that are the reason
	Sessions []xa.MarkHolder // those that are the reason
	Row      *ledger.Job     // the job row, where it is the reason
	Ways     []Way
}

// shownBranches is how many branches a message names; the value itself has all.
const shownBranches = 10

// Error tells the reason, the branches and each way on.
func (s *Stop) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "job %s", s.Job)
	if s.Server != "" {
		fmt.Fprintf(&b, " on %s", s.Server)
	}
	fmt.Fprintf(&b, " stops: %s: %s", s.Kind, s.Reason)
	if len(s.Branches) > 0 {
		fmt.Fprintf(&b, "\n  branches: %s", listed(s.Branches))
	}
	for _, h := range s.Sessions {
		fmt.Fprintf(&b, "\n  session %d holds owner mark %s", h.Session, h.Mark)
	}
	writeWays(&b, s.Ways)
	return b.String()
}

// Unwrap makes a fenced stop match both ErrFenced.
func (s *Stop) Unwrap() []error {
	if s.Kind == StopFenced {
		return []error{state.ErrFenced, ledger.ErrFenced}
	}
	return nil
}

func writeWays(b *strings.Builder, ways []Way) {
	for i, w := range ways {
		fmt.Fprintf(b, "\n  way on %d: %s", i+1, w.What)
		if w.Go != "" {
			fmt.Fprintf(b, "\n    Go:  %s", w.Go)
		}
		for _, q := range w.SQL {
			fmt.Fprintf(b, "\n    SQL: %s", q)
		}
	}
}

func listed(ids []xa.ID) string {
	var names []string
	for i, id := range ids {
		if i == shownBranches {
			names = append(names, fmt.Sprintf("and %d more", len(ids)-i))
			break
		}
		names = append(names, id.String())
	}
	return strings.Join(names, ", ")
}

// ServerError means that the server restarted, or is another one, since recovery saw it. It ends the task; only a new
// recovery may trust the server again.
type ServerError struct {
	Job     string
	Address string
	Want    xa.Identity // what recovery saw
	Have    xa.Identity // what is there
}

func (e *ServerError) Error() string {
	const layout = "2006-01-02 15:04:05.000 MST"
	if e.Want.SameServer(e.Have) {
		return fmt.Sprintf("job %s: server %s (%s) restarted: it was started at %s and is now of %s; only a new recovery may "+
			"trust it again: open the job anew", e.Job, e.Address, e.Have.Name, e.Want.Started.Format(layout),
			e.Have.Started.Format(layout))
	}
	return fmt.Sprintf("job %s: server %s is another one: it was %s and is now %s; only a new recovery may trust it: check "+
		"that this is the right server, then open the job anew", e.Job, e.Address, e.Want.Name, e.Have.Name)
}

// checkServer is a *ServerError unless have is the server, and the start of it, that recovery saw.
func checkServer(server *xa.Server, job string, saw, have xa.Identity) error {
	if saw.SameStart(have) {
		return nil
	}
	return &ServerError{Job: job, Address: server.Address(), Want: saw, Have: have}
}

// fenced makes an error of the ledger match the store's ErrFenced as well.
func fenced(err error) error {
	if err != nil && isFenced(err) {
		return fmt.Errorf("%w (%w)", err, state.ErrFenced)
	}
	return err
}
