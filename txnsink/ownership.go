package txnsink

import (
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
)

// held remembers, for the life of the process, under which epoch it last owned each job of each store. A restart inside
// the process is a new claim only if that epoch is still the newest, and a job that the process was fenced from is
// never claimed by it again (rule 8): whoever took it over may be running.
var held = ownership{jobs: map[jobKey]tenure{}}

type ownership struct {
	mu   sync.Mutex
	jobs map[jobKey]tenure
}

type jobKey struct {
	store   uuid.UUID
	job     string
	process uint64 // of a simulation; 0 for the one that this is
}

type tenure struct {
	epoch  uint64
	open   bool // a sink of this process has it now
	fenced bool
}

// take reserves the job for one sink. after is the epoch that must still be the newest, nil when this process never
// claimed the job. It must be followed by release.
func (o *ownership) take(k jobKey) (after *uint64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.jobs[k]
	switch {
	case t.fenced:
		return nil, fmt.Errorf("job %s: this process lost it to a newer owner before and does not take it back; start a new process if the other one is gone: %w",
			k.job, ErrFenced)
	case t.open:
		return nil, fmt.Errorf("job %s: a sink of this process has it open; close that first", k.job)
	}
	if t.epoch > 0 {
		after = &t.epoch
	}
	t.open = true
	o.jobs[k] = t
	return after, nil
}

func (o *ownership) claimed(k jobKey, epoch uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.jobs[k]
	t.epoch = epoch
	o.jobs[k] = t
}

// release ends the reservation. An err that means fenced makes it the last one.
func (o *ownership) release(k jobKey, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.jobs[k]
	t.open = false
	t.fenced = t.fenced || isFenced(err)
	o.jobs[k] = t
}

// fenced remembers at once that the job has a newer owner.
func (o *ownership) fenced(k jobKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.jobs[k]
	t.fenced = true
	o.jobs[k] = t
}

func isFenced(err error) bool {
	return errors.Is(err, state.ErrFenced) || errors.Is(err, ledger.ErrFenced)
}
