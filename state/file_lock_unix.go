//go:build unix && !solaris && !aix

package state

import (
	"os"
	"syscall"
	"time"
)

// lock takes the same lock as bbolt will: taken before, it also covers what is read before bbolt opens the file.
func lock(file *os.File, timeout time.Duration) error {
	return waitForLock(timeout, syscall.EWOULDBLOCK, func() error {
		return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	})
}

func unlock(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }

// syncDirectory makes a new name in directory last.
func syncDirectory(directory string) error {
	d, err := os.Open(directory)
	if err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		_ = d.Close()
		return err
	}
	return d.Close()
}
