package xasim

import (
	"slices"
	"time"
)

// lockMode is how a row, or an entry of a unique key, is locked.
type lockMode uint8

const (
	shared lockMode = iota + 1
	exclusive
)

func (m lockMode) conflicts(o lockMode) bool { return m == exclusive || o == exclusive }

// lockKey names what is locked: a key of a tree. There are no gap locks: every transaction reads at READ COMMITTED.
type lockKey struct {
	tree any
	key  string
}

// waiter is a statement that waits. It is done by whoever ends the wait, under the server's mutex.
type waiter struct {
	done chan struct{}
	over bool
	err  error
}

func newWaiter() *waiter { return &waiter{done: make(chan struct{})} }

// wake ends the wait with err.
func (w *waiter) wake(err error) {
	if w.over {
		return
	}
	w.over, w.err = true, err
	close(w.done)
}

// request is a lock that is held or waited for.
type request struct {
	t    *transaction
	mode lockMode
	wait *waiter // nil: granted
}

// queue is all requests for one key, the older ones first.
type queue []*request

// blockers are the transactions that r has to wait for: those with a conflicting lock, or a conflicting request that
// was there before.
func (q queue) blockers(r *request) []*transaction {
	var list []*transaction
	for _, o := range q {
		if o == r {
			break
		}
		if o.t != r.t && o.mode.conflicts(r.mode) {
			list = append(list, o.t)
		}
	}
	// A granted lock that was asked for later can be there as well: an upgrade goes to the end of the queue.
	for _, o := range q {
		if o.wait == nil && o != r && o.t != r.t && o.mode.conflicts(r.mode) && !slices.Contains(list, o.t) {
			list = append(list, o.t)
		}
	}
	return list
}

// held is the mode in which t holds the key, 0 if it does not.
func (q queue) held(t *transaction) lockMode {
	mode := lockMode(0)
	for _, r := range q {
		if r.t == t && r.wait == nil {
			mode = max(mode, r.mode)
		}
	}
	return mode
}

// acquire gives t the lock of key, waiting for it up to the session's innodb_lock_wait_timeout. Errors: 1205, 1213,
// 1317, errGone. The server's mutex is held; while it waits it is not.
func (s *session) acquire(t *transaction, key lockKey, mode lockMode) error {
	return s.acquireWithin(t, key, mode, s.variables.seconds("innodb_lock_wait_timeout"))
}

// acquireWithin is acquire with a time of its own. limit 0 does not wait: 1205 at once.
func (s *session) acquireWithin(t *transaction, key lockKey, mode lockMode, limit time.Duration) error {
	srv := s.server
	if srv.locks[key].held(t) >= mode {
		return nil
	}
	r := &request{t: t, mode: mode}
	srv.locks[key] = append(srv.locks[key], r)
	t.locks = append(t.locks, key)
	if len(srv.locks[key].blockers(r)) == 0 {
		return nil
	}
	if limit <= 0 {
		srv.withdraw(key, r)
		return errLockWait()
	}
	r.wait = newWaiter()
	t.waiting = append(t.waiting[:0], waiting{key, r})
	if victim := srv.deadlock(t); victim == t {
		srv.withdraw(key, r)
		t.waiting = t.waiting[:0]
		return errDeadlock()
	} else if victim != nil {
		srv.abortVictim(victim)
	}
	err := s.wait(r.wait, limit, errLockWait())
	t.waiting = t.waiting[:0]
	if err != nil && err != errGone { //nolint:errorlint // never wrapped
		srv.withdraw(key, r)
	}
	return err
}

// waiting is the lock that a transaction waits for.
type waiting struct {
	key lockKey
	r   *request
}

// withdraw takes back a request, and lets those behind it on.
func (srv *Server) withdraw(key lockKey, r *request) {
	q := srv.locks[key]
	if i := slices.Index(q, r); i >= 0 {
		q = slices.Delete(q, i, i+1)
	}
	srv.settleQueue(key, q)
}

// settleQueue grants what can be granted now.
func (srv *Server) settleQueue(key lockKey, q queue) {
	if len(q) == 0 {
		delete(srv.locks, key)
		return
	}
	srv.locks[key] = q
	for _, r := range q {
		if r.wait != nil && len(q.blockers(r)) == 0 {
			w := r.wait
			r.wait = nil
			w.wake(nil)
		}
	}
}

// releaseLocks frees t's locks that keep does not want.
func (srv *Server) releaseLocks(t *transaction, keep func(lockKey, lockMode) bool) {
	kept := t.locks[:0]
	for _, key := range t.locks {
		q := srv.locks[key]
		n := len(q)
		q = slices.DeleteFunc(q, func(r *request) bool {
			return r.t == t && (keep == nil || !keep(key, r.mode))
		})
		if len(q) < n {
			srv.settleQueue(key, q)
		}
		if q.held(t) != 0 {
			kept = append(kept, key)
		}
	}
	t.locks = slices.Clip(kept)
}

// deadlock finds a circle of waiting transactions that t closes, and gives the one to roll back, nil if there is none:
// the one with the fewest changes and locks, t itself among equals.
func (srv *Server) deadlock(t *transaction) *transaction {
	circle := srv.circle(t, t, nil, map[*transaction]bool{})
	if circle == nil {
		return nil
	}
	victim := t
	for _, o := range circle {
		if o.weight() < victim.weight() {
			victim = o
		}
	}
	return victim
}

// circle is the way from at back to goal along what each waits for.
func (srv *Server) circle(at, goal *transaction, way []*transaction, seen map[*transaction]bool) []*transaction {
	way = append(way, at)
	for _, w := range at.waiting {
		for _, next := range srv.locks[w.key].blockers(w.r) {
			if next == goal {
				return way
			}
			if seen[next] {
				continue
			}
			seen[next] = true
			if found := srv.circle(next, goal, way, seen); found != nil {
				return found
			}
		}
	}
	return nil
}

// abortVictim ends the wait of a transaction that another one chose as victim; its own session rolls it back.
func (srv *Server) abortVictim(t *transaction) {
	for _, w := range t.waiting {
		if w.r.wait != nil {
			w.r.wait.wake(errDeadlock())
		}
	}
}
