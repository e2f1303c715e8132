package demo

import (
	"fmt"

	"github.com/xasink/xasink/e2e/demo/flights"
	"github.com/xasink/xasink/e2e/servers"
)

// stage is one life of the worker.
type stage struct {
	faults string // "" for the last one, which finishes
	moment string // when it is killed, in words
	// recovers checks what the *next* life must find, and says what is wrong.
	recovers func(flights.Opening) error
}

// plan is how a flavour's server is loaded. On a server that detaches branches a checkpoint has several branches of
// flights and one of totals; on the other kind one of each.
type plan struct {
	writeRows, checkpointWrites int
	segmentRows                 int64
	stages                      []stage
}

// planFor counts with the order of things: each life takes a checkpoint per 4,000 rows; an opening commits what the life
// before it decided.
func planFor(flavour servers.Flavour) plan {
	p := plan{writeRows: 500, checkpointWrites: 8, segmentRows: 1000}
	prepares, branches := 7, 5
	if flavour == servers.MariaDB {
		p.segmentRows = 100_000
		prepares, branches = 3, 2
	}
	p.stages = []stage{
		{
			faults: fmt.Sprintf("kill@after:xa-prepare#%d", prepares),
			moment: "after a PREPARE",
			recovers: func(o flights.Opening) error {
				if o.RolledBack < 1 || o.Committed != 0 {
					return fmt.Errorf("branches that were prepared and never decided must be rolled back, and none committed")
				}
				return nil
			},
		},
		{
			faults: "kill@after:decision-write#3",
			moment: "after a decision",
			recovers: func(o flights.Opening) error {
				if o.Committed != branches || o.RolledBack != 0 {
					return fmt.Errorf("all %d branches that were decided must be committed", branches)
				}
				return nil
			},
		},
		{
			faults: fmt.Sprintf("kill@after:xa-commit#%d", branches+1),
			moment: "between two COMMITs",
			recovers: func(o flights.Opening) error {
				if o.Already < 1 || o.Committed < 1 || o.Already+o.Committed != branches {
					return fmt.Errorf("of %d branches some must be found committed already, and the others be committed now", branches)
				}
				return nil
			},
		},
		{},
	}
	return p
}
