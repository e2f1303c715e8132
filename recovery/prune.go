package recovery

import (
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// Prunable are the proof rows that may be deleted. kept must be every decision that is still kept, from the newest
// wholly committed one on, oldest first; rows are proof rows of the job that are known to be there, each lane's highest
// among them. A row may go when no kept decision lists it, none names it as a watermark, it is at or below its lane's
// watermark in the oldest kept decision, and it is not the lane's highest. It is pure, and names rows, never "all but".
func Prunable(kept []state.Decision, rows []xa.ID) []ledger.Span { panic("stub") }
