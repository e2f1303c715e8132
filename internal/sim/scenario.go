package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/xa/xasim"
)

// Scenario is everything that decides a run. Its text form, [Scenario.String], is read by [Parse].
type Scenario struct {
	Kind       xasim.Kind
	Mode       txnsink.Mode
	Seed       uint64        // of the records, and of how they are cut into Writes
	Records    int           // the source's length
	Tables     string        // one letter each, see tables
	Write      int           // most records of a Write
	Flush      int           // a flush signal after so many Writes; 0: none
	Checkpoint int           // a checkpoint after so many Writes; 0: none
	Segment    int64         // MaxSegmentRows; 0: the default
	Pending    int           // MaxPending; 0: the default
	Pace       time.Duration // between two Writes
	Abort      int           // of so many flush signals one is a checkpoint that is given up before its decision; 0: none
	Detach     time.Duration // how long a branch is held after the session that prepared it ended
	Lives      []Life        // what goes wrong in each process run, in the order of their beginnings; those after the last are undisturbed
}

// Life is what goes wrong in one process run, from its Open to its end.
type Life []Act

// Act is one thing that goes wrong when the process run is at a place, whose number counts from 1.
type Act struct {
	What What
	At   fault.Place
}

// Nth is the n-th fault point of a process run, whichever that is.
func Nth(n int) fault.Place { return fault.Place{Nth: n} }

// What goes wrong.
type What uint8

// The acts.
const (
	// Die ends the process at the point; its connections are closed, as an operating system does.
	Die What = iota + 1
	// Vanish ends the process with its host: the server goes on with its sessions.
	Vanish
	// Pause holds the process, all of the next process run long, as a machine does that is suspended.
	Pause
	// Fail answers the point with an error: before an effect nothing is done, after it the answer is lost.
	Fail
	// Restart the server.
	Restart
	// Down: the server ends, and starts again after some seconds.
	Down
	// Kill ends one session of the sink on the server.
	Kill
	// LoseRequest and LoseAnswer break the connection at the next statement; FreezeRequest and FreezeAnswer leave it
	// open in silence; SlowAnswer answers after a minute.
	LoseRequest
	LoseAnswer
	FreezeRequest
	FreezeAnswer
	SlowAnswer
	// Busy refuses the next XA COMMIT with 1205, and Interrupt the next statement with rows with 1317.
	Busy
	Interrupt
	// Swallow answers the next proof row with OK, and does not write it.
	Swallow
	// Wait: a little more than a second passes.
	Wait
	// Lock: a stranger locks a row that the sink writes, for some seconds.
	Lock
	// Orphan: a branch of an owner before this one appears, prepared, with a lock on a row that the sink writes.
	Orphan
	// Foreign: a stranger prepares a branch.
	Foreign
	// StoredInDoubt, LostInDoubt and LateInDoubt: the next decision's write has no answer. It is stored, or lost, or
	// arrives later, which may be after a newer claim.
	StoredInDoubt
	LostInDoubt
	LateInDoubt
	// Operator: somebody rolls back one of the sink's prepared branches.
	Operator
	// CommitListed: somebody commits one that the current decision lists, as the sink is about to.
	CommitListed
	// CommitStray: somebody commits, in an opening, one that is to be rolled back. The job has to stop, and that ends the run.
	CommitStray
	// NoStore: the store does not answer for longer than the sink repeats a decision's write.
	NoStore
	// Forget restarts a server that does not find every other prepared branch again. FalseOK, in an opening, answers the
	// next XA COMMIT or XA ROLLBACK without doing it. Where a branch is gone that way the job has to stop, and that
	// ends the run.
	Forget
	FalseOK
	whatEnd
)

var whatNames = [whatEnd]string{
	Die: "die", Vanish: "vanish", Pause: "pause", Fail: "fail", Restart: "restart", Down: "down", Kill: "kill", LoseRequest: "lose-request",
	LoseAnswer: "lose-answer", FreezeRequest: "freeze-request", FreezeAnswer: "freeze-answer", SlowAnswer: "slow-answer",
	Busy: "busy", Swallow: "swallow", Wait: "wait", Operator: "operator", CommitListed: "commit-listed", CommitStray: "commit-stray", Interrupt: "interrupt", Forget: "forget", FalseOK: "false-ok", Lock: "lock", Orphan: "orphan", Foreign: "foreign", StoredInDoubt: "stored-in-doubt",
	LostInDoubt: "lost-in-doubt", LateInDoubt: "late-in-doubt", NoStore: "no-store",
}

func (w What) String() string {
	if w > 0 && w < whatEnd {
		return whatNames[w]
	}
	return fmt.Sprintf("what(%d)", uint8(w))
}

