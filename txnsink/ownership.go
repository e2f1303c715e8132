package txnsink

import (
	"errors"
	"fmt"

	"github.com/xasink/xasink/internal/process"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
)

// take reserves the job for one sink of this process. after is the epoch that must still be the newest, nil when this
// process never claimed the job. It must be followed by letGo.
func take(k process.Key) (after *uint64, err error) {
	after, refusal := process.Jobs.Take(k)
	switch refusal {
	case process.Fenced:
		return nil, fmt.Errorf("job %s: this process lost it to a newer owner before and does not take it back; start a new process if the other one is gone: %w",
			k.Job, ErrFenced)
	case process.Open:
		return nil, fmt.Errorf("job %s: a sink of this process has it open; close that first", k.Job)
	case process.Free:
	}
	return after, nil
}

// letGo ends the reservation. An err that means fenced makes it the last one; one that means that the store is an old
// copy makes it as if it had never been.
func letGo(k process.Key, err error) {
	var stop *recovery.Stop
	switch {
	case isFenced(err):
		process.Jobs.Fenced(k)
	case errors.As(err, &stop) && stop.Kind == recovery.StopStoreBehind:
		process.Jobs.Forget(k)
	}
	process.Jobs.Release(k)
}

func isFenced(err error) bool {
	return errors.Is(err, state.ErrFenced) || errors.Is(err, ledger.ErrFenced)
}
