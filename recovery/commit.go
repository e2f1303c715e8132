package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// CommitRequest names one branch that a definitely accepted decision lists, and what is needed to commit it.
type CommitRequest struct {
	Server *xa.Server
	Pool   *xa.Pool
	Lane   uint32 // whose sessions to use: LaneRecovery or LaneCommitter
	Ledger ledger.Ledger
	Owner  Owner
	Bounds state.Bounds // in which owner marks are looked for
	ID     xa.ID
	// Session is the session that prepared the branch and still holds it, on attached servers; nil otherwise. It stays
	// the caller's. After success its state is None, or Broken where it had to be ended; it was discarded then, and to
	// discard it once more does no harm.
	Session    *xa.Session
	DetachWait time.Duration // as in Opening
	Deadline   time.Duration // for all attempts together; 0 is 1 min
	Logger     *slog.Logger  // nil discards
}

// Commit commits one branch and returns nil only with proof that it is committed. The caller owns the claim, and keeps
// the order of commits. ctx is looked at before the first verb; after that the call goes on under its own deadline.
//
// An OK is proof on a detached server and on the session that prepared; elsewhere the ledger is asked. An unknown XID
// is settled by a scan and then the ledger. An outcome in doubt ends its session, waits until it is gone, and repeats.
// Refusals that leave the branch prepared and may pass (1205, 1317, 1290) are repeated with backoff; an answer of
// unknown meaning is repeated twice.
//
// Errors: *LostError when the branch is neither prepared nor proven, or was rolled back by the server; both ErrFenced;
// *ServerError; *Stop for limbo; else an error for which xa.OutcomeOf tells whether the branch is still prepared
// (Refused) or in doubt.
func Commit(ctx context.Context, r CommitRequest) error {
	s, err := settler{
		server: r.Server, pool: r.Pool, lane: r.Lane, ledger: r.Ledger, owner: r.Owner, bounds: r.Bounds,
		detachWait: r.DetachWait, deadline: r.Deadline, log: r.Logger,
	}.withDefaults()
	if err != nil {
		return fmt.Errorf("commit of branch %s: %w", r.ID, err)
	}
	if r.ID.Job != r.Owner.Job {
		return fmt.Errorf("commit of branch %s: it is not of job %s", r.ID, r.Owner.Job)
	}
	return s.commit(ctx, r.ID, r.Session)
}

func (s settler) commit(ctx context.Context, id xa.ID, preparer *xa.Session) error {
	if ctx.Err() != nil {
		return fmt.Errorf("commit of branch %s: nothing was sent: %w",
			id, &xa.Error{Verb: xa.VerbCommit, ID: id.XID(), Outcome: xa.Refused, Server: s.server.Address(), Err: context.Cause(ctx)})
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), s.deadline, errDeadline)
	defer cancel()
	c := &committing{settler: s, id: id, session: preparer, preparer: preparer}
	err := c.run(ctx)
	if c.session != preparer {
		c.giveBack(context.WithoutCancel(ctx), c.session)
	}
	return err
}

// committing is one Commit under way.
type committing struct {
	settler
	id       xa.ID
	session  *xa.Session // to send the next COMMIT on; nil: take a fresh one
	preparer *xa.Session // the caller's, nil where there is none
	last     error       // of the latest attempt
	doubt    error       // of the latest COMMIT after which the branch need not be prepared any more
	unknown  int         // answers of unknown meaning
}

// run repeats attempts until one of them knows the outcome.
func (c *committing) run(ctx context.Context) error {
	for backoff := firstBackoff; ; backoff = longer(backoff) {
		done, err := c.attempt(ctx)
		if done || err != nil {
			return err
		}
		if c.unknown >= unknownAnswers || pause(ctx, backoff) != nil {
			return c.givenUp()
		}
	}
}

// givenUp is the error after the last attempt. Where a COMMIT is in doubt, xa.OutcomeOf finds that one.
func (c *committing) givenUp() error {
	if c.doubt == nil {
		return &xa.Error{Verb: xa.VerbCommit, ID: c.id.XID(), Outcome: xa.Refused, Server: c.server.Address(),
			Err: fmt.Errorf("the branch is still prepared: %w", c.last)}
	}
	return fmt.Errorf("commit of branch %s: %w; what came after it: %s", c.id, c.doubt, errorText(c.last))
}

func errorText(err error) string {
	if err == nil {
		return "nothing"
	}
	return err.Error()
}

