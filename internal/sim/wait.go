package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/xa"
)

// lockWait is what was there when a Write met a row lock for the first time.
type lockWait struct {
	at      time.Time
	points  int
	orphans []xa.ID
}

// lockWait is called when a statement of c met a row lock.
func (w *world) lockWait(c *client) {
	w.result.LockWaits++
	if c.first == nil {
		c.first = &lockWait{at: time.Now(), points: c.points, orphans: w.history.orphans()}
	}
}

// blocked looks at a Write that gave up waiting for a row lock, although nothing went wrong meanwhile: an orphan that
// was there from the first wait on has to be gone by then, and the lock has to be somebody else's (rule 9).
func (w *world) blocked(c *client, err error) {
	var blocked *txnsink.BlockedError
	if w.scenario.Mode != txnsink.ExactlyOnce || !errors.As(err, &blocked) || c.first == nil || c.disturbed(c.first.points) {
		return
	}
	orphans := w.history.orphans()
	for _, id := range c.first.orphans {
		if slices.Contains(orphans, id) {
			w.history.breach(Unswept, "a Write waited for a row lock and gave up, orphan %s is still prepared", id)
		}
	}
	if len(c.first.orphans) == 0 && len(w.history.limbo) == 0 && !w.locked.After(c.first.at) {
		w.history.breach(rule(9), "a Write gave up waiting for a row lock that nobody else holds: %v", err)
	}
}
