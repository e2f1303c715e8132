package recovery

import "github.com/google/uuid"

// Lane numbers of sessions. Writers' lanes begin at FirstLane.
const (
	LaneRecovery  uint32 = 0
	LaneCommitter uint32 = 1
	FirstLane     uint32 = 2
)

// Owner is a claim: who may send XA verbs for a job.
type Owner struct {
	Job   string
	Store uuid.UUID
	Run   uuid.UUID
	Epoch uint64
}
