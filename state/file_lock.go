package state

import (
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	lockPoll       = 20 * time.Millisecond
	minLockTimeout = 60 * time.Millisecond // bbolt takes 0 for no limit, and less than 50 ms for no time at all
)

// errHeld is the error of a lock that another holds.
var errHeld = errors.New("the lock is held")

// locked is the error of a file whose lock was not given in time.
func (f *File) locked() error {
	by := ""
	if info, err := os.Stat(f.path); err == nil {
		by = holder(info)
	}
	if by == "" {
		by = "which one could not be found out"
	}
	return fmt.Errorf("%w: %s: %s (waited %s): stop it, or give this job a file of its own",
		ErrLocked, f.path, by, max(f.options.LockTimeout, 0))
}

// waitForLock tries until try gives another error than busy, or timeout is over; then errHeld.
func waitForLock(timeout time.Duration, busy error, try func() error) error {
	deadline := time.Now().Add(timeout)
	for {
		err := try()
		if !errors.Is(err, busy) {
			return err
		}
		if time.Now().After(deadline) {
			return errHeld
		}
		<-time.After(lockPoll)
	}
}

// describe is the process pid for people.
func describe(pid int, command string) string {
	if pid == os.Getpid() {
		return fmt.Sprintf("this process itself (%d) has it open", pid)
	}
	return fmt.Sprintf("process %d (%s) holds it", pid, command)
}
