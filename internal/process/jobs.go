package process

import (
	"sync"

	"github.com/google/uuid"
)

// Key is a job of a store, in one simulated process.
type Key struct {
	Store   uuid.UUID
	Job     string
	Process uint64 // see [Of]
}

// Jobs remembers, for the life of the process, under which epoch it last owned each job of each store. A restart inside
// the process is a new claim only if that epoch is still the newest, and a job that the process was fenced from is
// never claimed by it again (rule 8): whoever took it over may be running.
var Jobs = Tenures{jobs: map[Key]tenure{}}

// Tenures is what a process remembers of its jobs. All methods may be called from any goroutine.
type Tenures struct {
	mu   sync.Mutex
	jobs map[Key]tenure
}

type tenure struct {
	epoch  uint64
	open   bool // somebody in this process has it now
	fenced bool
}

// Refusal is why a job cannot be taken.
type Refusal uint8

// The refusals.
const (
	Free   Refusal = iota // it can be taken
	Open                  // somebody in this process has it open
	Fenced                // this process lost it to a newer owner
)

// Take reserves the job for one owner in this process. after is the epoch that must still be the newest, nil when this
// process never claimed the job. A Take that gave Free must be followed by Release.
func (t *Tenures) Take(k Key) (after *uint64, r Refusal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.jobs[k]
	switch {
	case now.fenced:
		return nil, Fenced
	case now.open:
		return nil, Open
	}
	if now.epoch > 0 {
		after = &now.epoch
	}
	now.open = true
	t.jobs[k] = now
	return after, Free
}

// Claimed notes that the owner in this process claimed the job.
func (t *Tenures) Claimed(k Key, epoch uint64) {
	t.change(k, func(now *tenure) { now.epoch = epoch })
}

// Adopted notes that an operator had this process take the job over, whoever had it before.
func (t *Tenures) Adopted(k Key, epoch uint64) {
	t.change(k, func(now *tenure) { now.epoch, now.fenced = epoch, false })
}

// Fenced notes at once that the job has a newer owner. It stays so for the life of the process.
func (t *Tenures) Fenced(k Key) {
	t.change(k, func(now *tenure) { now.fenced = true })
}

// Forget makes the next Take one of a process that never claimed the job: the store that it was claimed in turned out
// to be an old copy, and another copy may take its place.
func (t *Tenures) Forget(k Key) {
	t.change(k, func(now *tenure) { now.epoch = 0 })
}

// Release ends the reservation.
func (t *Tenures) Release(k Key) {
	t.change(k, func(now *tenure) { now.open = false })
}

func (t *Tenures) change(k Key, change func(*tenure)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.jobs[k]
	change(&now)
	t.jobs[k] = now
}
