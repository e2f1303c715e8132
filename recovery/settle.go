package recovery

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

const (
	defaultDeadline = time.Minute
	// Between attempts: doubled from the first to the last.
	firstBackoff = 50 * time.Millisecond
	lastBackoff  = 2 * time.Second
	// How often a verb is repeated that the server answers with an error whose meaning is not known.
	unknownAnswers = 3
)

var errDeadline = errors.New("the deadline passed")

// settler settles single branches: COMMIT and ROLLBACK until there is proof of what became of them.
type settler struct {
	server     *xa.Server
	pool       *xa.Pool
	lane       uint32
	ledger     ledger.Ledger
	owner      Owner
	bounds     state.Bounds
	detachWait time.Duration
	deadline   time.Duration
	log        *slog.Logger
}

// withDefaults fills in zero values; an error names what is wrong.
func (s settler) withDefaults() (settler, error) {
	switch {
	case s.server == nil, s.pool == nil:
		return s, errors.New("server and pool must be set")
	case s.ledger.Database() == "":
		return s, errors.New("the ledger must be one of ledger.New")
	case s.detachWait == 0:
		s.detachWait = MinDetachWait
	case s.detachWait < MinDetachWait:
		return s, fmt.Errorf("detach wait of %s: a branch is not free earlier than %s after its session ended",
			s.detachWait, MinDetachWait)
	}
	if s.deadline == 0 {
		s.deadline = defaultDeadline
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s, s.owner.check()
}

// attached tells whether a prepared branch stays with its session.
func (s settler) attached() bool { return !s.server.Abilities().Detached }

// fate is what a scan and then the ledger say of one branch.
type fate uint8

const (
	fateAbsent fate = iota // neither prepared nor proven
	fateListed             // prepared, whatever the ledger says
	fateProven             // not prepared, and its proof row is there
)

// look scans, and then reads the ledger, on session q, in this order.
func (s settler) look(ctx context.Context, q xa.Queryer, id xa.ID) (fate, error) {
	found, err := s.server.Scan(ctx, q)
	if err != nil {
		return fateAbsent, err
	}
	if slices.Contains(found, id.XID()) {
		return fateListed, nil
	}
	proven, err := s.ledger.Proven(ctx, q, id)
	if err != nil {
		return fateAbsent, err
	}
	if proven {
		return fateProven, nil
	}
	return fateAbsent, nil
}

// endHolders ends the sessions that may hold id or be executing its COMMIT: holders of marks of its own lane, of
// recovery's and of the committer's, and sessions of our user whose statement names it. self is left alone.
func (s settler) endHolders(ctx context.Context, id xa.ID, self uint64) error {
	lanes := max(id.Lane, LaneCommitter) + 1
	holders, err := s.server.Holders(ctx, s.owner.Job, lanes, max(s.bounds.Marks, 1))
	if err != nil {
		return err
	}
	var sessions []uint64
	for _, h := range holders {
		if l := h.Mark.Lane; l == id.Lane || l == LaneRecovery || l == LaneCommitter {
			sessions = append(sessions, h.Session)
		}
	}
	naming, err := s.sessionsNaming(ctx, id)
	if err != nil {
		return err
	}
	sessions = append(sessions, naming...)
	slices.Sort(sessions)
	for _, session := range slices.Compact(sessions) {
		if session == self {
			continue
		}
		s.log.WarnContext(ctx, "ending a session that may hold a branch", slog.String("job", s.owner.Job),
			slog.String("branch", id.String()), slog.Uint64("session", session))
		if err := s.server.KillSession(ctx, session); err != nil {
			return err
		}
	}
	return nil
}

// sessionsNaming are the sessions that are executing an XA statement with id's name, as far as the process list shows
// them to our user. SHOW PROCESSLIST is used because MySQL refuses information_schema.PROCESSLIST while any statement
// has characters of four bytes.
func (s settler) sessionsNaming(ctx context.Context, id xa.ID) (sessions []uint64, err error) {
	rows, err := s.server.DB().QueryContext(ctx, "SHOW FULL PROCESSLIST")
	if err != nil {
		return nil, fmt.Errorf("reading the process list of server %s: %w", s.server.Address(), err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var session uint64
	var info sql.NullString
	into := make([]any, len(columns))
	for i, column := range columns {
		switch column {
		case "Id":
			into[i] = &session
		case "Info":
			into[i] = &info
		default:
			into[i] = new(sql.RawBytes)
		}
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		if strings.HasPrefix(info.String, "XA ") && strings.Contains(info.String, id.XID().SQL()) {
			sessions = append(sessions, session)
		}
	}
	return sessions, rows.Err()
}

// discard ends a session and returns only when it is gone, or with ctx.
func (s settler) discard(ctx context.Context, session *xa.Session) error {
	for backoff := firstBackoff; ; backoff = longer(backoff) {
		err := s.pool.Discard(ctx, session)
		if err == nil {
			return nil
		}
		if pause(ctx, backoff) != nil {
			return fmt.Errorf("session %d cannot be shown to be gone: %w", session.ConnectionID(), err)
		}
	}
}

// giveBack returns a session that this settler took.
func (s settler) giveBack(ctx context.Context, session *xa.Session) {
	if session == nil {
		return
	}
	if session.State() == xa.None {
		s.pool.Return(session)
		return
	}
	if err := s.pool.Discard(ctx, session); err != nil {
		s.log.WarnContext(ctx, "a session could not be shown to be gone", slog.String("job", s.owner.Job),
			slog.Uint64("session", session.ConnectionID()), slog.Any("error", err))
	}
}

// How often, and how long apart, limbo is looked at before it is believed.
const (
	limboTries = 5
	limboPause = 500 * time.Millisecond
	limboLooks = 3
	limboApart = 200 * time.Millisecond
)

// limboKnown is how many transactions without a session the server holds and does not list: the most of a few readings,
// since an old list of transactions can also show too few.
func limboKnown(ctx context.Context, server *xa.Server) (known int, err error) {
	for look := range limboLooks {
		if look > 0 {
			if err := pause(ctx, limboApart); err != nil {
				return 0, err
			}
		}
		detached, prepared, err := server.Limbo(ctx)
		if err != nil {
			return 0, err
		}
		known = max(known, detached-prepared)
	}
	return known, nil
}

// limbo is a stop when the server holds more transactions without a session than it lists as prepared, known of them
// left out, which were there before and are somebody else's. It has to hold for some seconds, over readings that are ever
// further and never equally apart: the server renews its list of transactions only when nobody has read it for 0.1 s, so
// that several readers can keep an old one alive (seen on both flavours).
func limbo(ctx context.Context, server *xa.Server, job string, known int) error {
	var detached, prepared int
	for try := range limboTries {
		if try > 0 {
			wait := limboPause << (try - 1)
			if err := pause(ctx, wait+rand.N(wait)); err != nil {
				return err
			}
		}
		var err error
		if detached, prepared, err = server.Limbo(ctx); err != nil || detached-prepared <= known {
			return err
		}
	}
	return &Stop{
		Kind: StopLimbo, Job: job, Server: server.Address(),
		Reason: fmt.Sprintf("the server holds %s without a session, and XA RECOVER lists %d: a branch was answered OK, is "+
			"neither committed nor listed, and keeps its locks until the server restarts",
			count(detached, "transaction", "transactions"), prepared),
		Ways: []Way{
			{What: "see how many transactions have no session", SQL: []string{
				"SELECT * FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = 0", "XA RECOVER"}},
			wayRestart(),
		},
	}
}

// fatal tells whether err ends the job's work on this server, so that nothing is to be repeated.
func fatal(err error) bool {
	var stop *Stop
	var server *ServerError
	var lost *LostError
	return isFenced(err) || errors.As(err, &stop) || errors.As(err, &server) || errors.As(err, &lost) ||
		errors.Is(err, ledger.ErrAbsent) || errors.Is(err, ledger.ErrPrivilege) || errors.Is(err, ledger.ErrNewer) ||
		errors.Is(err, xa.ErrNoRecoverPrivilege)
}

// pause waits, or returns the context's cause as soon as it ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func longer(backoff time.Duration) time.Duration { return min(2*backoff, lastBackoff) }
