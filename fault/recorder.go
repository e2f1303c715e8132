package fault

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
)

// Recorder counts the points that are reached and does nothing else. Its zero value is ready. With it a test learns
// which points a run has, before it kills the run at each of them.
type Recorder struct {
	counts [opEnd][2]atomic.Int64
}

// At counts p.
func (r *Recorder) At(_ context.Context, p Point) error {
	if p.Op > OpInvalid && p.Op < opEnd {
		r.counts[p.Op][side(p)].Add(1)
	}
	return nil
}

// Count is how often p was reached.
func (r *Recorder) Count(p Point) int {
	if p.Op <= OpInvalid || p.Op >= opEnd {
		return 0
	}
	return int(r.counts[p.Op][side(p)].Load())
}

// Reached are the points that were reached at least once, in the order of [Points].
func (r *Recorder) Reached() []Point {
	var reached []Point
	for _, p := range Points() {
		if r.Count(p) > 0 {
			reached = append(reached, p)
		}
	}
	return reached
}

// String lists the points reached and how often.
func (r *Recorder) String() string {
	parts := make([]string, 0, 8)
	for _, p := range r.Reached() {
		parts = append(parts, fmt.Sprintf("%s=%d", p, r.Count(p)))
	}
	return "recorded(" + strings.Join(parts, " ") + ")"
}

func side(p Point) int {
	if p.After {
		return 1
	}
	return 0
}
