package txnsinktest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/xasink/xasink/fault"
)

// EachTime makes FailAfter and FailBefore act every time, until Mend.
const EachTime = 0

// reached are the effects that there are in memory, in the order of fault.Ops.
var reached = []fault.Op{
	fault.Connect, fault.Start, fault.Batch, fault.LedgerRow, fault.End, fault.Prepare, fault.Commit, fault.Rollback,
	fault.Recover, fault.Claim, fault.DecisionRead, fault.DecisionWrite, fault.LedgerRaise, fault.LedgerRead, fault.LedgerPrune,
}

// FailAfter makes op fail after it was done, as when the connection is cut before the answer: the nth time that op is
// reached from now on, counted from 1; without nth the next time; with [EachTime] every time. Several nth are several
// failures. Effects that there are not in memory panic, because a test with one would prove nothing: possible are
// Connect, Start, Batch, LedgerRow, End, Prepare, Commit, Rollback, Recover, LedgerRaise, LedgerRead, LedgerPrune and,
// of a store that acts on [DB.Faults], Claim, DecisionRead and DecisionWrite.
//
// What fails is what fails in a real sink, with two differences. A COMMIT that fails is not repeated, as if CommitTimeout
// had passed. And a failure of a decision's write is repeated by the sink as ever, until DecisionTimeout: let it fail
// each time, and set a short DecisionTimeout, to see ErrInDoubt.
func (db *DB) FailAfter(op fault.Op, nth ...int) { db.faults.arm(fault.After(op), nth) }

// FailBefore is FailAfter for a failure before anything was done.
func (db *DB) FailBefore(op fault.Op, nth ...int) { db.faults.arm(fault.Before(op), nth) }

// Mend takes back every FailAfter and FailBefore.
func (db *DB) Mend() { db.faults.clear() }

// Faults is the injector behind FailAfter and FailBefore, for a store of the user's own:
// state.NewMemory(state.WithFaults(db.Faults())). That of [DB.Store] has it.
func (db *DB) Faults() fault.Injector { return db.faults }

// faults is a list of failures that changes while it is used.
type faults struct {
	mu    sync.Mutex
	armed []fault.Injector
}

func (f *faults) arm(p fault.Point, nth []int) {
	if !slices.Contains(reached, p.Op) {
		panic(fmt.Sprintf("txnsinktest: there is no effect %s in memory: a failure at it would never happen", p.Op))
	}
	if len(nth) == 0 {
		nth = []int{1}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range nth {
		f.armed = append(f.armed, fault.FailAt(p, n, nil))
	}
}

func (f *faults) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = nil
}

// At asks every failure, so that each of them counts.
func (f *faults) At(ctx context.Context, p fault.Point) (failure error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, in := range f.armed {
		if err := in.At(ctx, p); err != nil {
			failure = err
		}
	}
	return failure
}

// String is the list as a script that fault.Parse reads.
func (f *faults) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	parts := make([]string, len(f.armed))
	for i, in := range f.armed {
		parts[i] = in.String()
	}
	return strings.Join(parts, ",")
}
