package xa

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// noAnswerError is a server that did not answer in time. It is a deadline of ours that has passed.
type noAnswerError struct {
	after time.Duration
	limit string // the Config field to raise, "" where VerbTimeout follows from others
}

func (e *noAnswerError) Error() string {
	if e.limit == "" {
		return fmt.Sprintf("no answer within %s", e.after)
	}
	return fmt.Sprintf("no answer within %s (%s)", e.after, e.limit)
}

func (e *noAnswerError) Unwrap() error { return context.DeadlineExceeded }

// within bounds ctx by VerbTimeout, for what a server that is there answers soon.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, &noAnswerError{after: d})
}

func (s *Server) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return within(ctx, s.config.VerbTimeout)
}

// ask is queryRow for a short question of the package's own: on a link that went dead it ends with VerbTimeout.
func (s *Server) ask(ctx context.Context, q Queryer, query string, into ...any) error {
	run, cancel := s.within(ctx)
	defer cancel()
	return told(run, queryRow(run, q, query, into...))
}

// told is err, or, where the end of run is all that err says, why run ended.
func told(run context.Context, err error) error {
	var e *Error
	if err == nil || run.Err() == nil || !errors.Is(err, run.Err()) || errors.As(err, &e) {
		return err
	}
	return endOf(run)
}

// endOf says in one line how an ended context ended, so that the text has the reason and errors.Is finds the context's
// error.
func endOf(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) {
		return cause
	}
	return &endedError{cause: cause, context: ctx.Err()}
}

// endedError is a context that was ended for a reason of the caller's.
type endedError struct{ cause, context error }

func (e *endedError) Error() string { return fmt.Sprintf("%s (%s)", e.cause, e.context) }

func (e *endedError) Unwrap() []error { return []error{e.cause, e.context} }

// wait returns after d, or with the context's cause as soon as ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return endOf(ctx)
	}
}
