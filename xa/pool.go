package xa

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// PoolConfig says which sessions a pool has.
type PoolConfig struct {
	// Job owns the sessions; see [CheckJob].
	Job string
	// MaxSessions bounds the sessions that are open at a time, idle ones too; 0 is 64.
	MaxSessions int
	// MarksPerLane bounds the sessions of one lane; 0 is 8. The job row's bounds have to cover it.
	MarksPerLane uint32
	// Admit decides whether a new session may be used: it compares the job row, and the server's identity and start,
	// with what is expected. It is called once for each new session, whose mark is held by then, in state None. An
	// error ends the session, and Take returns it. nil admits all.
	Admit func(ctx context.Context, s *Session) error
}

const (
	defaultMaxSessions  = 64
	defaultMarksPerLane = 8
)

// Pool opens sessions, hands them to one owner at a time, and ends them. It is safe for concurrent use.
type Pool struct {
	server *Server
	config PoolConfig

	mu      sync.Mutex
	closed  bool
	idle    map[uint32][]*Session
	all     map[*Session]struct{}
	opening int
	marks   map[Mark]struct{} // held by, or being asked for, sessions of ours
}

// NewPool makes an empty pool; nothing is opened yet.
func NewPool(server *Server, c PoolConfig) *Pool {
	if c.MaxSessions == 0 {
		c.MaxSessions = defaultMaxSessions
	}
	if c.MarksPerLane == 0 {
		c.MarksPerLane = defaultMarksPerLane
	}
	return &Pool{
		server: server,
		config: c,
		idle:   map[uint32][]*Session{},
		all:    map[*Session]struct{}{},
		marks:  map[Mark]struct{}{},
	}
}

var errPoolClosed = errors.New("the pool of sessions is closed")

// Take gives a session in state None that holds a mark of lane: an idle one that answers, else a new one, which gets
// the session settings, then the first free mark of the lane ([ErrMarkHeld] if there is none), and then Admit's
// consent. An error leaves neither session nor mark. At MaxSessions it is [ErrPoolFull]. ctx bounds the call and is
// not kept.
func (p *Pool) Take(ctx context.Context, lane uint32) (*Session, error) {
	for {
		s, err := p.reserve(ctx, lane)
		if err != nil {
			return nil, fmt.Errorf("a session for lane %d of job %q on server %s: %w", lane, p.config.Job, p.server.address, err)
		}
		if s == nil {
			return p.add(ctx, lane)
		}
		// The server may have closed it, or have been restarted, while it was idle. Better to know before XA START.
		if s.alive(ctx) {
			return s, nil
		}
		if err := p.Discard(ctx, s); err != nil {
			return nil, err
		}
	}
}

