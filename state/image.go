package state

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"
)

// maxKept bounds how many decisions are kept of one job. Few are needed: at most two are accepted and not wholly
// committed at a time.
const maxKept = 1024

// image is all that a store keeps of one job. Its methods are the rules of a store, without one: they decide and
// change nothing.
type image struct {
	epoch uint64
	run   uuid.UUID
	kept  []Decision // by number, the newest last
}

func (m image) last() *Decision {
	if len(m.kept) == 0 {
		return nil
	}
	return new(m.kept[len(m.kept)-1])
}

func (m image) info() Info { return Info{Epoch: m.epoch, Run: m.run, Last: m.last()} }

// claimable gives the epoch that r is to have. An error matches ErrFenced where r.After is not the epoch held.
func (m image) claimable(job string, r ClaimRequest) (uint64, error) {
	if r.After != nil && *r.After != m.epoch {
		return 0, fmt.Errorf("%w: claim job %q after epoch %d: epoch %d is held, by run %s: look again at who owns the job",
			ErrFenced, job, *r.After, m.epoch, m.run)
	}
	above := max(m.epoch, r.Floor)
	if above == math.MaxUint64 {
		return 0, fmt.Errorf("claim job %q: there is no epoch above %d", job, above)
	}
	return above + 1, nil
}

// accepts tells whether c may write d, and gives its stored form. repeat means that d is stored already. Errors are
// those of Claim.Commit that are definite.
func (m image) accepts(c *claim, d Decision) (encoded []byte, repeat bool, err error) {
	if m.epoch != c.epoch {
		return nil, false, fmt.Errorf("%w: decision %d of job %q under epoch %d: epoch %d is held, by run %s: "+
			"this process must stop, and leave every branch as it is", ErrFenced, d.Number, c.job, c.epoch, m.epoch, m.run)
	}
	switch {
	case d.Job != c.job:
		return nil, false, fmt.Errorf("%w: it is of job %q and the claim is of job %q", ErrRefused, d.Job, c.job)
	case d.Store != c.store:
		return nil, false, fmt.Errorf("%w: decision %d of job %q is for store %s and this is store %s",
			ErrRefused, d.Number, d.Job, d.Store, c.store)
	case d.Epoch != c.epoch:
		return nil, false, fmt.Errorf("%w: decision %d of job %q has epoch %d and the claim has %d",
			ErrRefused, d.Number, d.Job, d.Epoch, c.epoch)
	}
	if encoded, err = Encode(d); err != nil {
		return nil, false, err
	}
	number := uint64(0)
	if last := m.last(); last != nil {
		number = last.Number
		stored, err := Encode(*last)
		if err != nil {
			return nil, false, err
		}
		if bytes.Equal(encoded, stored) {
			return encoded, true, nil
		}
	}
	if d.Number != number+1 {
		return nil, false, fmt.Errorf("%w: job %q is at decision %d and this one is number %d, not %d or an equal repeat",
			ErrRefused, d.Job, number, d.Number, number+1)
	}
	if n := len(m.with(d).kept); n > maxKept {
		return nil, false, fmt.Errorf("%w: decision %d of job %q: %d decisions would have to be kept, the limit is %d: "+
			"no branch was proven committed for long", ErrRefused, d.Number, d.Job, n, maxKept)
	}
	return encoded, false, nil
}

// with is m after d was accepted: d is the newest, and what going back cannot need any more is gone.
//
// Kept are the decisions from the newest wholly committed one on, and in addition those before it that a later one
// names as its predecessor: going back walks along predecessors, and what it wrote follows a decision older than its
// neighbour. Where d records none as whole, it is the oldest that is kept if it has nothing pending; else all stay.
func (m image) with(d Decision) image {
	from := d.Whole
	if from == 0 && len(d.Pending) == 0 {
		from = d.Number
	}
	all := append(slices.Clone(m.kept), d)
	predecessor := map[uint64]bool{}
	for _, k := range all {
		if k.Number > from {
			predecessor[k.Predecessor] = true
		}
	}
	m.kept = slices.DeleteFunc(all, func(k Decision) bool { return k.Number < from && !predecessor[k.Number] })
	return m
}
