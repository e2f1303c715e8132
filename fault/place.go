package fault

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Place is where something happens: the Nth time, counted from 1, that Point is reached. With the zero Point it is the
// Nth point of the run, whatever that is; with Nth 0 each time.
type Place struct {
	Point Point
	Nth   int
}

// String is the place's text form: `before:xa-commit`, `before:xa-commit#2`, or `#40` for the 40th point. [ParsePlace]
// is its inverse.
func (p Place) String() string {
	s := ""
	if p.Point != (Point{}) {
		s = p.Point.String()
	}
	if p.Nth != 0 {
		s += "#" + strconv.Itoa(p.Nth)
	}
	return s
}

// ParsePlace is the inverse of [Place.String]. The error names everything that is wrong.
func ParsePlace(s string) (p Place, err error) {
	text, count, counted := strings.Cut(s, "#")
	var problems []error
	if text != "" || !counted {
		if p.Point, err = ParsePoint(text); err != nil {
			problems = append(problems, err)
		}
	}
	if counted {
		p.Nth, err = strconv.Atoi(count)
		if err != nil || p.Nth < 1 || strconv.Itoa(p.Nth) != count {
			problems = append(problems, fmt.Errorf("%q does not count from 1", count))
		}
	}
	if len(problems) > 0 {
		return Place{}, errors.Join(problems...)
	}
	return p, nil
}