// reserve gives an idle session, or counts a new one, which the caller then opens.
func (p *Pool) reserve(ctx context.Context, lane uint32) (*Session, error) {
	if ctx.Err() != nil {
		return nil, endOf(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errPoolClosed
	}
	if idle := p.idle[lane]; len(idle) > 0 {
		s := idle[len(idle)-1]
		p.idle[lane] = idle[:len(idle)-1]
		return s, nil
	}
	if len(p.all)+p.opening >= p.config.MaxSessions {
		return nil, fmt.Errorf("%w: %d are open (MaxSessions)", ErrPoolFull, p.config.MaxSessions)
	}
	p.opening++
	return nil, nil
}

// add opens the session that reserve counted.
func (p *Pool) add(ctx context.Context, lane uint32) (*Session, error) {
	s, err := p.open(ctx, lane)
	p.mu.Lock()
	p.opening--
	closed := p.closed
	if err == nil && !closed {
		p.all[s] = struct{}{}
	}
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if closed {
		return nil, listed(errPoolClosed, p.drop(ctx, s))
	}
	return s, nil
}

// Return gives a session back in state None, for the next Take of its lane. A session in any other state is ended, as
// by Discard: to return it is a mistake of the caller.
func (p *Pool) Return(s *Session) {
	state := s.State()
	p.mu.Lock()
	_, ours := p.all[s]
	keep := ours && !p.closed && state == None
	if keep {
		p.idle[s.mark.Lane] = append(p.idle[s.mark.Lane], s)
	}
	p.mu.Unlock()
	if keep || !ours {
		return
	}
	ctx := context.Background()
	p.server.config.Logger.LogAttrs(ctx, slog.LevelWarn, "a session was returned to its pool in a state that cannot be reused",
		slog.String("server", p.server.address), slog.Uint64("session", s.id), slog.String("state", state.String()))
	p.mu.Lock()
	delete(p.all, s)
	p.mu.Unlock()
	if err := p.drop(ctx, s); err != nil {
		p.server.config.Logger.LogAttrs(ctx, slog.LevelError, "a session could not be ended", slog.Any("error", err))
	}
}

// Discard ends a session, here and on the server, and returns when the server's process list no longer shows it: its
// open branch is rolled back then, a prepared one stays, its mark is free. It is for any state. ctx bounds the wait and
// should have a deadline, which leaves time for the rollback of a large branch; a server that answers nothing at all is
// waited for no longer than [Config] says. An error means that the session could not be shown to be gone. The session
// is out of the pool either way.
func (p *Pool) Discard(ctx context.Context, s *Session) error {
	p.mu.Lock()
	delete(p.all, s)
	p.mu.Unlock()
	return p.end(ctx, s)
}

// end ends a session that is not in p.all, and frees its mark.
func (p *Pool) end(ctx context.Context, s *Session) error {
	defer p.free(s.mark)
	if s.State() == None {
		s.shut()
		return p.awaitEnd(ctx, s)
	}
	// The server is told before the connection is closed: what it executes would go on behind a closed one.
	err := p.endOnServer(ctx, s)
	s.interrupt()
	s.shut()
	return err
}

// drop is end for a session that no caller has: it goes whether or not ctx has ended.
func (p *Pool) drop(ctx context.Context, s *Session) error {
	ctx, cancel := p.server.within(context.WithoutCancel(ctx))
	defer cancel()
	return p.end(ctx, s)
}

// endOnServer kills the session that holds s's mark, if that is still the same one. After a restart of the server its
// number may be another session's, which is not ours to end; the mark tells the two apart.
func (p *Pool) endOnServer(ctx context.Context, s *Session) error {
	ours, err := p.holds(ctx, s)
	switch {
	case err != nil:
		return err
	case ours:
		return p.server.KillSession(ctx, s.id)
	}
	return p.awaitEnd(ctx, s)
}

// closingTime is how long a session may take to end by itself once its connection is closed.
const closingTime = time.Second

// awaitEnd returns when s, whose connection is closed or dead, is gone from the server. It is killed when it takes too
// long.
func (p *Pool) awaitEnd(ctx context.Context, s *Session) error {
	short, cancel := context.WithTimeout(ctx, closingTime)
	defer cancel()
	err := p.server.awaitGone(short, s.id)
	if err == nil || ctx.Err() != nil || short.Err() == nil {
		return err
	}
	ours, err := p.holds(ctx, s)
	if err != nil || !ours {
		return err
	}
	return p.server.KillSession(ctx, s.id)
}

// holds tells whether the session that s was still holds its mark. A mark is freed after the open branch was rolled
// back or the prepared one was detached.
func (p *Pool) holds(ctx context.Context, s *Session) (bool, error) {
	id, held, err := p.server.MarkHolder(ctx, p.server.db, s.mark)
	return held && id == s.id, err
}

// Close ends every session, taken ones too, by closing their connections, and returns when the server no longer shows
// them: open branches are rolled back, prepared ones stay. It waits for statements in flight until ctx ends, and then
// cuts them off. A server that does not answer when it is asked for one session is not asked for the others. Later calls
// of Take fail.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	sessions := make([]*Session, 0, len(p.all))
	for s := range p.all {
		sessions = append(sessions, s)
	}
	clear(p.all)
	clear(p.idle)
	p.mu.Unlock()

	var problems []error
	for _, s := range sessions {
		stop := context.AfterFunc(ctx, s.interrupt)
		s.shut()
		stop()
	}
	silent := 0
	for _, s := range sessions {
		if silent == 0 {
			err := p.awaitEnd(ctx, s)
			problems = append(problems, err)
			var silence *noAnswerError
			if errors.As(err, &silence) {
				silent = 1
			}
		} else {
			silent++
		}
		p.free(s.mark)
	}
	if silent > 1 {
		problems = append(problems, fmt.Errorf("server %s was not asked for %d more sessions", p.server.address, silent-1))
	}
	return listed(problems...)
}

// Sessions is how many sessions are open, idle, taken or being opened.
func (p *Pool) Sessions() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all) + p.opening
}

func (p *Pool) free(m Mark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.marks, m)
}

// claim notes m as ours, unless another session of this pool has it.
func (p *Pool) claim(m Mark) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, taken := p.marks[m]; taken {
		return false
	}
	p.marks[m] = struct{}{}
	return true
}
