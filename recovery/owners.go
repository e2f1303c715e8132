package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/xa"
)

// Admit is the Admit function of a pool: it reads the job row on the new session, and then compares the server's
// identity and start with saw. Errors: both ErrFenced; *ServerError.
func Admit(server *xa.Server, l ledger.Ledger, owner Owner, saw xa.Identity) func(ctx context.Context, s *xa.Session) error {
	return func(ctx context.Context, s *xa.Session) error {
		if err := l.Admit(ctx, s, owner.Job, owner.Store, owner.Epoch); err != nil {
			return fenced(err)
		}
		have, err := server.Identify(ctx, s)
		if err != nil {
			return err
		}
		return checkServer(server, owner.Job, saw, have)
	}
}

// How often, and how long apart, the marks of ended sessions are looked at again.
const (
	endTries = 50
	endPause = 100 * time.Millisecond
)

// endMarked ends every session that holds an owner mark of the job, and returns when all marks are free. A session that
// took its mark before the job row was raised is seen here; one that takes it later reads the row and is fenced.
func (s settler) endMarked(ctx context.Context) error {
	var held []xa.MarkHolder
	for range endTries {
		var err error
		if held, err = s.server.Holders(ctx, s.owner.Job, s.bounds.Lanes, s.bounds.Marks); err != nil || len(held) == 0 {
			return err
		}
		for _, h := range held {
			s.log.WarnContext(ctx, "ending a session of an older owner", slog.String("job", s.owner.Job),
				slog.String("mark", h.Mark.String()), slog.Uint64("session", h.Session))
			if err := s.server.KillSession(ctx, h.Session); err != nil {
				return cannotEnd(h, err)
			}
		}
		if err := pause(ctx, endPause); err != nil {
			return err
		}
	}
	return cannotEnd(held[0], errors.New("it is not in the process list that this user sees, and yet its mark is held"))
}

func cannotEnd(h xa.MarkHolder, err error) error {
	return fmt.Errorf("session %d of an older owner holds owner mark %s and cannot be ended: %w; run the job as the same user "+
		"as before, or as an administrator run: KILL CONNECTION %d", h.Session, h.Mark, err, h.Session)
}
