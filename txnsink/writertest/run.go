package writertest

import (
	"testing"

	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/xa"
)

// Features are what a writer is declared to do beyond what every writer has to.
type Features struct {
	// ExactlyOnce: rows are seen by the commit of their decision and not before, and once whatever fails. A writer without
	// it prepares no branches; its rows may be seen early, and again after a failure.
	ExactlyOnce bool
	// Splits: a flush signal, and a full segment, prepare the rows of a lane whose tables only take inserts. A writer
	// without it prepares nothing before Prepare.
	Splits bool
	// Faults: the injector of WriterConfig.Faults acts at XA PREPARE, XA COMMIT and XA RECOVER.
	Faults bool
}

// Harness is what one story has: an empty target, and an empty server as far as its job is concerned. It is given up
// after the story; what it has to clean up goes into t.Cleanup.
type Harness struct {
	// Job of the writers.
	Job string
	// Open makes a writer of the job for the tables of [Tables], as txnsink.NewWriter does, with change applied to its
	// configuration. It is called several times: another one is another process.
	Open func(change func(*txnsink.WriterConfig)) (txnsink.Writer, error)
	// Content is what a reader of the tables sees.
	Content func() Content
	// Prepared are the branches of the job that are prepared; nil for a writer that is not ExactlyOnce.
	Prepared func() []xa.ID
	// Orphan prepares a branch of the given name with one event in it, as an owner does that has been dead for long. nil:
	// that cannot be played.
	Orphan func(id xa.ID, event int64)
	// Restart ends the server with all its sessions, and starts it again. nil: that cannot be played.
	Restart func()
}

// need is what a story needs of the writer or its harness.
type need uint8

const (
	exactlyOnce need = 1 << iota
	atLeastOnce
	splits
	whole // the opposite of splits, of a writer that is exactly once
	faults
	orphans
	restarts
)

// without tells the reason why a story with need n cannot be told, "" where it can.
func (n need) without(f Features, h Harness) string {
	switch {
	case n&exactlyOnce != 0 && !f.ExactlyOnce:
		return "the writer is declared not to be exactly once"
	case n&atLeastOnce != 0 && f.ExactlyOnce:
		return "it is about at least once, and the writer is declared exactly once"
	case n&splits != 0 && !f.Splits:
		return "the writer is declared not to split a checkpoint"
	case n&whole != 0 && (f.Splits || !f.ExactlyOnce):
		return "it is about branches that are not split, and the writer is declared to split them or to have none"
	case n&faults != 0 && !f.Faults:
		return "the writer is declared to take no faults"
	case n&orphans != 0 && h.Orphan == nil:
		return "the harness cannot play an owner that died (Orphan)"
	case n&restarts != 0 && h.Restart == nil:
		return "the harness cannot restart the server (Restart)"
	}
	return ""
}

// entry is a story in the suite.
type entry struct {
	name  string
	needs need
	tell  func(s *story)
}

// Run tells every story as a subtest, each on a harness of its own.
func Run(t *testing.T, f Features, open func(t testing.TB) Harness) {
	t.Helper()
	RunIn(t, func(t *testing.T, tell func(t *testing.T)) { tell(t) }, f, open)
}

// RunIn is Run with each story told inside of around, such as synctest.Test for a writer whose server lives in memory, or
// a function that makes the stories parallel.
func RunIn(t *testing.T, around func(t *testing.T, tell func(t *testing.T)), f Features, open func(t testing.TB) Harness) {
	t.Helper()
	t.Logf("features declared: %+v", f)
	for _, e := range stories() {
		t.Run(e.name, func(t *testing.T) { around(t, func(t *testing.T) { e.on(t, f, open) }) })
	}
}

// on tells the story to t.
func (e entry) on(t testing.TB, f Features, open func(t testing.TB) Harness) {
	t.Helper()
	h := open(t)
	if why := e.needs.without(f, h); why != "" {
		t.Skip(why)
	}
	e.tell(newStory(t, f, h))
}

// stories are all of them.
func stories() []entry {
	var all []entry
	for _, chapter := range [][]entry{
		openingStories, writingStories, flushStories, checkpointStories, recoveryStories, ownerStories, finishStories, callStories, faultStories,
	} {
		all = append(all, chapter...)
	}
	return all
}
