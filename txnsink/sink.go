package txnsink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/xasink/xasink/internal/process"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
)

// Sink is the stand-alone sink: a thin loop over a [Writer] and a state store, for a goroutine of the user's own. One
// goroutine at a time; a violation is detected and answered with ErrConcurrentUse. Stats may be called at any time.
type Sink struct {
	guard
	cfg    Config
	logger *slog.Logger
	writer Writer
	claim  state.Claim
	key    process.Key
	run    uuid.UUID
	report recovery.Report

	last      state.Decision // newest accepted decision
	next      []byte         // position behind the newest Write that succeeded
	committed []byte         // position of the newest wholly committed decision

	flushDue      time.Time // zero: never
	checkpointDue time.Time

	mu          sync.Mutex // protects the counters
	repeated    uint64     // decision writes repeated in doubt
	checkpoints map[Reason]uint64
}

// Recovered is what the opening found and settled.
func (s *Sink) Recovered() recovery.Report { return s.report }

// Position is where a source must go on so that nothing is missing or doubled, as of the newest accepted decision:
// right after Open it is where to start reading. The caller may keep it but not change it.
func (s *Sink) Position() []byte { return s.position(s.last) }

// Committed is the newest wholly committed position: what the source may forget. The caller may keep it but not
// change it.
func (s *Sink) Committed() []byte { return s.committed }

func (s *Sink) position(d state.Decision) []byte {
	for _, p := range d.Positions {
		if p.Source == s.cfg.Source {
			return p.Data
		}
	}
	return nil
}

// Batch is an empty batch for the next Write.
func (s *Sink) Batch() *Batch { return s.writer.Batch() }

// Write sends the rows of b. next is where to resume once they are durable, at most 2 KB; an empty or nil batch moves
// only that. The rows of one Write are always in one checkpoint. Write also does what is due: flush signals and
// checkpoints. It takes b: take a new one from Batch for the next Write.
//
// ctx bounds it up to the write of a decision. After any error the sink has failed: Close, and Open to resume. Errors
// to match: *RowError, *BlockedError, *LostError, *ServerError, ErrFenced, ErrInDoubt, *FailedError, ErrClosed,
// ErrConcurrentUse (which fails nothing).
func (s *Sink) Write(ctx context.Context, b *Batch, next []byte) error {
	if err := s.enter(); err != nil {
		return err
	}
	return s.done(s.write(ctx, b, next))
}

func (s *Sink) write(ctx context.Context, b *Batch, next []byte) error {
	if err := checkPosition(next); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if b != nil && b.Len() > 0 {
		if err := s.settleAndWrite(ctx, b); err != nil {
			return err
		}
	}
	s.next = slices.Clone(next)
	if why, ok := s.writer.NeedsCheckpoint(); ok {
		return s.checkpoint(ctx, why)
	}
	return s.doDue(ctx)
}

// settleAndWrite writes b, after a checkpoint at the position before it where the writer asks for one. A writer asks
// at most twice for one Write: once because a lane still holds its prepared branch, once because of a lock.
func (s *Sink) settleAndWrite(ctx context.Context, b *Batch) error {
	const settles = 2
	for n := 0; ; n++ {
		err := s.writer.Write(ctx, b)
		if !errors.Is(err, ErrNeedsCheckpoint) {
			return err
		}
		why, _ := s.writer.NeedsCheckpoint()
		if n == settles {
			return fmt.Errorf("write: still blocked after %d checkpoints: %w", settles, err)
		}
		if err := s.checkpoint(ctx, why); err != nil {
			return err
		}
	}
}

// Tick does what is due and tells when to call it again; the zero time means never (nothing is open and no timer is
// set). For loops that idle: while Write is called often enough, Tick need not be. Context and errors are as in Write.
func (s *Sink) Tick(ctx context.Context) (due time.Time, err error) {
	if err := s.enter(); err != nil {
		return time.Time{}, err
	}
	if err := s.done(s.doDue(ctx)); err != nil {
		return time.Time{}, err
	}
	due = s.checkpointDue
	if !s.flushDue.IsZero() && s.flushDue.Before(due) {
		due = s.flushDue
	}
	return due, nil
}

// doDue flushes and takes a checkpoint where the time has come. Both timers have a fixed delay: an interval begins when
// the work of the last one is done, so that nothing is caught up after a pause.
func (s *Sink) doDue(ctx context.Context) error {
	now := time.Now()
	if !now.Before(s.checkpointDue) {
		return s.checkpoint(ctx, ReasonInterval)
	}
	if !s.flushDue.IsZero() && !now.Before(s.flushDue) {
		return s.flush(ctx)
	}
	return nil
}

// Flush is a flush signal by hand: lanes that can be split prepare what they hold, at least once writes it. It commits
// nothing. Context and errors are as in Write.
func (s *Sink) Flush(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	return s.done(s.flush(ctx))
}

func (s *Sink) flush(ctx context.Context) error {
	if err := s.writer.Flush(ctx); err != nil {
		return err
	}
	s.armFlush()
	return nil
}

func (s *Sink) armFlush() {
	if s.cfg.FlushInterval > 0 {
		s.flushDue = time.Now().Add(s.cfg.FlushInterval)
	}
}

