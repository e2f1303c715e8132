package state

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/xa"
)

// Memory is a store that lives in memory, for tests and for simulation. It holds any number of jobs, keeps to every
// rule of Store, and holds decisions in their stored form, so that one that cannot be stored is refused here as well.
// It is safe for use by several goroutines. What it holds is lost with the process.
type Memory struct {
	id     uuid.UUID
	faults fault.Injector

	mu     sync.Mutex
	jobs   map[string]*memoryJob
	closed bool
}

type memoryJob struct {
	epoch   uint64
	run     uuid.UUID
	encoded map[uint64][]byte // by number
}

var _ Store = (*Memory)(nil)

// MemoryOption changes what NewMemory gives.
type MemoryOption func(*Memory)

// WithFaults lets in act before and after Claim, DecisionRead and DecisionWrite. An error that it answers after
// DecisionWrite leaves the decision stored and Commit in doubt.
func WithFaults(in fault.Injector) MemoryOption { return func(m *Memory) { m.faults = in } }

// NewMemory gives an empty store with an ID of its own.
func NewMemory(options ...MemoryOption) *Memory {
	m := &Memory{id: uuid.New(), jobs: map[string]*memoryJob{}}
	for _, option := range options {
		option(m)
	}
	return m
}

// ID of the store.
func (m *Memory) ID() uuid.UUID { return m.id }

// Peek reads what is known of job.
func (m *Memory) Peek(ctx context.Context, job string) (Info, error) {
	return peek(ctx, m.faults, job, func() (image, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.load(job)
	})
}

// Claim takes ownership of job.
func (m *Memory) Claim(ctx context.Context, job string, r ClaimRequest) (Claim, error) {
	if err := xa.CheckJob(job); err != nil {
		return nil, err
	}
	c := &claim{job: job, store: m.id, faults: m.faults, write: m.write}
	return c.take(ctx, func() (image, error) { return m.take(job, r) })
}

// Close makes every claim dead and every further call an error. It forgets nothing until the process ends.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

func (m *Memory) take(job string, r ClaimRequest) (image, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held, err := m.load(job)
	if err != nil {
		return image{}, err
	}
	if held.epoch, err = held.claimable(job, r); err != nil {
		return image{}, err
	}
	held.run = r.Run
	kept, known := m.jobs[job]
	if !known {
		kept = &memoryJob{encoded: map[uint64][]byte{}}
		m.jobs[job] = kept
	}
	kept.epoch, kept.run = held.epoch, held.run
	return held, nil
}

func (m *Memory) write(c *claim, d Decision) ([]Decision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held, err := m.load(c.job)
	if err != nil {
		return nil, doubt(d, err)
	}
	encoded, repeat, err := held.accepts(c, d)
	if err != nil || repeat {
		return held.kept, err
	}
	stored, err := Decode(encoded)
	if err != nil {
		return nil, err
	}
	next := held.with(stored)
	kept := map[uint64][]byte{d.Number: encoded}
	for _, k := range next.kept[:len(next.kept)-1] {
		kept[k.Number] = m.jobs[c.job].encoded[k.Number]
	}
	m.jobs[c.job].encoded = kept
	return next.kept, nil
}

// load reads what is held of job; it makes nothing.
func (m *Memory) load(job string) (image, error) {
	if m.closed {
		return image{}, fmt.Errorf("the store of job %q is closed", job)
	}
	kept, known := m.jobs[job]
	if !known {
		return image{}, nil
	}
	held := image{epoch: kept.epoch, run: kept.run}
	for _, number := range slices.Sorted(maps.Keys(kept.encoded)) {
		d, err := Decode(kept.encoded[number])
		if err != nil {
			return image{}, err
		}
		held.kept = append(held.kept, d)
	}
	return held, nil
}
