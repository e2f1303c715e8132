package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/xa"
)

// Job is a job row: what the server knows of a job's owner.
type Job struct {
	Name    string
	Store   uuid.UUID // id of the state store that owns the job
	Run     uuid.UUID // process run of the owner, for people
	Epoch   uint64    // the owner's claim
	Lanes   uint32    // lane numbers ever in use are below this
	Marks   uint32    // owner mark numbers within a lane ever in use are below this
	Server  string    // xa.Identity.Name of the server when the row was raised
	Started time.Time // start of that server process; UTC, microseconds
}

// sameClaim tells whether both rows are of one claim by one run.
func (j Job) sameClaim(o Job) bool {
	return j.Name == o.Name && j.Store == o.Store && j.Run == o.Run && j.Epoch == o.Epoch
}

const jobsFields = "`job`, `store`, `epoch`, `run`, `lanes`, `marks`, `server`, `server_started`, `format`"

// startedLayout is the text form of server_started in both directions; the column has no time zone, its value is UTC.
const startedLayout = "2006-01-02 15:04:05.000000"

// Job reads the job row of name. nil without an error: the ledger knows nothing of the job, because it has no such
// row, or the table or the database does not exist.
func (l Ledger) Job(ctx context.Context, q xa.Queryer, name string) (job *Job, err error) {
	if err := xa.CheckJob(name); err != nil {
		return nil, err
	}
	err = l.effect(ctx, fault.LedgerRead, func(ctx context.Context) (err error) {
		job, err = l.readJob(ctx, q, name, "")
		return err
	})
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, l.explain(ctx, q, fmt.Sprintf("read the job row of %s in %s", name, l.table(jobsTable)), err)
	}
	return job, nil
}

// readJob is nil where there is no row. name has passed xa.CheckJob; lock is appended to the statement.
func (l Ledger) readJob(ctx context.Context, q xa.Queryer, name, lock string) (job *Job, err error) {
	rows, err := q.QueryContext(ctx, "SELECT `store`, `epoch`, `run`, `lanes`, `marks`, `server`, "+
		"DATE_FORMAT(`server_started`, '%Y-%m-%d %H:%i:%s.%f'), `format` FROM "+l.table(jobsTable)+
		" WHERE `job` = '"+name+"'"+lock)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if !rows.Next() {
		return nil, rows.Err()
	}
	var store, run, started string
	var format uint16
	j := Job{Name: name}
	if err := rows.Scan(&store, &j.Epoch, &run, &j.Lanes, &j.Marks, &j.Server, &started, &format); err != nil {
		return nil, err
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if format > FormatVersion {
		return nil, fmt.Errorf("the row has format %d, this version of xasink knows formats up to %d: use the newer "+
			"version of xasink: %w", format, FormatVersion, ErrNewer)
	}
	if j.Store, err = uuid.Parse(store); err != nil {
		return nil, fmt.Errorf("store id %q: %w", store, err)
	}
	if j.Run, err = uuid.Parse(run); err != nil {
		return nil, fmt.Errorf("run id %q: %w", run, err)
	}
	if j.Started, err = time.Parse(startedLayout, started); err != nil {
		return nil, fmt.Errorf("start of the server %q: %w", started, err)
	}
	return &j, nil
}

// Raise makes next the job row, on condition that the row still is as it was looked at: looked nil inserts it, else
// store, epoch and run of the row must equal looked's. Bounds are never lowered. next.Epoch must be above
// looked.Epoch.
//
// A Raise whose answer was lost may be repeated with the same next: where the row already is next's (store, epoch and
// run) it succeeds. Errors: ErrFenced when somebody else was faster; ErrAbsent; ErrPrivilege.
func (l Ledger) Raise(ctx context.Context, q xa.Queryer, looked *Job, next Job) error {
	doing := fmt.Sprintf("raise the job row of %s in %s to epoch %d", next.Name, l.table(jobsTable), next.Epoch)
	if err := next.check(looked); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	err := l.effect(ctx, fault.LedgerRaise, func(ctx context.Context) error { return l.raise(ctx, q, looked, next) })
	return l.explain(ctx, q, doing, err)
}

func (j Job) check(looked *Job) error {
	switch {
	case xa.CheckJob(j.Name) != nil:
		return xa.CheckJob(j.Name)
	case j.Store == uuid.Nil, j.Run == uuid.Nil:
		return errors.New("store and run must be set")
	case j.Epoch == 0:
		return errors.New("epochs count from 1")
	case looked != nil && looked.Name != j.Name:
		return fmt.Errorf("the row looked at is of job %s", looked.Name)
	case looked != nil && looked.Epoch >= j.Epoch && !looked.sameClaim(j):
		return fmt.Errorf("the row looked at has epoch %d: an epoch is never lowered or used twice", looked.Epoch)
	}
	return nil
}

func (l Ledger) raise(ctx context.Context, q xa.Queryer, looked *Job, next Job) error {
	if looked != nil {
		changed, err := l.updateJob(ctx, q, *looked, next)
		if err != nil || changed {
			return err
		}
	} else {
		err := l.insertJob(ctx, q, next)
		if number(err) != errDuplicate {
			return err
		}
	}
	now, err := l.readJob(ctx, q, next.Name, "")
	switch {
	case err != nil:
		return err
	case now == nil:
		return errors.New("the row was there when it was looked at and is gone now: somebody deleted it; start again")
	case now.sameClaim(next):
		return nil
	}
	return fmt.Errorf("%w: the row changed since it was looked at: it is now of store %s, epoch %d, run %s",
		ErrFenced, now.Store, now.Epoch, now.Run)
}

func (l Ledger) insertJob(ctx context.Context, q xa.Queryer, j Job) error {
	_, err := q.ExecContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) VALUES ('%s', '%s', %d, '%s', %d, %d, %s, '%s', %d)",
		l.table(jobsTable), jobsFields, j.Name, j.Store, j.Epoch, j.Run, j.Lanes, j.Marks, hexText(j.Server),
		j.Started.UTC().Format(startedLayout), FormatVersion))
	return err
}

