package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// RemoveLeft removes what dead processes left. log gets a line for each.
func RemoveLeft(ctx context.Context, log io.Writer) error { return removeAll(ctx, log, false) }

// RemoveKept removes, beside what RemoveLeft does, the servers that were started
// with Options.Keep, whoever started them.
func RemoveKept(ctx context.Context, log io.Writer) error { return removeAll(ctx, log, true) }

func removeAll(ctx context.Context, log io.Writer, kept bool) error {
	errs := []error{removeProcesses(log, kept)}
	if e, err := connectEngine(ctx); err == nil { // without an engine there are no containers
		errs = append(errs, e.removeContainers(ctx, log, kept), e.close())
	}
	return errors.Join(errs...)
}

// removeProcesses removes the local servers of dead owners, and, if kept, also
// those that were to outlive theirs. Only directories of this user are looked
// at.
func removeProcesses(log io.Writer, kept bool) error {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), dirPattern))
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(dir, fileOwner))
		if err != nil { // not ours, or just being made
			continue
		}
		_, err = os.Stat(filepath.Join(dir, fileKeep))
		if !leftover(string(text), err == nil, kept) {
			continue
		}
		fmt.Fprintf(log, "removing server %s, which an earlier run left\n", dir)
		if pid, runs := pidOf(dir); runs {
			errs = append(errs, syscall.Kill(pid, syscall.SIGKILL))
		}
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

// leftover decides whether a server is to be removed: one that is to outlive
// its owner only if kept asks for those, any other when its owner is dead.
func leftover(ownerText string, keep, kept bool) bool {
	if keep {
		return kept
	}
	o, known := parseOwner(ownerText)
	return known && o.dead()
}
