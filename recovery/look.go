package recovery

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// Bounds in which Look searches for owner marks of a job that the ledger does not know.
const (
	UnknownLanes uint32 = 64
	UnknownMarks uint32 = 4
)

// View is what a server and its ledger know of a job before anybody claims it.
type View struct {
	Name     string          // of the job
	Address  string          // of the server
	Ledger   string          // name of the ledger's database
	Job      *ledger.Job     // the job row; nil: the ledger knows nothing
	Prepared []xa.XID        // every prepared branch on the server, ours and others'
	Marks    []xa.MarkHolder // live owner marks of the job
	Identity xa.Identity     // of the server and its start
}

// Look reads what the server and its ledger know of job. It creates, kills and changes nothing. ctx bounds all of it.
// Errors: ledger.ErrNewer, xa.ErrNoRecoverPrivilege, and whatever keeps a read from being made.
func Look(ctx context.Context, server *xa.Server, l ledger.Ledger, job string) (View, error) {
	fail := func(err error) (View, error) {
		return View{}, fmt.Errorf("looking what server %s knows of job %s: %w", server.Address(), job, err)
	}
	if err := xa.CheckJob(job); err != nil {
		return View{}, err
	}
	v := View{Name: job, Address: server.Address(), Ledger: l.Database()}
	var err error
	if v.Identity, err = server.Identify(ctx, server.DB()); err != nil {
		return fail(err)
	}
	if v.Job, err = l.Job(ctx, server.DB(), job); err != nil {
		return fail(err)
	}
	lanes, marks := UnknownLanes, UnknownMarks
	if v.Job != nil {
		lanes, marks = v.Job.Lanes, v.Job.Marks
	}
	if v.Marks, err = server.Holders(ctx, job, lanes, marks); err != nil {
		return fail(err)
	}
	if v.Prepared, err = server.Scan(ctx, server.DB()); err != nil {
		return fail(err)
	}
	return v, nil
}

// Branches are the prepared branches of the job.
func (v View) Branches() []xa.ID { return ours(v.Prepared, v.Name) }

// Check compares the view with a store and what it knows of the job (Store.Peek). nil: the job may be claimed. Else
// the opening ends here. It is pure.
func (v View) Check(store uuid.UUID, info state.Info) *Stop {
	stop := &Stop{Job: v.Name, Server: v.Address, Row: v.Job}
	switch {
	case v.Job != nil && v.Job.Store != store:
		stop.Kind = StopOtherStore
		stop.Reason = fmt.Sprintf("the server knows the job as owned by store %s (epoch %d, run %s), and ours is %s%s: either "+
			"another installation uses this job name, or the state file was deleted, moved or replaced",
			v.Job.Store, v.Job.Epoch, v.Job.Run, store, neverClaimed(info))
		stop.Ways = []Way{
			{What: "if another installation runs the job: give one of the two another job name"},
			{What: fmt.Sprintf("if the state file was moved or replaced: put the one with id %s back", v.Job.Store)},
			wayLook(v.Name, v.Ledger),
			wayAdopt(v.Name, "if that state is gone for good"),
			wayReset(v.Name, "if it is gone and every table can be written again from the start"),
		}
	case v.Job != nil && v.Job.Epoch > info.Epoch:
		stop.Kind = StopOldStore
		stop.Reason = fmt.Sprintf("the server knows epoch %d of this store (run %s), and the store itself knows no more than %d: "+
			"an old copy of the state file was put back", v.Job.Epoch, v.Job.Run, info.Epoch)
		stop.Ways = []Way{
			{What: "put the newest copy of the state file back"},
			wayLook(v.Name, v.Ledger),
			wayAdopt(v.Name, "if the newest copy is gone"),
			wayReset(v.Name, "if it is gone and every table can be written again from the start"),
		}
	case v.later(info.Epoch) != nil:
		stop.Kind = StopLaterBranch
		stop.Branches = v.later(info.Epoch)
		stop.Reason = fmt.Sprintf("%s prepared under a later claim than any that the store knows (%d%s): another installation "+
			"uses this job name with another ledger, or the state file and the ledger are both gone or old",
			count(len(stop.Branches), "branch is", "branches are"), info.Epoch, neverClaimed(info))
		stop.Ways = []Way{
			{What: "put state file and ledger back as they were, and see that every installation of this server names the same ledger database"},
			wayLook(v.Name, v.Ledger),
			wayAdopt(v.Name, "if they are gone for good"),
			wayReset(v.Name, "if they are gone and every table can be written again from the start"),
		}
	case v.Job == nil && len(v.Marks) > 0:
		stop.Kind = StopUnknownOwner
		stop.Sessions = v.Marks
		stop.Reason = fmt.Sprintf("%s of an owner of this job, and the ledger %s does not know the job: another installation "+
			"uses this job name with another ledger, or the ledger was deleted",
			count(len(v.Marks), "live session is", "live sessions are"), quoted(v.Ledger))
		stop.Ways = []Way{
			{What: "see that every installation of this server names the same ledger database, or give one of them another job name"},
			{What: "if they are what is left of a dead process: end them, then open the job", SQL: kills(v.Marks)},
		}
	default:
		return nil
	}
	return stop
}

// Floor is the highest epoch seen; a claim must be above it.
func (v View) Floor() uint64 {
	floor := uint64(0)
	if v.Job != nil {
		floor = v.Job.Epoch
	}
	for _, id := range v.Branches() {
		floor = max(floor, id.Epoch)
	}
	return floor
}

// later are the prepared branches of the job of an epoch above the given one.
func (v View) later(epoch uint64) []xa.ID {
	var later []xa.ID
	for _, id := range v.Branches() {
		if id.Epoch > epoch {
			later = append(later, id)
		}
	}
	return later
}

func neverClaimed(info state.Info) string {
	if info.Epoch == 0 {
		return ", which never claimed the job"
	}
	return ""
}

func kills(holders []xa.MarkHolder) []string {
	statements := make([]string, len(holders))
	for i, h := range holders {
		statements[i] = fmt.Sprintf("KILL CONNECTION %d", h.Session)
	}
	return statements
}

// Remaining are the branches of job that are prepared on the server, for the end of a job: exit 0 only where there is
// none.
func Remaining(ctx context.Context, server *xa.Server, job string) ([]xa.ID, error) {
	found, err := server.Scan(ctx, server.DB())
	if err != nil {
		return nil, fmt.Errorf("looking for prepared branches of job %s on server %s: %w", job, server.Address(), err)
	}
	return ours(found, job), nil
}
