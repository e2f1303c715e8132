package txnsink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/google/uuid"

	"github.com/xasink/xasink/internal/process"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
)

// Open claims the job, recovers what earlier owners left, and stores the claim's own decision. Everything that is
// wrong with cfg is in one *ConfigError. ctx bounds the opening; where it ends early, nothing is left that the next
// Open does not settle.
//
// Errors to match: *ConfigError; *UnavailableError (a table or the server cannot be written for now); ErrFenced; *recovery.Stop (the job must not go on by itself; it says why and the ways
// on); *LostError; *ServerError; state.ErrUnreadable and the other errors of the store.
func Open(ctx context.Context, cfg Config) (*Sink, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	run, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("make a run id: %w", err)
	}
	writer, err := NewWriter(ctx, cfg.writer(run))
	if err != nil {
		return nil, err
	}
	return open(ctx, cfg, run, writer)
}

// OpenWith is Open over a writer of the caller's own, which the sink closes, also when it fails. Of cfg it uses what is
// not the writer's.
func OpenWith(ctx context.Context, cfg Config, writer Writer) (*Sink, error) {
	cfg = cfg.withDefaults()
	if err := problems(cfg.own()); err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	run, err := uuid.NewV7()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a run id: %w", err), writer.Close())
	}
	return open(ctx, cfg, run, writer)
}

func open(ctx context.Context, cfg Config, run uuid.UUID, writer Writer) (*Sink, error) {
	s := &Sink{cfg: cfg, logger: cfg.Logger, writer: writer, run: run}
	s.key = process.Key{Store: cfg.Store.ID(), Job: cfg.Job, Process: process.Of(cfg.Store)}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	after, err := take(s.key)
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	if err := s.begin(ctx, after); err != nil {
		err = errors.Join(err, s.release())
		letGo(s.key, err)
		return nil, err
	}
	return s, nil
}

// begin is the order of an opening (docs/design.md, Order of an opening).
func (s *Sink) begin(ctx context.Context, after *uint64) error {
	job, store := s.cfg.Job, s.cfg.Store
	info, err := store.Peek(ctx, job)
	if err != nil {
		return fmt.Errorf("look at the stored state of job %s: %w", job, err)
	}
	floor, err := s.writer.Look(ctx, store.ID(), info)
	if err != nil {
		return s.overtaken(ctx, info, err)
	}
	if s.claim, err = store.Claim(ctx, job, state.ClaimRequest{After: after, Floor: floor, Run: s.run}); err != nil {
		return fmt.Errorf("claim job %s: %w", job, err)
	}
	process.Jobs.Claimed(s.key, s.claim.Epoch())
	owner := recovery.Owner{Job: job, Store: store.ID(), Run: s.run, Epoch: s.claim.Epoch()}
	if s.report, err = s.writer.Recover(ctx, owner, s.claim.History()); err != nil {
		return err
	}
	if s.next, err = s.firstPosition(ctx); err != nil {
		return err
	}
	if err := s.checkpoint(ctx, ReasonOpening); err != nil {
		return fmt.Errorf("the claim's own decision: %w", err)
	}
	s.logger.Info("job opened", "job", job, "epoch", owner.Epoch, "run", s.run, "committed", s.report.Committed,
		"already_committed", s.report.Already, "rolled_back", s.report.RolledBack)
	return nil
}

// overtaken is err, the outcome of a look at the server after info was read, unless another process opened the job
// between the two: the server then knows a later owner than info does, and nothing is wrong with the store.
func (s *Sink) overtaken(ctx context.Context, info state.Info, err error) error {
	var stop *recovery.Stop
	if !errors.As(err, &stop) || stop.Kind != recovery.StopOldStore && stop.Kind != recovery.StopLaterBranch {
		return err
	}
	now, again := s.cfg.Store.Peek(ctx, s.cfg.Job)
	switch {
	case again != nil: // not wrapped: nobody is to act on a stop that may be none
		return fmt.Errorf("job %s: the server knows more than the store did, and the store cannot be read again: %w; before that: %s",
			s.cfg.Job, again, err.Error())
	case now.Epoch == info.Epoch:
		return err
	}
	return fmt.Errorf("job %s: another process opened it at the same moment, run %s under epoch %d: %w",
		s.cfg.Job, now.Run, now.Epoch, ErrFenced)
}

// firstPosition is where the source goes on: stored, or a new job's start.
func (s *Sink) firstPosition(ctx context.Context) ([]byte, error) {
	if last := s.claim.Last(); last != nil {
		for _, p := range last.Positions {
			if p.Source == s.cfg.Source {
				return p.Data, nil
			}
		}
		if len(last.Positions) > 0 {
			return nil, fmt.Errorf("job %s: decision %d holds the position of source %q and none of %q; a job keeps its sources' names",
				s.cfg.Job, last.Number, last.Positions[0].Source, s.cfg.Source)
		}
	}
	position, err := s.cfg.Start(ctx)
	if err != nil {
		return nil, fmt.Errorf("first position of job %s: %w", s.cfg.Job, err)
	}
	if err := checkPosition(position); err != nil {
		return nil, fmt.Errorf("first position of job %s: %w", s.cfg.Job, err)
	}
	return slices.Clone(position), nil
}

func checkPosition(p []byte) error {
	if len(p) > state.MaxPosition {
		return fmt.Errorf("a position of %d bytes is too long, the limit is %d", len(p), state.MaxPosition)
	}
	return nil
}
