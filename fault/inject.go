package fault

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
)

// FailAt answers with err when p is reached for the nth time, counted from 1, and with nil before and after that;
// with nth 0 it answers with err each time. err nil stands for an [Error] that names the point.
func FailAt(p Point, nth int, err error) Injector {
	if err == nil {
		err = &Error{Point: p}
	}
	return &trigger{action: actionFail, point: p, nth: nth, fire: func() error { return err }}
}

// KillAt ends the process by SIGKILL when p is reached for the nth time, counted from 1; nth 0 is the first time. No
// deferred call, no buffer and no other goroutine gets a chance, as in a crash.
func KillAt(p Point, nth int) Injector {
	return &trigger{action: actionKill, point: p, nth: nth, fire: killSelf}
}

const (
	actionFail = "fail"
	actionKill = "kill"
)

// trigger acts at one point.
type trigger struct {
	action  string
	point   Point
	nth     int
	fire    func() error
	reached atomic.Int64
}

func (t *trigger) At(_ context.Context, p Point) error {
	if p != t.point {
		return nil
	}
	if n := t.reached.Add(1); t.nth != 0 && n != int64(t.nth) {
		return nil
	}
	return t.fire()
}

func (t *trigger) String() string {
	if t.nth == 0 {
		return t.action + "@" + t.point.String()
	}
	return fmt.Sprintf("%s@%s#%d", t.action, t.point, t.nth)
}

// killSelf does not return: the signal is asynchronous, so the caller is held back until it has arrived.
func killSelf() error {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		return fmt.Errorf("fault: the process could not kill itself: %w", err)
	}
	select {}
}
