package recovery_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/xa"
	"github.com/xasink/xasink/xa/xasim"
)

// Only recovery trusts a server again that was restarted: a session that comes after it is not admitted.
func TestSessionsOfALaterStartAreNotAdmitted(t *testing.T) {
	onKinds(t, anyKind, func(t *testing.T, w *world) {
		o, err := w.open()
		require.NoError(t, err)
		w.server.Restart(xasim.Crash{})
		_, err = o.pool.Take(t.Context(), 5)
		var server *recovery.ServerError
		require.ErrorAs(t, err, &server)
	})
}

// The target of going back lists none of the lost branches; where every kept decision lists one there is none.
func TestTheReportOfALossNamesADecisionThatListsNoLostBranch(t *testing.T) {
	onKinds(t, anyKind, func(t *testing.T, w *world) {
		first, second := w.id(1, 2, 1), w.id(1, 2, 2)
		w.decide()
		w.decide(first)
		w.decide(first, second)
		_, err := w.open()
		var lost *recovery.LostError
		require.ErrorAs(t, err, &lost)
		require.Equal(t, uint64(3), lost.Decision)
		require.Equal(t, uint64(1), lost.Target)
		require.Len(t, lost.Lost, 2)
	})
	onKinds(t, anyKind, func(t *testing.T, w *world) {
		first, second := w.id(1, 2, 1), w.id(1, 2, 2)
		w.decide(first)
		w.decide(first, second)
		_, err := w.open()
		var lost *recovery.LostError
		require.ErrorAs(t, err, &lost)
		require.Zero(t, lost.Target, "both decisions list it")
	})
}

// A COMMIT that an attached server answers with OK and does not do: the branch is not lost, the server has to restart.
func TestABranchThatWentIntoLimboIsToldAsThat(t *testing.T) {
	onKinds(t, attached, func(t *testing.T, w *world) {
		o, err := w.open()
		require.NoError(t, err)
		id := w.id(1, 2, 1)
		require.NoError(t, o.pool.Discard(t.Context(), o.prepare(id, 1)))
		w.server.Inject(xasim.Fault{Statement: "XA COMMIT", Act: xasim.FalseOK})
		err = o.commit(id)
		var stop *recovery.Stop
		require.ErrorAs(t, err, &stop)
		require.Equal(t, recovery.StopLimbo, stop.Kind)
		require.ErrorContains(t, stop, "restart")

		w.server.Restart(xasim.Crash{})
		w.decide(id)
		again, err := w.open()
		require.NoError(t, err)
		require.Equal(t, 1, again.report.Committed, "the restart brought it back")
		require.Equal(t, []int{1}, w.rows())
	})
}

// The server's list of transactions can be old: what it shows for a moment, when the plan is made, is no limbo.
func TestLimboHasToLast(t *testing.T) {
	for name, story := range map[string]struct {
		last time.Duration
		stop bool
	}{
		"for two seconds": {2 * time.Second, false},
		"for a minute":    {time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			onKinds(t, attached, func(t *testing.T, w *world) {
				w.decide(w.id(1, 2, 1)) // missing
				w.exec("CREATE TABLE shop.ghosts (id BIGINT PRIMARY KEY)", "INSERT INTO shop.ghosts VALUES (1), (2)")
				var until time.Time
				w.once(fault.After(fault.LedgerRaise), is(fault.After(fault.LedgerRead)), func() { until = time.Now().Add(story.last) })
				w.wire.rewrite = func(query string) string {
					if strings.Contains(query, "trx_mysql_thread_id = 0") && time.Now().Before(until) {
						return "SELECT COUNT(*) FROM shop.ghosts"
					}
					return query
				}
				_, err := w.open()
				var stop *recovery.Stop
				var lost *recovery.LostError
				if story.stop {
					require.ErrorAs(t, err, &stop)
					require.Equal(t, recovery.StopLimbo, stop.Kind)
					return
				}
				require.ErrorAs(t, err, &lost, "it is nowhere")
			})
		})
	}
}

// On an attached server no verb names an old branch until the detach wait is over, whether or not a mark was held.
func TestNoVerbNamesABranchBeforeTheDetachWaitIsOver(t *testing.T) {
	onKinds(t, attached, func(t *testing.T, w *world) {
		listed, orphan := w.id(1, 2, 1), w.id(1, 3, 1)
		for row, id := range []xa.ID{listed, orphan} {
			s := w.stranger()
			s.prepare(id, row)
			s.leave()
		}
		w.decide(listed)
		var raised time.Time
		verbs := 0
		w.at = func(p fault.Point) {
			switch p {
			case fault.After(fault.LedgerRaise):
				raised = time.Now()
			case fault.Before(fault.Commit), fault.Before(fault.Rollback):
				verbs++
				require.GreaterOrEqual(t, time.Since(raised), recovery.MinDetachWait)
			}
		}
		o, err := w.open()
		require.NoError(t, err)
		require.Equal(t, []int{1, 1}, []int{o.report.Committed, o.report.RolledBack})
		require.Equal(t, 2, verbs)
	})
}

// Branches that appear from scan to scan: recovery looks until two scans agree, and settles them all.
func TestScansAreRepeatedUntilTwoAgree(t *testing.T) {
	onKinds(t, anyKind, func(t *testing.T, w *world) {
		w.decide()
		raised, scans := false, 0
		w.at = func(p fault.Point) {
			raised = raised || p == fault.After(fault.LedgerRaise)
			if !raised || p != fault.Before(fault.Recover) {
				return
			}
			if scans++; scans == 2 || scans == 3 {
				s := w.stranger()
				s.prepare(w.id(1, uint32(scans), 1), scans)
				s.leave()
			}
		}
		o, err := w.open()
		require.NoError(t, err)
		require.Equal(t, 2, o.report.RolledBack)
		require.Empty(t, w.prepared())
	})
}
