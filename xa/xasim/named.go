package xasim

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
)

// namedLock is a lock of GET_LOCK. Names ignore capitals on MySQL, and do not on MariaDB (docs/facts.md).
type namedLock struct {
	holder *session
	times  int
	queue  []*namedWait
}

type namedWait struct {
	session *session
	wait    *waiter
}

const (
	longestName        = 64
	longestMariaDBName = 192
)

func (k Kind) lockName(v datum.Value) (string, error) {
	name := v.Text()
	switch {
	case k.mariadb && utf8.RuneCountInString(name) <= longestMariaDBName:
		return name, nil
	case k.mariadb:
		return "", failure(1059, "42000", "Identifier name '%s' is too long", name)
	case utf8.RuneCountInString(name) > longestName:
		return "", failure(4163, "42000", "User-level lock name '%s' should not exceed 64 characters.", name)
	case name == "":
		return "", failure(3057, "42000", "Incorrect user-level lock name '%s'.", name)
	}
	return strings.ToLower(name), nil
}

// getLock is GET_LOCK(name, seconds): 1 when it was got, 0 when it was not in time.
func getLock(f *frame, args []datum.Value) (datum.Value, error) {
	s := f.session
	srv := s.server
	name, err := srv.kind.lockName(args[0])
	if err != nil || name == "" {
		return datum.Value{}, err
	}
	l := srv.named[name]
	if l == nil {
		l = &namedLock{}
		srv.named[name] = l
	}
	if l.holder == nil || l.holder == s {
		s.hold(name, l)
		return datum.Int64(1), nil
	}
	limit := time.Duration(args[1].AsFloat() * float64(time.Second))
	if limit == 0 {
		return datum.Int64(0), nil
	}
	if limit < 0 {
		limit = forever
	}
	w := &namedWait{s, newWaiter()}
	l.queue = append(l.queue, w)
	if err := s.wait(w.wait, limit, errLockWait()); err != nil {
		l.queue = slices.DeleteFunc(l.queue, func(o *namedWait) bool { return o == w })
		if errorNumber(err) == 1205 {
			return datum.Int64(0), nil
		}
		return datum.Value{}, err
	}
	return datum.Int64(1), nil
}

func (s *session) hold(name string, l *namedLock) {
	l.holder = s
	l.times++
	s.locks = append(s.locks, name)
}

// free gives one hold of a lock back.
func (s *session) free(name string) {
	srv := s.server
	l := srv.named[name]
	i := slices.Index(s.locks, name)
	s.locks = slices.Delete(s.locks, i, i+1)
	if l.times--; l.times > 0 {
		return
	}
	l.holder = nil
	for len(l.queue) > 0 {
		w := l.queue[0]
		l.queue = l.queue[1:]
		if w.wait.over {
			continue
		}
		w.session.hold(name, l)
		w.wait.wake(nil)
		return
	}
	delete(srv.named, name)
}

func (s *session) releaseNamed() int {
	n := len(s.locks)
	for len(s.locks) > 0 {
		s.free(s.locks[0])
	}
	return n
}

// releaseLock is RELEASE_LOCK: 1, 0 for another session's lock, NULL for none.
func releaseLock(f *frame, args []datum.Value) (datum.Value, error) {
	name, err := f.session.server.kind.lockName(args[0])
	if err != nil {
		return datum.Value{}, err
	}
	l := f.session.server.named[name]
	switch {
	case l == nil:
		return datum.Value{}, nil
	case l.holder != f.session:
		return datum.Int64(0), nil
	}
	f.session.free(name)
	return datum.Int64(1), nil
}

// isUsedLock is IS_USED_LOCK: the holder's connection id, or NULL.
func isUsedLock(f *frame, args []datum.Value) (datum.Value, error) {
	name, err := f.session.server.kind.lockName(args[0])
	if err != nil {
		return datum.Value{}, err
	}
	if l := f.session.server.named[name]; l != nil && l.holder != nil {
		return datum.Uint64(l.holder.id), nil
	}
	return datum.Value{}, nil
}

func isFreeLock(f *frame, args []datum.Value) (datum.Value, error) {
	v, err := isUsedLock(f, args)
	return datum.Bool(v.IsNull()), err
}

func releaseAllLocks(f *frame, _ []datum.Value) (datum.Value, error) {
	return datum.Int64(int64(f.session.releaseNamed())), nil
}

// Locks are the named locks that are held, by their names, which MySQL has in small letters, with the connection ids of their holders.
func (srv *Server) Locks() map[string]uint64 {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	held := map[string]uint64{}
	for name := range maps.Keys(srv.named) {
		if h := srv.named[name].holder; h != nil {
			held[name] = h.id
		}
	}
	return held
}