// updateJob is the compare-and-set. false: no row was changed, which also happens where the row is next's already.
func (l Ledger) updateJob(ctx context.Context, q xa.Queryer, looked, next Job) (bool, error) {
	result, err := q.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET `store` = '%s', `epoch` = %d, `run` = '%s', "+
		"`lanes` = GREATEST(`lanes`, %d), `marks` = GREATEST(`marks`, %d), `server` = %s, `server_started` = '%s', "+
		"`format` = %d WHERE `job` = '%s' AND `store` = '%s' AND `epoch` = %d AND `run` = '%s'",
		l.table(jobsTable), next.Store, next.Epoch, next.Run, next.Lanes, next.Marks, hexText(next.Server),
		next.Started.UTC().Format(startedLayout), FormatVersion,
		looked.Name, looked.Store, looked.Epoch, looked.Run))
	if err != nil {
		return false, err
	}
	return changedOne(result)
}

func changedOne(result sql.Result) (bool, error) {
	n, err := result.RowsAffected()
	return n == 1, err
}

// Admit reads the job row and compares it with an owner's claim. ErrFenced: the row names another store or a higher
// epoch. A row that is missing, or whose epoch is lower, is an error of its own: the claim was never raised here.
func (l Ledger) Admit(ctx context.Context, q xa.Queryer, job string, store uuid.UUID, epoch uint64) error {
	if err := xa.CheckJob(job); err != nil {
		return err
	}
	err := l.effect(ctx, fault.LedgerRead, func(ctx context.Context) error { return l.checkClaim(ctx, q, job, store, epoch, "") })
	return l.explain(ctx, q, fmt.Sprintf("compare the claim of job %s, epoch %d, with its row in %s", job, epoch,
		l.table(jobsTable)), err)
}

func (l Ledger) checkClaim(ctx context.Context, q xa.Queryer, job string, store uuid.UUID, epoch uint64, lock string) error {
	row, err := l.readJob(ctx, q, job, lock)
	switch {
	case err != nil:
		return err
	case row == nil:
		return errors.New("the job has no row: it was deleted while the job runs, or the ledger is another one; start again")
	case row.Store != store:
		return fmt.Errorf("%w: the row names store %s, ours is %s: another installation took the job over",
			ErrFenced, row.Store, store)
	case row.Epoch > epoch:
		return fmt.Errorf("%w: the row has epoch %d, run %s", ErrFenced, row.Epoch, row.Run)
	case row.Epoch < epoch:
		return fmt.Errorf("the row has epoch %d, below the claim: the claim was never raised on this server, or the "+
			"ledger was restored from a backup; start again", row.Epoch)
	}
	return nil
}
