//go:build !unix || solaris || aix

package state

import (
	"os"
	"time"
)

// lock leaves it to bbolt, which has a way of its own on this system.
func lock(*os.File, time.Duration) error { return nil }

func unlock(*os.File) error { return nil }

// syncDirectory cannot be done on this system; the name of a new file is as safe as the file system makes it.
func syncDirectory(string) error { return nil }
