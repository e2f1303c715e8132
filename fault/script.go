package fault

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// All is several injectors in one. At a point each is asked in turn; the first error is the answer, and those behind
// it are not asked.
func All(injectors ...Injector) Injector { return all(injectors) }

type all []Injector

func (a all) At(ctx context.Context, p Point) error {
	for _, in := range a {
		if err := in.At(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (a all) String() string {
	parts := make([]string, len(a))
	for i, in := range a {
		parts[i] = in.String()
	}
	return strings.Join(parts, ",")
}

// Parse reads a script: one or more of `kill@POINT#N` and `fail@POINT#N`, with commas between them. Without `#N` a
// kill acts the first time and a failure every time that its point is reached. An injector made by Parse prints as
// what it was parsed from. The empty script is nil, no injector at all.
func Parse(script string) (Injector, error) {
	if script == "" {
		return nil, nil
	}
	var parsed all
	for part := range strings.SplitSeq(script, ",") {
		in, err := parseOne(part)
		if err != nil {
			return nil, fmt.Errorf("fault script %q: %w", script, err)
		}
		parsed = append(parsed, in)
	}
	if len(parsed) == 1 {
		return parsed[0], nil
	}
	return parsed, nil
}

func parseOne(s string) (Injector, error) {
	action, rest, ok := strings.Cut(s, "@")
	if !ok || (action != actionKill && action != actionFail) {
		return nil, fmt.Errorf("%q: want kill@POINT#N or fail@POINT#N", s)
	}
	text, count, counted := strings.Cut(rest, "#")
	p, err := ParsePoint(text)
	if err != nil {
		return nil, err
	}
	nth := 0
	if counted {
		nth, err = strconv.Atoi(count)
		if err != nil || nth < 1 || strconv.Itoa(nth) != count {
			return nil, fmt.Errorf("%q: %q does not count from 1", s, count)
		}
	}
	if action == actionKill {
		return KillAt(p, nth), nil
	}
	return FailAt(p, nth, nil), nil
}
