package recovery_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/state"
)

// crash is an injector that freezes the process at a point, which for everybody else is a crash: what it held, its
// sessions above all, lives on as a zombie. When the test lets it thaw it goes on as if nothing had happened.
type crash struct {
	point   fault.Point
	nth     int64
	reached atomic.Int64
	died    chan struct{}
	thaw    chan struct{}
}

func newCrash(p fault.Point, nth int) *crash {
	return &crash{point: p, nth: int64(nth), died: make(chan struct{}), thaw: make(chan struct{})}
}

func (c *crash) At(_ context.Context, p fault.Point) error {
	if p == c.point && c.reached.Add(1) == c.nth {
		close(c.died)
		<-c.thaw
	}
	return nil
}

func (c *crash) String() string { return fmt.Sprintf("kill@%s#%d", c.point, c.nth) }

// freezes runs do until it freezes, or ends without having reached the point. thaw lets it go on, and returns its error
// when it has ended.
func (c *crash) freezes(do func() error) (frozen bool, thaw func() error) {
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	select {
	case <-c.died:
		return true, func() error {
			close(c.thaw)
			return <-ended
		}
	case err := <-ended:
		return false, func() error { return err }
	}
}

// What an opening does, in its order, is cut at each of its effects, before and after it: the first time that it
// happens, and the last. The next start is an ordinary one and ends with everything in its place. On attached servers,
// where each opening waits for the detach wait, only the effects that differ there are cut, the first time.
func TestCrashAtEachStepOfAnOpening(t *testing.T) {
	t.Parallel()
	differ := []fault.Op{fault.LedgerRaise, fault.Kill, fault.Recover, fault.Commit, fault.Rollback, fault.DecisionWrite}
	for name, world := range map[string]func(t *testing.T, b *bench){
		"the very first": func(*testing.T, *bench) {},
		"with branches": func(t *testing.T, b *bench) {
			b.committed(t, b.id(1, 2, 1), 1)
			b.dead(t, b.id(1, 2, 2), 2)
			b.dead(t, b.id(1, 3, 1), 3)
			b.dead(t, b.id(1, 2, 3), 4)
			b.dead(t, b.id(1, 3, 2), 5)
			b.list(t, b.id(1, 2, 1), b.id(1, 2, 2), b.id(1, 3, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, b *bench) {
				recorder := &fault.Recorder{}
				world(t, b)
				b.faults.arm(recorder)
				_, err := b.open(t)
				require.NoError(t, err)
				b.faults.disarm()
				require.GreaterOrEqual(t, len(recorder.Reached()), 16, recorder.String())
				for _, p := range recorder.Reached() {
					times := []int{1}
					if last := recorder.Count(p); last > 1 && !b.attached() {
						times = append(times, last)
					}
					if b.attached() && !slices.Contains(differ, p.Op) {
						continue
					}
					for _, nth := range times {
						crashOnce(t, b, world, newCrash(p, nth))
					}
				}
			})
		})
	}
}

// crashOnce makes the world anew, for a job that nobody knows, crashes one opening in it and then starts as always. The
// crashed one thaws at last, and does no harm.
func crashOnce(t *testing.T, b *bench, world func(*testing.T, *bench), c *crash) {
	t.Helper()
	b.exec(t, "DELETE FROM `"+b.name+"`.`target`")
	b.renew(t)
	world(t, b)
	withBranches := len(b.rows(t)) > 0

	b.faults.arm(c)
	frozen, thaw := c.freezes(func() error {
		_, err := b.open(t)
		return err
	})
	b.faults.disarm()
	if c.nth == 1 { // how often an opening scans depends on the server, so the last time may not come again
		require.True(t, frozen, c)
	}
	settled := func() (epoch uint64) {
		require.Empty(t, b.prepared(t), c)
		if withBranches {
			require.Equal(t, []int{1, 2, 3}, b.rows(t), c)
		}
		info, err := b.store.Peek(t.Context(), b.job)
		require.NoError(t, err)
		require.Empty(t, info.Last.Pending, c)
		return info.Last.Epoch
	}
	_, err := b.open(t)
	require.NoError(t, err, c)
	epoch := settled()

	err = thaw()
	after := settled()
	if after == epoch && frozen && c.point != fault.After(fault.DecisionWrite) {
		// Whatever it was in the middle of, it has lost the claim, the row or its session, and learns it at once; only
		// after the last effect of an opening it learns it at the next one.
		require.Error(t, err, c)
	}
	row, err := b.ledger.Job(t.Context(), b.admin, b.job)
	require.NoError(t, err)
	require.Equal(t, after, row.Epoch, c)
}

// renew gives the bench another job, and so another store and other names.
func (b *bench) renew(t *testing.T) {
	t.Helper()
	b.job = "recovery-" + unique(t)
	b.jobs = append(b.jobs, b.job)
	b.store = state.NewMemory(state.WithFaults(b.faults))
}
