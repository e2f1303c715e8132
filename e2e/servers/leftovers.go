package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Leftovers say which servers Remove removes. The zero value is what runs of
// this clone of the repository left that died, and what such runs of a clone
// left that is not there any more.
type Leftovers struct {
	// Kept removes also what was started with Options.Keep.
	Kept bool
	// All removes what runs of other clones left as well.
	All bool
}

// Remove removes servers that earlier runs left. log gets a line for each.
func Remove(ctx context.Context, which Leftovers, log io.Writer) error {
	errs := []error{removeProcesses(log, which)}
	if e, err := connectEngine(ctx); err == nil { // without an engine there are no containers
		errs = append(errs, e.removeContainers(ctx, log, which), e.close())
	}
	return errors.Join(errs...)
}

// removeProcesses removes the local servers that which includes. Only
// directories of this user are looked at.
func removeProcesses(log io.Writer, which Leftovers) error {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), dirPattern))
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range dirs {
		owner, err := os.ReadFile(filepath.Join(dir, fileOwner))
		if err != nil { // not ours, or just being made
			continue
		}
		clone, _ := os.ReadFile(filepath.Join(dir, fileClone))
		_, err = os.Stat(filepath.Join(dir, fileKeep))
		if !which.include(mark{string(owner), string(clone), err == nil}) {
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

// mark is what a server carries, so that later processes know what to do with
// it.
type mark struct {
	owner string // the process that started it, as owner.String
	clone string // the repository that the process was built from; "" if it did not tell
	keep  bool   // it is to outlive its owner
}

// include decides whether a server is to be removed.
func (l Leftovers) include(m mark) bool {
	owner, known := parseOwner(m.owner)
	switch {
	case m.keep && !l.Kept, !m.keep && !(known && owner.dead()):
		return false
	case l.All || m.clone == clone():
		return true
	case m.keep || m.clone == "":
		return false
	}
	// Nobody but others can clear up for a clone that was deleted. Its owner is
	// dead, which is known of processes of this machine alone, so that the path
	// means what it says.
	_, err := os.Stat(m.clone)
	return errors.Is(err, fs.ErrNotExist)
}
