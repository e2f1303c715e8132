// Package conformance has one table of what servers do: verb × state × condition → outcome, as data, and runs it
// against the simulator and against real servers alike. What the simulator does is as good as this table is long.
package conformance

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// Kinds are the columns of outcomes, by the names of xasim's kinds.
var Kinds = []string{"mysql", "attached", "mariadb"}

// Step is one thing that is done. Who is the session, a letter, or "" for what the runner itself does: quit a, kill a,
// kill query a, idle a, restart, wait a, gone a.
type Step struct {
	Who   string
	Async bool // the answer is not waited for; "wait a" gives it
	Do    string
	// Fails is the error number that the step must end with while a state is set up; 0: it must succeed.
	Fails int
}

// AnyAnswer is Fails of a step whose answer differs among the kinds ("!*").
const AnyAnswer = -1

// Script is a named state or condition.
type Script struct {
	Name  string
	Steps []Step
	// Exclusive: it acts on the whole server, so that nobody else may use it meanwhile.
	Exclusive bool
	// Restarts: it kills the server and starts it again.
	Restarts bool
}

// Case is one line of the table.
type Case struct {
	Line       int
	State      string
	Conditions []string
	Do         Step
	Want       map[string]string // by kind
}

// Name is the case for people.
func (c Case) Name() string {
	parts := append([]string{c.State}, c.Conditions...)
	return fmt.Sprintf("line %d: %s: %s", c.Line, strings.Join(parts, ", "), c.Do.text())
}

// Allows tells whether outcome is one of those that the case may have on a kind of server.
func (c Case) Allows(kind, outcome string) bool {
	return slices.Contains(strings.Split(c.Want[kind], " or "), outcome)
}

func (s Step) text() string {
	if s.Who == "" {
		return s.Do
	}
	return s.Who + ": " + s.Do
}

// Table is the whole of it.
type Table struct {
	Scripts map[string]Script
	Cases   []Case
	lines   []string
}

//go:embed testdata/table.txt
var text string

// Load reads the table that the package carries.
func Load() (*Table, error) { return Parse(text) }

// Parse reads a table:
//
//	script NAME [exclusive] [restarts]
//	  a: STATEMENT [!NUMBER]        one step a line
//
//	state | conditions | do | outcome on mysql | attached | mariadb
//
// An outcome of "=" is that of the column before, and "A or B" is either. Lines that begin with # are comments.
func Parse(text string) (*Table, error) {
	t := &Table{Scripts: map[string]Script{}, lines: strings.Split(text, "\n")}
	current := ""
	for i, line := range t.lines {
		fail := func(what string) error { return fmt.Errorf("line %d: %s: %q", i+1, what, line) }
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
		case strings.HasPrefix(line, "script "):
			words := strings.Fields(trimmed)
			current = words[1]
			if _, twice := t.Scripts[current]; twice {
				return nil, fail("this script is there already")
			}
			s := Script{Name: current}
			for _, w := range words[2:] {
				s.Exclusive = s.Exclusive || w == "exclusive"
				s.Restarts = s.Restarts || w == "restarts"
			}
			t.Scripts[current] = s
		case strings.HasPrefix(line, "  "):
			s, known := t.Scripts[current]
			if !known {
				return nil, fail("a step without a script")
			}
			s.Steps = append(s.Steps, parseStep(trimmed))
			t.Scripts[current] = s
		default:
			c, err := t.parseCase(line)
			if err != nil {
				return nil, fail(err.Error())
			}
			c.Line = i + 1
			t.Cases = append(t.Cases, c)
		}
	}
	return t, nil
}

// parseStep reads "a: STATEMENT", "a&: STATEMENT", or what the runner does.
func parseStep(s string) Step {
	step := Step{Do: s}
	if who, do, ok := strings.Cut(s, ": "); ok && len(who) <= 2 {
		step.Async = strings.HasSuffix(who, "&")
		step.Who, step.Do = strings.TrimSuffix(who, "&"), do
	}
	if i := strings.LastIndex(step.Do, " !"); i >= 0 {
		if step.Do[i:] == " !*" {
			step.Fails = AnyAnswer
			step.Do = step.Do[:i]
		} else if _, err := fmt.Sscanf(step.Do[i:], " !%d", &step.Fails); err == nil {
			step.Do = step.Do[:i]
		}
	}
	return step
}

func (t *Table) parseCase(line string) (Case, error) {
	fields := strings.Split(line, "|")
	if len(fields) != 3 && len(fields) != 3+len(Kinds) {
		return Case{}, fmt.Errorf("want state | conditions | do | %s", strings.Join(Kinds, " | "))
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	c := Case{State: fields[0], Do: parseStep(fields[2]), Want: map[string]string{}}
	if fields[1] != "" {
		for name := range strings.SplitSeq(fields[1], ",") {
			c.Conditions = append(c.Conditions, strings.TrimSpace(name))
		}
	}
	for _, name := range append([]string{c.State}, c.Conditions...) {
		if _, known := t.Scripts[name]; !known {
			return Case{}, fmt.Errorf("no script %q", name)
		}
	}
	before := ""
	for i, kind := range Kinds {
		if len(fields) == 3 {
			break
		}
		want := fields[3+i]
		if want == "=" {
			want = before
		}
		c.Want[kind], before = want, want
	}
	return c, nil
}

// Exclusive tells whether the case acts on the whole server.
func (t *Table) Exclusive(c Case) bool {
	return t.any(c, func(s Script) bool { return s.Exclusive || s.Restarts })
}

// Restarts tells whether the case needs a server that can be killed.
func (t *Table) Restarts(c Case) bool { return t.any(c, func(s Script) bool { return s.Restarts }) }

func (t *Table) any(c Case, what func(Script) bool) bool {
	for _, name := range append([]string{c.State}, c.Conditions...) {
		if what(t.Scripts[name]) {
			return true
		}
	}
	return false
}

// With is the text of the table with other outcomes, by line and kind, for a table that is measured anew.
func (t *Table) With(got map[int]map[string]string) string {
	lines := append([]string(nil), t.lines...)
	for _, c := range t.Cases {
		measured := got[c.Line]
		if measured == nil {
			continue
		}
		fields := strings.Split(lines[c.Line-1], "|")[:3]
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		before := ""
		for _, kind := range Kinds {
			have := measured[kind]
			if have == "" {
				have = c.Want[kind]
			}
			shown := have
			if have == before {
				shown = "="
			}
			fields = append(fields, shown)
			before = have
		}
		lines[c.Line-1] = strings.Replace(strings.Join(fields, " | "), "|  |", "| |", 1)
	}
	return strings.Join(lines, "\n")
}
