package recovery

import (
	"context"
	"log/slog"
	"time"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// SweepRequest is what Sweep needs.
type SweepRequest struct {
	Server  *xa.Server
	Pool    *xa.Pool
	Ledger  ledger.Ledger
	Owner   Owner
	Current state.Decision // newest definitely accepted decision
	Proven  []state.Lane   // newest proven watermarks, read before the call
	// DetachWait as in Opening: on attached servers only what two scans this far apart both show is rolled back.
	DetachWait time.Duration
	Logger     *slog.Logger // nil discards
}

// Sweep rolls back late orphans: prepared branches of older epochs that the current decision does not list. Branches of
// the own epoch are left alone. What another session still holds is left for the next sweep.
//
// Errors: *Stop (StopFenced for a branch of a higher epoch, StopTakenBack for an unlisted one at or below the newest
// proven watermark of its own epoch and lane); both ErrFenced; *ServerError.
func Sweep(ctx context.Context, r SweepRequest) (rolledBack int, err error) { panic("stub") }
