package recovery

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// SweepRequest is what Sweep needs.
type SweepRequest struct {
	Server  *xa.Server
	Pool    *xa.Pool
	Ledger  ledger.Ledger
	Owner   Owner
	Current state.Decision // newest definitely accepted decision, of the own epoch
	Proven  []state.Lane   // newest proven watermarks, read before the call
	// DetachWait as in Opening: on attached servers only what two scans this far apart both show is rolled back.
	DetachWait time.Duration
	Logger     *slog.Logger // nil discards
}

// Sweep rolls back late orphans: prepared branches of older epochs that the current decision does not list. Branches of
// the own epoch are left alone. What another session still holds, or what the server refuses for the moment, is left
// for the next sweep. ctx is looked at between verbs. It uses one session of LaneRecovery.
//
// Errors: *Stop (StopFenced for a branch of a higher epoch, StopTakenBack for an unlisted one at or below the newest
// proven watermark of its own epoch and lane), and then nothing is rolled back; *Stop with StopLimbo where an attached
// server answered OK to a rollback and holds the branch without listing it; both ErrFenced; *ServerError.
func Sweep(ctx context.Context, r SweepRequest) (rolledBack int, err error) {
	s, err := settler{
		server: r.Server, pool: r.Pool, lane: LaneRecovery, ledger: r.Ledger, owner: r.Owner, detachWait: r.DetachWait,
		log: r.Logger,
	}.withDefaults()
	if err == nil {
		rolledBack, err = s.sweep(ctx, r.Current, state.MergeLanes(r.Current.Lanes, r.Proven))
	}
	if err != nil {
		return rolledBack, fmt.Errorf("sweep of job %s: %w", r.Owner.Job, fenced(err))
	}
	return rolledBack, nil
}

func (s settler) sweep(ctx context.Context, current state.Decision, watermarks []state.Lane) (rolledBack int, err error) {
	session, err := s.pool.Take(ctx, s.lane)
	if err != nil {
		return 0, err
	}
	defer func() { s.giveBack(context.WithoutCancel(ctx), session) }()
	orphans, err := s.orphans(ctx, session, current, watermarks)
	if err != nil || len(orphans) == 0 {
		return 0, err
	}
	limboBefore := 0
	if s.attached() {
		if err := pause(ctx, s.detachWait); err != nil {
			return 0, err
		}
		if limboBefore, err = limboKnown(ctx, s.server); err != nil {
			return 0, err
		}
		again, err := s.orphans(ctx, session, current, watermarks)
		if err != nil {
			return 0, err
		}
		orphans = slices.DeleteFunc(orphans, func(id xa.ID) bool { return !slices.Contains(again, id) })
	}
	for _, id := range orphans {
		err := session.Rollback(ctx, id.XID())
		if err == nil {
			rolledBack++
			s.log.InfoContext(ctx, "sweep: rolled a late orphan back", slog.String("job", s.owner.Job), slog.String("branch", id.String()))
			continue
		}
		s.log.WarnContext(ctx, "sweep: a late orphan is left for the next sweep", slog.String("job", s.owner.Job),
			slog.String("branch", id.String()), slog.Any("error", err))
		if session.State() != xa.None {
			break
		}
	}
	if rolledBack == 0 || !s.attached() {
		return rolledBack, nil
	}
	return rolledBack, limbo(ctx, s.server, s.owner.Job, limboBefore)
}

// orphans scans, and then reads the ledger: an orphan with a proof row is being committed by somebody, which is
// recovery's to settle. A stop line outranks every orphan.
func (s settler) orphans(ctx context.Context, session *xa.Session, current state.Decision, watermarks []state.Lane) ([]xa.ID, error) {
	found, err := s.server.Scan(ctx, session)
	if err != nil {
		return nil, err
	}
	candidates, stop := sweepable(s.owner, current, watermarks, ours(found, s.owner.Job))
	if stop != nil {
		stop.Server = s.server.Address()
		return nil, stop
	}
	var orphans []xa.ID
	for _, id := range candidates {
		proven, err := s.ledger.Proven(ctx, session, id)
		if err != nil {
			return nil, err
		}
		if !proven {
			orphans = append(orphans, id)
		}
	}
	return orphans, nil
}

// sweepable are the branches among prepared that a sweep may roll back, by their names alone. It is pure.
func sweepable(owner Owner, current state.Decision, watermarks []state.Lane, prepared []xa.ID) ([]xa.ID, *Stop) {
	var orphans, later, takenBack []xa.ID
	for _, id := range prepared {
		i := slices.IndexFunc(watermarks, func(l state.Lane) bool { return l.Number == id.Lane })
		switch {
		case current.Lists(id):
		case id.Epoch > owner.Epoch:
			later = append(later, id)
		case i >= 0 && watermarks[i].Epoch == id.Epoch && id.Seq <= watermarks[i].Seq:
			takenBack = append(takenBack, id)
		case id.Epoch < owner.Epoch:
			orphans = append(orphans, id)
		}
	}
	p := &planner{job: owner.Job, epoch: owner.Epoch, current: current}
	switch {
	case len(later) > 0:
		return nil, p.stopOf(StopFenced, later)
	case len(takenBack) > 0:
		return nil, p.stopOf(StopTakenBack, takenBack)
	}
	return orphans, nil
}