func (a Act) String() string { return fault.Entry{Action: a.What.String(), Place: a.At}.String() }

// String is a fault script with the actions of this package.
func (l Life) String() string {
	parts := make([]string, len(l))
	for i, a := range l {
		parts[i] = a.String()
	}
	return strings.Join(parts, ",")
}

var modeNames = map[txnsink.Mode]string{txnsink.ExactlyOnce: "exactly-once", txnsink.AtLeastOnce: "at-least-once"}

// String is one line: the workload, and behind each bar what goes wrong in one process run, as a fault script.
func (s Scenario) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s seed=%d records=%d tables=%s write=%d flush=%d checkpoint=%d segment=%d pending=%d pace=%s abort=%d detach=%s",
		s.Kind, modeNames[s.Mode], s.Seed, s.Records, s.Tables, s.Write, s.Flush, s.Checkpoint, s.Segment, s.Pending, s.Pace, s.Abort, s.Detach)
	for _, l := range s.Lives {
		b.WriteString(strings.TrimRight(" | "+l.String(), " "))
	}
	return b.String()
}

// Parse is the inverse of [Scenario.String].
func Parse(text string) (Scenario, error) {
	head, lives, disturbed := strings.Cut(text, "|")
	s, err := parseWorkload(strings.Fields(head))
	if err != nil {
		return Scenario{}, fmt.Errorf("scenario %q: %w", text, err)
	}
	if disturbed {
		for part := range strings.SplitSeq(lives, "|") {
			l, err := parseLife(part)
			if err != nil {
				return Scenario{}, fmt.Errorf("scenario %q: %w", text, err)
			}
			s.Lives = append(s.Lives, l)
		}
	}
	return s, s.check()
}

func parseWorkload(words []string) (Scenario, error) {
	s := Scenario{}
	if len(words) < 2 {
		return s, fmt.Errorf("want a server, a mode and settings, as in %q", "mysql exactly-once seed=1 …")
	}
	found := false
	for _, k := range xasim.Kinds() {
		if k.String() == words[0] {
			s.Kind, found = k, true
		}
	}
	if !found {
		return s, fmt.Errorf("%q is no kind of server: %v", words[0], xasim.Kinds())
	}
	switch words[1] {
	case modeNames[txnsink.ExactlyOnce]:
	case modeNames[txnsink.AtLeastOnce]:
		s.Mode = txnsink.AtLeastOnce
	default:
		return s, fmt.Errorf("%q is no mode", words[1])
	}
	for _, w := range words[2:] {
		name, value, _ := strings.Cut(w, "=")
		if err := s.set(name, value); err != nil {
			return s, fmt.Errorf("%q: %w", w, err)
		}
	}
	return s, nil
}

func (s *Scenario) set(name, value string) (err error) {
	number := func() int {
		var n int
		n, err = strconv.Atoi(value)
		return n
	}
	switch name {
	case "seed":
		s.Seed, err = strconv.ParseUint(value, 10, 64)
	case "records":
		s.Records = number()
	case "tables":
		s.Tables = value
	case "write":
		s.Write = number()
	case "flush":
		s.Flush = number()
	case "checkpoint":
		s.Checkpoint = number()
	case "segment":
		s.Segment = int64(number())
	case "pending":
		s.Pending = number()
	case "pace":
		s.Pace, err = time.ParseDuration(value)
	case "abort":
		s.Abort = number()
	case "detach":
		s.Detach, err = time.ParseDuration(value)
	default:
		return fmt.Errorf("there is no setting %q", name)
	}
	return err
}

func parseLife(text string) (Life, error) {
	if text = strings.TrimSpace(text); text == "" {
		return nil, nil
	}
	entries, err := fault.ParseEntries(text, whatNames[Die:]...)
	if err != nil {
		return nil, err
	}
	l := make(Life, len(entries))
	for i, e := range entries {
		if e.Place.Nth == 0 {
			err = errors.Join(err, fmt.Errorf("%q: want a number, such as %s#1: everything goes wrong once", e, e))
		}
		l[i] = Act{Die + What(slices.Index(whatNames[Die:], e.Action)), e.Place}
	}
	return l, err
}

func (s Scenario) check() error {
	if s.Records < 0 || s.Write < 1 || s.Flush < 0 || s.Checkpoint < 0 || s.Segment < 0 || s.Pending < 0 || s.Pace < 0 ||
		s.Abort < 0 || s.Detach < 0 || s.Detach >= recovery.MinDetachWait {
		return fmt.Errorf("scenario %q: a setting is out of its range", s)
	}
	if _, err := tablesOf(s.Tables); err != nil {
		return fmt.Errorf("scenario %q: %w", s, err)
	}
	return nil
}
