package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/xasink/xasink/xa"
)

// rollBack sends ROLLBACK for one orphan until the branch is gone. A branch that is gone without our ROLLBACK is a
// quiet success, unless a proof row shows that somebody committed it: then its rows would be written a second time.
func (s settler) rollBack(ctx context.Context, id xa.ID) error {
	if ctx.Err() != nil {
		return fmt.Errorf("rollback of branch %s: nothing was sent: %w", id, context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), s.deadline, errDeadline)
	defer cancel()
	var last error
	for backoff := firstBackoff; ; backoff = longer(backoff) {
		gone, err := s.tryRollBack(ctx, id)
		if gone {
			return nil
		}
		if err != nil && fatal(err) {
			return fmt.Errorf("rollback of branch %s: %w", id, fenced(err))
		}
		if err != nil {
			last = err
		}
		if pause(ctx, backoff) != nil {
			return fmt.Errorf("rollback of branch %s: it is still prepared: %w", id, last)
		}
	}
}

// tryRollBack sends one ROLLBACK. gone: the branch is rolled back. Else the error, if it is not fatal, says why it has
// to be repeated.
func (s settler) tryRollBack(ctx context.Context, id xa.ID) (gone bool, err error) {
	session, err := s.pool.Take(ctx, s.lane)
	if err != nil {
		return false, err
	}
	err = session.Rollback(ctx, id.XID())
	if err == nil {
		s.giveBack(ctx, session)
		return true, nil
	}
	if session.State() != xa.None {
		if gone := s.discard(ctx, session); gone != nil {
			return false, errors.Join(err, gone)
		}
		if s.attached() {
			return false, errors.Join(err, pause(ctx, s.detachWait))
		}
		return false, err
	}
	defer s.giveBack(ctx, session)
	if !errors.Is(err, xa.ErrUnknownID) {
		return false, err
	}
	seen, lookErr := s.look(ctx, session, id)
	switch {
	case lookErr != nil:
		return false, lookErr
	case seen == fateProven:
		return false, s.committedByOthers(id)
	case seen == fateAbsent:
		s.log.InfoContext(ctx, "an orphan was gone before our ROLLBACK", slog.String("job", s.owner.Job),
			slog.String("branch", id.String()))
		return true, nil
	}
	if endErr := s.endHolders(ctx, id, session.ConnectionID()); endErr != nil {
		return false, endErr
	}
	if s.attached() {
		return false, errors.Join(err, pause(ctx, s.detachWait))
	}
	return false, err
}

func (s settler) committedByOthers(id xa.ID) error {
	return &Stop{
		Kind: StopStoreBehind, Job: s.owner.Job, Server: s.server.Address(), Branches: []xa.ID{id},
		Reason: "a branch that no decision lists was committed by somebody else while it was to be rolled back: its rows are in " +
			"the target, and the source would send them again",
		Ways: []Way{
			wayLook(s.owner.Job, s.ledger.Database()),
			wayAdopt(s.owner.Job, "find the position behind the last committed row"),
		},
	}
}
