package writertest

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder takes what a story says instead of the test.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failed   bool
	skipped  bool
	said     []string
	cleanups []func()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *recorder) FailNow() {
	r.mu.Lock()
	r.failed = true
	r.mu.Unlock()
	runtime.Goexit()
}

func (r *recorder) Skip(args ...any) {
	r.skipped = true
	r.said = append(r.said, fmt.Sprint(args...))
	runtime.Goexit()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

// hear tells the story to a recorder.
func hear(t *testing.T, e entry, f Features, open func(t testing.TB) Harness) *recorder {
	t.Helper()
	r := &recorder{TB: t}
	apart := func(do func()) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			do()
		}()
		<-done
	}
	apart(func() { e.on(r, f, open) })
	for _, clean := range slices.Backward(r.cleanups) {
		apart(clean)
	}
	return r
}

// breakages are what each story has to find, by its name.
var breakages = map[string][]breakage{
	"look creates nothing and ends nobody":                                    {lookLeavesTraces},
	"a job of another store is not to be claimed":                             {lookBelievesAll},
	"an old copy of the store is not to be claimed":                           {lookBelievesAll},
	"recover comes after look":                                                {recoverSwallows},
	"recover is for the writer's own job":                                     {recoverSwallows},
	"recover is done once":                                                    {recoverSwallows},
	"a new job has nothing to recover":                                        {recoverTellsNothing},
	"nothing is written before the claim's own decision":                      {writeSwallows},
	"prepare and commit come after recover":                                   {prepareSwallows, commitSwallows},
	"rows are committed by the checkpoint":                                    {writeDrops},
	"rows are not seen before their commit":                                   {writesAtOnce},
	"a write takes its batch":                                                 {batchIsNotEmpty},
	"an empty batch begins nothing":                                           {writeRefusesEmpty},
	"changes of one key act in their order":                                   {writeReorders},
	"a batch that is not the writer's is refused":                             {writeSwallows},
	"of a batch with a bad row nothing is written":                            {writeSwallows},
	"a duplicate is an error of its row, and nothing of its write stays":      {writeSwallows},
	"a batch above the limit is refused":                                      {anySize},
	"a write that needs a checkpoint leaves no trace and is written after it": {writeSwallows, needsNothing},
	"a full segment that is not split asks for a checkpoint":                  {needsNothing, neverFull},
	"a segment is full by its bytes too":                                      {largeSegments},
	"rows are sent when there are enough for a statement":                     {gathersMore},
	"an ended context writes nothing":                                         {writeForgetsContext},
	"a flush without rows does nothing":                                       {flushRefusesNothing},
	"a flush prepares what can be split":                                      {flushDoesNothing},
	"a key that is prepared can be written again":                             {flushDoesNothing, writeSwallows},
	"a duplicate of a prepared row settles, and is then an error of its row":  {writeSwallows},
	"a flush prepares nothing where nothing is split":                         {flushPreparesAll},
	"a flush writes what is gathered":                                         {flushDoesNothing},
	"a full segment is prepared":                                              {neverFull},
	"splitting stops at the cap":                                              {noCap},
	"a checkpoint that was given up is carried on by the next one":            {prepareForgets},
	"rows written after prepare belong to the next checkpoint":                {writeDropsAfterPrepare},
	"the same decision is committed once":                                     {commitOnce},
	"a decision that is not made of what prepare gave is refused":             {commitSwallows},
	"a decision of another claim is refused":                                  {commitSwallows},
	"an ended context does not stop a commit":                                 {commitStops},
	"names are used once and carry the claim's epoch":                         {prepareNamesTwice},
	"a part tells watermarks, bounds and what is whole":                       {prepareKnowsNoWhole},
	"close prepares and commits nothing":                                      {closePrepares},
	"close leaves prepared branches":                                          {writesAtOnce},
	"what no decision lists is rolled back, and its rows count once":          {recoverTellsNothing},
	"what a decision lists is committed by the next recovery":                 {recoverTellsNothing},
	"what was committed before a crash is not committed again":                {recoverTellsNothing},
	"recovery is told to the observer":                                        {observesNot},
	"rows in no decision are written again":                                   {writeDrops},
	"an orphan of an older owner is rolled back, another job's branch is not": {recoverTellsNothing},
	"a branch of a later epoch stops the opening":                             {lookBelievesAll},
	"a sweep rolls back late orphans and nothing else":                        {sweepDoesNothing},
	"a sweep stops at a branch of a later epoch":                              {sweepDoesNothing},
	"an older owner writes nothing any more":                                  {prepareSwallows},
	"an older owner's open rows are gone, and their locks free":               {writeDrops},
	"an owner that was overtaken does not recover":                            {recoverSwallows},
	"a job is finished when nothing is left":                                  {finishedNever},
	"with rows open a job is not finished":                                    {finishedAlways},
	"with a branch pending a job is not finished":                             {finishedAlways},
	"what a dead owner left is rolled back before a job is finished":          {finishedAlways},
	"on a server that restarted a job is not finished":                        {finishedAlways},
	"after an error only close is left":                                       {errorsAreBare, flushSwallows},
	"a closed writer does nothing":                                            {flushSwallows},
	"one goroutine at a time, but for stats":                                  {flushSwallows},
	"held counts rows and branches":                                           {heldNothing},
	"stats count what happens":                                                {statsTellNothing},
	"a prepare in doubt fails the writer, and recovery decides":               {prepareSwallows, believesFault},
	"a prepare that was never sent fails the writer, and nothing is left":     {prepareSwallows, believesFault},
	"a commit in doubt leaves its branch to the next recovery at the latest":  {commitSwallows},
	"a recovery that dies is followed by another":                             {recoverSwallows, believesFault},
}

// TestEveryStoryFindsAWriterThatIsBrokenThere: on a good writer it passes, on each broken one it fails.
func TestEveryStoryFindsAWriterThatIsBrokenThere(t *testing.T) {
	names := map[string]bool{}
	for _, e := range stories() {
		require.False(t, names[e.name], "%s is there twice", e.name)
		names[e.name] = true
		require.NotEmpty(t, breakages[e.name], "no writer breaks %q", e.name)
		f := Features{ExactlyOnce: e.needs&atLeastOnce == 0, Splits: e.needs&(whole|atLeastOnce) == 0, Faults: true}
		f.Faults = f.ExactlyOnce
		t.Run(e.name, func(t *testing.T) {
			for _, b := range append([]breakage{{what: ""}}, breakages[e.name]...) {
				var r *recorder
				on := inMemory(f, b)
				if e.needs&(orphans|restarts) != 0 {
					on = simulated(f, b)
				}
				synctest.Test(t, func(t *testing.T) { r = hear(t, e, f, on) })
				require.False(t, r.skipped, "%v", r.said)
				require.Equal(t, b.what != "", r.failed, "%s: %v", b.what, r.said)
			}
		})
	}
	require.Len(t, breakages, len(names), "each breakage is of a story")
}

// TestStoriesThatAFeatureLacksAreSkippedWithAReason and no others.
func TestStoriesThatAFeatureLacksAreSkippedWithAReason(t *testing.T) {
	skipped := 0
	for _, e := range stories() {
		var r *recorder
		synctest.Test(t, func(t *testing.T) { r = hear(t, e, Features{}, inMemory(Features{}, breakage{})) })
		require.False(t, r.failed, "%s: %v", e.name, r.said)
		if r.skipped {
			skipped++
			require.NotEmpty(t, r.said, e.name)
			require.NotZero(t, e.needs, e.name)
		}
	}
	require.Positive(t, skipped)
}
