package fault

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// FailAt answers with err when p is reached for the nth time, counted from 1, and with nil before and after that;
// with nth 0 it answers with err each time. err nil stands for an [Error] that names the point.
func FailAt(p Point, nth int, err error) Injector { return failAt(Place{p, nth}, err) }

// KillAt ends the process by SIGKILL when p is reached for the nth time, counted from 1; nth 0 is the first time. No
// deferred call, no buffer and no other goroutine gets a chance, as in a crash.
func KillAt(p Point, nth int) Injector { return killAt(Place{p, nth}) }

// DelayAt holds the caller for d when p is reached for the nth time, counted from 1; with nth 0 each time. A context
// that ends meanwhile ends the wait, and its cause is the answer.
func DelayAt(p Point, nth int, d time.Duration) Injector { return delayAt(Place{p, nth}, d) }

func failAt(at Place, err error) *trigger {
	return &trigger{Entry: Entry{Action: actionFail, Place: at}, fire: func(_ context.Context, p Point) error {
		if err == nil {
			return &Error{Point: p}
		}
		return err
	}}
}

func killAt(at Place) *trigger {
	return &trigger{Entry: Entry{Action: actionKill, Place: at}, fire: killSelf}
}

func delayAt(at Place, d time.Duration) *trigger {
	return &trigger{Entry: Entry{Action: actionDelay, Delay: d, Place: at}, fire: func(ctx context.Context, _ Point) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}}
}

// trigger acts at one place.
type trigger struct {
	Entry
	fire    func(context.Context, Point) error
	reached atomic.Int64
}

func (t *trigger) At(ctx context.Context, p Point) error {
	if !t.due(p) {
		return nil
	}
	return t.fire(ctx, p)
}

// due counts p, and tells whether it is time to act.
func (t *trigger) due(p Point) bool {
	if t.Place.Point != p && t.Place.Point != (Point{}) {
		return false
	}
	n := t.reached.Add(1)
	return t.Place.Nth == 0 || n == int64(t.Place.Nth)
}

// killSelf does not return: the signal is asynchronous, so the caller is held back until it has arrived.
func killSelf(context.Context, Point) error {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		return fmt.Errorf("fault: the process could not kill itself: %w", err)
	}
	select {}
}

// All is several injectors in one. At a point each is asked in turn; the first error is the answer, and those behind
// it are not asked.
func All(injectors ...Injector) Injector { return all(injectors) }

type all []Injector

func (a all) At(ctx context.Context, p Point) error {
	for _, in := range a {
		if err := in.At(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (a all) String() string {
	parts := make([]string, len(a))
	for i, in := range a {
		parts[i] = in.String()
	}
	return strings.Join(parts, ",")
}
