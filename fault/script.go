package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The actions of [Parse].
const (
	actionKill  = "kill"
	actionFail  = "fail"
	actionDelay = "delay"
)

// Parse reads a script: one entry or more, with commas between them, each of them `ACTION@PLACE`. The actions are
//
//	kill       as KillAt
//	fail       as FailAt, without an error of the caller's
//	delay=2s   as DelayAt; the duration is in Go's form
//
// and places are those of [ParsePlace]. Without a number a kill acts the first time, a failure and a delay each time
// that the point is reached. Each entry counts by itself; where several act at one point they do so in turn, up to the
// first that answers with an error. There are no blanks in a script, and durations are as Go prints them, 1h30m0s. An
// injector made by Parse prints as what it was parsed from. The empty script is
// nil, no injector at all. The error names everything that is wrong with the script.
func Parse(text string) (Injector, error) {
	if text == "" {
		return nil, nil
	}
	entries, err := ParseEntries(text, actionKill, actionFail, actionDelay)
	if err != nil {
		return nil, err
	}
	parsed := make(script, len(entries))
	for i, e := range entries {
		parsed[i] = e.trigger()
	}
	return parsed, nil
}

// script is several triggers that each count every point, also one at which another answered with an error.
type script []*trigger

func (s script) At(ctx context.Context, p Point) (err error) {
	for _, t := range s {
		if t.due(p) && err == nil {
			err = t.fire(ctx, p)
		}
	}
	return err
}

func (s script) String() string {
	parts := make([]string, len(s))
	for i, t := range s {
		parts[i] = t.String()
	}
	return strings.Join(parts, ",")
}

func (e Entry) trigger() *trigger {
	switch e.Action {
	case actionKill:
		return killAt(e.Place)
	case actionDelay:
		return delayAt(e.Place, e.Delay)
	}
	return failAt(e.Place, nil)
}

// Entry is one entry of a script: what happens, and where.
type Entry struct {
	Action string
	Delay  time.Duration // of the action delay, 0 for others
	Place  Place
}

// String is the entry's text form, such as `kill@after:xa-prepare#2`.
func (e Entry) String() string {
	if e.Action == actionDelay {
		return e.Action + "=" + e.Delay.String() + "@" + e.Place.String()
	}
	return e.Action + "@" + e.Place.String()
}

// ParseEntries reads a script whose actions are the given ones; `delay` has a duration, no other one has. For tests
// with actions of their own: what they print is read as what [Parse] reads. The error names everything that is wrong.
func ParseEntries(text string, actions ...string) ([]Entry, error) {
	var entries []Entry
	var problems []error
	for part := range strings.SplitSeq(text, ",") {
		e, wrong := parseEntry(part, actions)
		for _, err := range wrong {
			problems = append(problems, fmt.Errorf("%q: %w", part, err))
		}
		entries = append(entries, e)
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("fault script %q: %w", text, errors.Join(problems...))
	}
	return entries, nil
}

// parseEntry gives every problem that it finds.
func parseEntry(s string, actions []string) (e Entry, problems []error) {
	action, place, ok := strings.Cut(s, "@")
	if !ok {
		return e, []error{errors.New("want ACTION@PLACE, such as kill@after:xa-prepare#2")}
	}
	name, value, valued := strings.Cut(action, "=")
	e.Action = name
	switch {
	case !slices.Contains(actions, name):
		problems = append(problems, fmt.Errorf("no action is called %q; there are %s", name, strings.Join(actions, ", ")))
	case name == actionDelay:
		var err error
		if e.Delay, err = time.ParseDuration(value); err != nil || e.Delay <= 0 {
			problems = append(problems, fmt.Errorf("%q is no duration above 0, such as 1.5s", value))
		} else if text := e.Delay.String(); text != value {
			problems = append(problems, fmt.Errorf("%q is written %s", value, text))
		}
	case valued:
		problems = append(problems, fmt.Errorf("the action %s has no value", name))
	}
	var err error
	if e.Place, err = ParsePlace(place); err != nil {
		problems = append(problems, err)
	}
	return e, problems
}
