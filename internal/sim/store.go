package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/state"
)

var errNoStore = errors.New("the store does not answer")

// storage is the store that outlives processes, and what goes wrong with it.
type storage struct {
	inner   *state.Memory
	history *history
	client  *client        // the living process, asked at the store's fault points; nil: none
	writing state.Decision // of the living process, the newest that it wrote
	next    What           // what happens to the next decision's write, 0: nothing
	down    time.Time
	late    []lateWrite
}

// lateWrite is a decision on its way.
type lateWrite struct {
	claim state.Claim
	d     state.Decision
	after bool // it arrives after the next claim, not before it
}

func newStorage(h *history) *storage {
	s := &storage{history: h}
	s.inner = state.NewMemory(state.WithFaults(s))
	return s
}

// At passes the store's fault points on to the process that calls it. What was stored is known before something goes
// wrong behind it.
func (s *storage) At(ctx context.Context, p fault.Point) error {
	if s.client == nil {
		return nil
	}
	switch p {
	case fault.After(fault.Claim):
		s.history.claim(s.peek(ctx))
	case fault.After(fault.DecisionWrite):
		s.history.accept(s.writing)
	}
	return s.client.At(ctx, p)
}

// peek is what the store holds.
func (s *storage) peek(ctx context.Context) state.Info {
	client := s.client
	s.client = nil
	defer func() { s.client = client }()
	info, err := s.inner.Peek(context.WithoutCancel(ctx), job)
	if err != nil {
		s.history.breach(Stuck, "the simulation cannot look into the store: %v", err)
	}
	return info
}

func (s *storage) String() string { return "storage" }

// arrive lets late writes arrive.
func (s *storage) arrive(ctx context.Context, after bool) {
	var left []lateWrite
	client := s.client
	s.client = nil
	for _, l := range s.late {
		if l.after != after {
			left = append(left, l)
			continue
		}
		err := l.claim.Commit(context.WithoutCancel(ctx), l.d)
		s.history.note("the late write of decision %d arrives: %v", l.d.Number, err)
		if err == nil {
			s.history.accept(l.d)
		}
	}
	s.client, s.late = client, left
}

// processStore is the store as one process sees it.
type processStore struct {
	*storage
	process *client
}

func (s *processStore) ID() uuid.UUID { return s.inner.ID() }

func (s *processStore) Close() error { return nil }

// SimulatedProcess makes every life a process of its own.
func (s *processStore) SimulatedProcess() uint64 { return s.process.number }

func (s *processStore) answers() error {
	if s.process.dead {
		return errDead
	}
	if time.Now().Before(s.down) {
		return errNoStore
	}
	return nil
}

func (s *processStore) Peek(ctx context.Context, job string) (state.Info, error) {
	if err := s.answers(); err != nil {
		return state.Info{}, err
	}
	return s.inner.Peek(ctx, job)
}

func (s *processStore) Claim(ctx context.Context, job string, r state.ClaimRequest) (state.Claim, error) {
	if err := s.answers(); err != nil {
		return nil, err
	}
	s.arrive(ctx, false)
	c, err := s.inner.Claim(ctx, job, r)
	if err != nil {
		return nil, err
	}
	s.arrive(ctx, true)
	return &processClaim{Claim: c, store: s}, nil
}

// processClaim is a claim whose decisions may be in doubt.
type processClaim struct {
	state.Claim
	store *processStore
}

// Close leaves the claim alive for writes that come late.
func (c *processClaim) Close() error { return nil }

func (c *processClaim) Commit(ctx context.Context, d state.Decision) error {
	s := c.store
	if err := s.answers(); err != nil {
		return fmt.Errorf("%w: %w", state.ErrInDoubt, err)
	}
	what := s.next
	s.next = 0
	switch what {
	case LostInDoubt:
		return fmt.Errorf("%w: the request was lost", state.ErrInDoubt)
	case LateInDoubt:
		s.late = append(s.late, lateWrite{c.Claim, d, d.Number%2 == 0})
		return fmt.Errorf("%w: the request is late", state.ErrInDoubt)
	default:
	}
	s.writing = d
	err := c.Claim.Commit(ctx, d)
	if err == nil && what == StoredInDoubt {
		return fmt.Errorf("%w: the answer was lost", state.ErrInDoubt)
	}
	return err
}
