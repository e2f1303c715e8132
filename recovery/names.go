package recovery

import (
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/xa"
)

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

func (o Owner) check() error {
	switch {
	case xa.CheckJob(o.Job) != nil:
		return xa.CheckJob(o.Job)
	case o.Store == uuid.Nil, o.Run == uuid.Nil:
		return errors.New("owner: store and run must be set")
	case o.Epoch == 0:
		return errors.New("owner: epochs count from 1")
	}
	return nil
}

// ours are the branches of job among found, sorted.
func ours(found []xa.XID, job string) []xa.ID {
	var ids []xa.ID
	for _, x := range found {
		if id, ok := x.ID(); ok && id.Job == job {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, xa.ID.Compare)
	return slices.Compact(ids)
}

func isFenced(err error) bool { return errors.Is(err, ledger.ErrFenced) }

// quoted is an SQL identifier in backticks, for messages.
func quoted(identifier string) string { return "`" + strings.ReplaceAll(identifier, "`", "``") + "`" }
