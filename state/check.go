package state

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/xasink/xasink/xa"
)

// Limits of one decision. They bound what a damaged or hostile input can make Decode allocate, and are far above what
// the limits of a sink allow.
const (
	maxName     = 4096    // bytes of a name: of a source, a server or a table
	maxElements = 1 << 16 // sources, ranges, lanes, and tables of a lane
)

// Check tells everything that keeps d from being a decision: all problems in one error, nil when there is none. Encode
// makes the same check, so no store holds a decision that does not pass it.
//
// It looks at d alone. Whether d may follow what a store holds is for the store to say.
func (d Decision) Check() error {
	var c problems
	if err := xa.CheckJob(d.Job); err != nil {
		c.add("%v", err)
	}
	if d.Store == uuid.Nil {
		c.add("store id is not set")
	}
	d.checkNumbers(&c)
	c.moment("time", d.Time)
	c.moment("start of the server", d.Server.Started)
	c.name("server", d.Server.Name)
	d.checkPositions(&c)
	d.checkPending(&c)
	d.checkLanes(&c)
	return errors.Join(c...)
}

func (d Decision) checkNumbers(c *problems) {
	if d.Epoch == 0 {
		c.add("epoch is 0: epochs count from 1")
	}
	switch {
	case d.Number == 0:
		c.add("number is 0: decisions count from 1")
	case d.Predecessor >= d.Number:
		c.add("predecessor %d is not below the decision's own number %d", d.Predecessor, d.Number)
	case d.Whole >= d.Number:
		c.add("wholly committed decision %d is not below the decision's own number %d", d.Whole, d.Number)
	}
}

func (d Decision) checkPositions(c *problems) {
	c.count("positions", len(d.Positions))
	for i, p := range d.Positions {
		c.name("source", p.Source)
		if len(p.Data) > MaxPosition {
			c.add("position of source %q has %d bytes, the limit is %d", p.Source, len(p.Data), MaxPosition)
		}
		if i > 0 && d.Positions[i-1].Source >= p.Source {
			c.add("positions are not sorted, or source %q has two", p.Source)
		}
	}
}

func (d Decision) checkPending(c *problems) {
	c.count("pending ranges", len(d.Pending))
	for i, r := range d.Pending {
		name := r.text(d.Job)
		c.name("server of a branch", r.Server)
		switch {
		case r.Server == "":
			c.add("branches %s: server is not named", name)
		case r.From == 0 || r.To < r.From:
			c.add("branches %s: seqs count from 1 and go upwards", name)
		case r.Epoch == 0 || r.Epoch > d.Epoch:
			c.add("branches %s: epoch is not between 1 and the decision's own, %d", name, d.Epoch)
		case r.Belongs == 0 || r.Belongs > d.Number:
			c.add("branches %s belong to decision %d, which is not between 1 and the decision's own number %d",
				name, r.Belongs, d.Number)
		}
		if r.Lane >= d.Bounds.Lanes {
			c.add("branches %s: lane is not below the bound of lanes, %d", name, d.Bounds.Lanes)
		}
		if i == 0 {
			continue
		}
		prev := d.Pending[i-1]
		switch {
		case prev.Compare(r) >= 0:
			c.add("branches %s are not in order behind %s", name, prev.text(d.Job))
		case prev.sameRun(r) && r.From <= prev.To:
			c.add("branches %s overlap with %s", name, prev.text(d.Job))
		case prev.continues(r):
			c.add("branches %s continue %s and are not merged with it", name, prev.text(d.Job))
		}
	}
}

func (d Decision) checkLanes(c *problems) {
	c.count("lanes", len(d.Lanes))
	for i, l := range d.Lanes {
		if i > 0 && d.Lanes[i-1].Number >= l.Number {
			c.add("lanes are not sorted, or lane %d is there twice", l.Number)
		}
		if l.Number >= d.Bounds.Lanes {
			c.add("lane %d is not below the bound of lanes, %d", l.Number, d.Bounds.Lanes)
		}
		if (l.Epoch == 0) != (l.Seq == 0) {
			c.add("lane %d: watermark (epoch %d, seq %d) must have both or neither", l.Number, l.Epoch, l.Seq)
		}
		if l.Epoch > d.Epoch {
			c.add("lane %d: watermark's epoch %d is above the decision's own, %d", l.Number, l.Epoch, d.Epoch)
		}
		c.count(fmt.Sprintf("tables of lane %d", l.Number), len(l.Tables))
		for j, table := range l.Tables {
			c.name("table", table)
			switch {
			case table == "":
				c.add("lane %d: a table has no name", l.Number)
			case j > 0 && l.Tables[j-1] >= table:
				c.add("lane %d: tables are not sorted, or %q is there twice", l.Number, table)
			}
		}
	}
}

// text is r for people, as the first and the last branch of it.
func (r Range) text(job string) string {
	first := xa.ID{Job: job, Epoch: r.Epoch, Lane: r.Lane, Seq: r.From}
	if r.From == r.To {
		return first.String()
	}
	return fmt.Sprintf("%s to s%d", first, r.To)
}

// problems collects what Check finds.
type problems []error

func (c *problems) add(format string, args ...any) { *c = append(*c, fmt.Errorf(format, args...)) }

func (c *problems) count(what string, n int) {
	if n > maxElements {
		c.add("%d %s, the limit is %d", n, what, maxElements)
	}
}

// CheckSource is an error that tells why name cannot be a source's name in a decision.
func CheckSource(name string) error {
	var c problems
	c.name("source", name)
	return errors.Join(c...)
}

func (c *problems) name(what, name string) {
	switch {
	case len(name) > maxName:
		c.add("name of %s %.40q... has %d bytes, the limit is %d", what, name, len(name), maxName)
	case !utf8.ValidString(name):
		c.add("name of %s %q is not UTF-8", what, name)
	}
}

// moment checks that t is a time as the format keeps it: t is then equal to itself when it is read back.
func (c *problems) moment(what string, t time.Time) {
	switch {
	case t.Location() != time.UTC:
		c.add("%s %s is not UTC", what, t)
	case t.Nanosecond()%1000 != 0:
		c.add("%s %s is finer than microseconds", what, t)
	case t.Year() < 1 || t.Year() > 9999:
		c.add("%s %s is out of range", what, t)
	}
}