// attempt sends one COMMIT. done: it is proven. An error ends the call. Else last says why it has to be repeated.
func (c *committing) attempt(ctx context.Context) (done bool, err error) {
	if c.session == nil {
		if c.session, err = c.pool.Take(ctx, c.lane); err != nil {
			return false, c.note(err)
		}
	}
	held := c.session == c.preparer && c.session.State() == xa.Prepared
	err = c.session.Commit(ctx, c.id.XID())
	var answer *xa.Error
	switch {
	case err == nil && (held || !c.attached()):
		return true, nil
	case err == nil:
		c.doubt = &xa.Error{Verb: xa.VerbCommit, ID: c.id.XID(), Outcome: xa.InDoubt, Server: c.server.Address(),
			Err: errors.New("the server answered OK to a session that did not prepare the branch, which proves nothing")}
		return c.settle(ctx, nil)
	case errors.Is(err, xa.ErrRolledBack):
		c.doubt = err
		return c.settle(ctx, err)
	case xa.OutcomeOf(err) == xa.InDoubt:
		c.last, c.doubt = err, err
		if errors.As(err, &answer) && answer.Number != 0 && !errors.Is(err, xa.ErrUnknownID) && !errors.Is(err, xa.ErrSessionLost) {
			c.unknown++
		}
		if errors.Is(err, xa.ErrUnknownID) && c.session.State() == xa.None {
			return c.settle(ctx, err)
		}
	default:
		c.last = err
	}
	if s := c.session.State(); s != xa.None && s != xa.Prepared {
		return false, c.renew(ctx)
	}
	if errors.As(err, &answer) && answer.Number != 0 {
		c.doubt = nil // a definite answer about the branch itself: it is still prepared
	}
	return false, nil
}

// note keeps an error that is not COMMIT's own for the report, or returns it where it ends the call.
func (c *committing) note(err error) error {
	if fatal(err) {
		if c.doubt != nil {
			return fmt.Errorf("commit of branch %s: %w; before that: %w", c.id, fenced(err), c.doubt)
		}
		return fmt.Errorf("commit of branch %s: %w", c.id, fenced(err))
	}
	c.last = err
	return nil
}

// renew ends the session, waits until it is gone, and on attached servers until its branch is free.
func (c *committing) renew(ctx context.Context) error {
	session := c.session
	c.session = nil
	if err := c.discard(ctx, session); err != nil {
		return c.note(err)
	}
	if c.attached() {
		if err := pause(ctx, c.detachWait); err != nil {
			return c.note(err)
		}
	}
	return nil
}

// settle finds out what became of the branch after an answer that proves nothing: cause, or OK to a session that did
// not prepare (nil). A branch counts as absent only when two looks, a detach wait apart, agree.
func (c *committing) settle(ctx context.Context, cause error) (done bool, err error) {
	if c.session.State() != xa.None {
		if err := c.renew(ctx); err != nil {
			return false, err
		}
		if c.session, err = c.pool.Take(ctx, c.lane); err != nil {
			return false, c.note(err)
		}
	}
	for absent := 0; absent < 2; absent++ {
		if absent > 0 {
			if err := pause(ctx, c.detachWait); err != nil {
				return false, c.note(err)
			}
		}
		seen, err := c.look(ctx, c.session, c.id)
		if err != nil {
			if err := c.note(err); err != nil || c.session.State() == xa.None {
				return false, err
			}
			return false, c.renew(ctx)
		}
		switch seen {
		case fateProven:
			return true, nil
		case fateListed:
			if errors.Is(cause, xa.ErrRolledBack) {
				return false, c.lost(cause)
			}
			return false, c.free(ctx, cause)
		case fateAbsent:
		}
	}
	if c.attached() {
		if err := limbo(ctx, c.server, c.owner.Job, 0); err != nil {
			return false, c.note(err)
		}
	}
	return false, c.lost(cause)
}

// free ends the session that holds the listed branch, so that the next COMMIT finds it.
func (c *committing) free(ctx context.Context, cause error) error {
	c.last = cause
	if cause == nil {
		c.last = errors.New("the server answered OK, and the branch is still prepared")
	}
	if err := c.endHolders(ctx, c.id, c.session.ConnectionID()); err != nil {
		return c.note(err)
	}
	if c.attached() {
		if err := pause(ctx, c.detachWait); err != nil {
			return c.note(err)
		}
	}
	return nil
}

func (c *committing) lost(cause error) error {
	return &LostError{
		Job: c.owner.Job, Server: c.server.Address(), Epoch: c.owner.Epoch, Time: time.Now(),
		Lost: []LostBranch{{ID: c.id}}, Cause: cause,
	}
}
