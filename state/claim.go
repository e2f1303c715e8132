package state

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/xasink/xasink/fault"
)

// claim is the Claim of the stores in this package.
type claim struct {
	job     string
	store   uuid.UUID
	epoch   uint64
	history []Decision
	closed  bool
	faults  fault.Injector
	write   func(c *claim, d Decision) ([]Decision, error) // of the store: accepts d or not, and tells what is kept then
}

var _ Claim = (*claim)(nil)

func (c *claim) Epoch() uint64       { return c.epoch }
func (c *claim) Last() *Decision     { return image{kept: c.history}.last() }
func (c *claim) History() []Decision { return slices.Clone(c.history) }

func (c *claim) Commit(ctx context.Context, d Decision) error {
	if c.closed {
		return doubt(d, "the claim is closed")
	}
	if err := reach(ctx, c.faults, fault.Before(fault.DecisionWrite)); err != nil {
		return doubt(d, err)
	}
	kept, err := c.write(c, d)
	if err != nil {
		return err
	}
	if err := fault.At(ctx, c.faults, fault.After(fault.DecisionWrite)); err != nil {
		return doubt(d, err)
	}
	c.history = kept
	return nil
}

func (c *claim) Close() error {
	c.closed = true
	return nil
}

// doubt is the error of a write of d whose outcome is not known, or that cannot be tried. It matches ErrInDoubt, and
// neither ErrRefused nor ErrUnreadable whatever cause is, for these tell that d is not stored.
func doubt(d Decision, cause any) error {
	return fmt.Errorf("%w: decision %d of job %q: %v: repeat the same write; do nothing with its branches until then",
		ErrInDoubt, d.Number, d.Job, cause)
}

// take gives c what hold answers, which makes the store hold the claim and reads what it keeps, in one step. The faults
// of both stand around that step. An error of theirs after it leaves the claim given, and nobody holding it.
func (c *claim) take(ctx context.Context, hold func() (image, error)) (Claim, error) {
	if err := reach(ctx, c.faults, fault.Before(fault.Claim)); err != nil {
		return nil, fmt.Errorf("claim job %q: %w", c.job, err)
	}
	held, err := hold()
	if err != nil {
		return nil, err
	}
	for _, p := range []fault.Point{
		fault.After(fault.Claim), fault.Before(fault.DecisionRead), fault.After(fault.DecisionRead),
	} {
		if err := fault.At(ctx, c.faults, p); err != nil {
			return nil, fmt.Errorf("claim job %q: epoch %d is used up and not held by this call: %w", c.job, held.epoch, err)
		}
	}
	c.epoch, c.history = held.epoch, held.kept
	return c, nil
}

// peek reads what load answers, with the faults around it.
func peek(ctx context.Context, in fault.Injector, job string, load func() (image, error)) (Info, error) {
	if err := reach(ctx, in, fault.Before(fault.DecisionRead)); err != nil {
		return Info{}, fmt.Errorf("read the state of job %q: %w", job, err)
	}
	held, err := load()
	if err != nil {
		return Info{}, err
	}
	if err := fault.At(ctx, in, fault.After(fault.DecisionRead)); err != nil {
		return Info{}, fmt.Errorf("read the state of job %q: %w", job, err)
	}
	return held.info(), nil
}

// reach is fault.At for a point before which nothing has been done, so that an ended context still stops the call.
func reach(ctx context.Context, in fault.Injector, p fault.Point) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return fault.At(ctx, in, p)
}