// Checkpoint takes a checkpoint now. When it returns nil all rows written so far are committed. Context and errors are
// as in Write.
func (s *Sink) Checkpoint(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	return s.done(s.checkpoint(ctx, ReasonAsked))
}

// checkpoint prepares, decides and commits, where there is anything to decide; an idle one only sweeps.
func (s *Sink) checkpoint(ctx context.Context, why Reason) error {
	if why != ReasonOpening && !s.dirty() {
		if err := s.writer.Sweep(ctx); err != nil {
			return err
		}
		s.armCheckpoint()
		return nil
	}
	part, err := s.writer.Prepare(ctx)
	if err != nil {
		return err
	}
	positions := []state.Position{{Source: s.cfg.Source, Data: s.next}}
	d := state.Next(s.claim.Last(), s.claim.Epoch(), s.key.Store, s.run, s.cfg.Job, positions, part, time.Now())
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("checkpoint %d was not decided: %w", d.Number, err)
	}
	if err := s.decide(context.WithoutCancel(ctx), d); err != nil {
		return err
	}
	s.last = d
	if f := s.cfg.Observer.Decided; f != nil {
		f(d, why)
	}
	if err := s.writer.Commit(context.WithoutCancel(ctx), d); err != nil {
		return err
	}
	s.committed = s.position(d)
	s.countCheckpoint(why)
	if f := s.cfg.Observer.Committed; f != nil {
		f(s.committed)
	}
	s.armCheckpoint()
	s.armFlush()
	return nil
}

// dirty tells whether a decision would say anything new.
func (s *Sink) dirty() bool {
	rows, branches := s.writer.Held()
	return rows > 0 || branches > 0 || !slices.Equal(s.next, s.Position())
}

func (s *Sink) armCheckpoint() { s.checkpointDue = time.Now().Add(s.cfg.CheckpointInterval) }

// decide writes d until it is definitely accepted or refused. In doubt the very same decision is repeated; until that
// is settled nothing that it lists is committed or rolled back (rule 4). After DecisionTimeout the outcome is ErrInDoubt.
func (s *Sink) decide(ctx context.Context, d state.Decision) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.DecisionTimeout)
	defer cancel()
	pause := 10 * time.Millisecond
	for {
		err := s.claim.Commit(ctx, d)
		switch {
		case err == nil:
			return nil
		case isFenced(err):
			process.Jobs.Fenced(s.key)
			return fmt.Errorf("decision %d of job %s: %w", d.Number, s.cfg.Job, err)
		case errors.Is(err, state.ErrRefused), errors.Is(err, state.ErrUnreadable):
			return fmt.Errorf("decision %d of job %s is not stored: %w", d.Number, s.cfg.Job, err)
		}
		s.logger.Warn("the write of a decision is in doubt and is repeated", "job", s.cfg.Job, "decision", d.Number, "error", err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("decision %d of job %s: %w after %s; open the sink again, which settles it: %w",
				d.Number, s.cfg.Job, ErrInDoubt, s.cfg.DecisionTimeout, err)
		case <-time.After(pause):
			pause = min(2*pause, time.Second)
			s.mu.Lock()
			s.repeated++
			s.mu.Unlock()
		}
	}
}

// Finish ends the input: it takes checkpoints until nothing is pending, proves that no branch of the job is left on the
// server, and closes the sink. It returns nil only then. Give it a fresh context.
func (s *Sink) Finish(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	if err := s.done(s.finish(ctx)); err != nil {
		return err
	}
	return s.Close()
}

func (s *Sink) finish(ctx context.Context) error {
	if err := s.checkpoint(ctx, ReasonFinish); err != nil {
		return err
	}
	if s.dirty() {
		return fmt.Errorf("finish job %s: rows or branches are left after the last checkpoint", s.cfg.Job)
	}
	return s.writer.Finished(ctx)
}

// Stats tells all counters. It may be called from any goroutine.
func (s *Sink) Stats() Stats {
	stats := s.writer.Stats()
	s.mu.Lock()
	defer s.mu.Unlock()
	stats.Checkpoints = make(map[Reason]uint64, len(s.checkpoints))
	for why, n := range s.checkpoints {
		stats.Checkpoints[why] = n
	}
	stats.DecisionsRepeated = s.repeated
	return stats
}

func (s *Sink) countCheckpoint(why Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.checkpoints == nil {
		s.checkpoints = map[Reason]uint64{}
	}
	s.checkpoints[why]++
}

// done ends a call of the sink.
func (s *Sink) done(err error) error {
	if isFenced(err) {
		process.Jobs.Fenced(s.key)
	}
	return s.leave(err)
}

// Close ends the sink. It prepares, decides and commits nothing: rows that are in no decision are read again after the
// next Open, and what is prepared waits for its recovery. It may be called more than once, and after any error.
func (s *Sink) Close() error {
	if !s.busy.CompareAndSwap(false, true) {
		return ErrConcurrentUse
	}
	defer s.busy.Store(false)
	if !s.closed.CompareAndSwap(false, true) {
		return nil
	}
	err := s.release()
	letGo(s.key, s.failed)
	return err
}

// release closes writer and claim.
func (s *Sink) release() error {
	err := s.writer.Close()
	if s.claim != nil {
		err = errors.Join(err, s.claim.Close())
	}
	return err
}
