package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// list is what list.txt holds.
type list struct {
	mutants []mutant
	missing []string // contracts whose code does not exist yet
}

// mutant is one breakage: in one file, one text that occurs there once is replaced.
type mutant struct {
	breaks string // the contract, see contract
	title  string // what is wrong then
	line   int    // in the list
	file   string // from the module's root
	old    string
	new    string
	tries  []try
}

// try is where a mutant is most likely to be caught.
type try struct {
	pkg string // "./recovery"
	run string // regular expression of tests; "" is all
}

func (m mutant) String() string { return m.breaks + ": " + m.title }

// contract is a rule of docs/design.md by its number, a line of the recovery table there ("plan 3"), a heading there in
// quotes, or what the doc comment of a name tells.
const contract = `(?:rule|plan) [0-9]+|"[^"]+"|[a-z]+\.[A-Z][A-Za-z]*`

var head = regexp.MustCompile(`^(missing )?(` + contract + `): (.+)$`)

// parse reads a list:
//
//	# a comment
//	rule 2: OK to a session that did not prepare is believed
//	in recovery/commit.go
//	- held || !c.attached()
//	+ true
//	try ./recovery TestOK
//
//	missing "What is not built yet": there is no engine
//
// Lines that begin with "- " are the text to find, with its line breaks, those with "+ " its replacement, both as they
// are behind the two characters. Empty lines are between mutants.
func parse(text string) (list, error) {
	var l list
	var now *mutant
	for i, line := range strings.Split(text, "\n") {
		n := i + 1
		bad := func(why string) error { return fmt.Errorf("%s:%d: %s: %q", listPath, n, why, line) }
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "":
			now = nil
		case word == "#":
		case now == nil:
			m := head.FindStringSubmatch(line)
			if m == nil {
				return l, bad("want a contract and what breaks it, as in \"rule 2: …\"")
			}
			if m[1] != "" {
				l.missing = append(l.missing, m[2])
				continue
			}
			l.mutants = append(l.mutants, mutant{breaks: m[2], title: m[3], line: n})
			now = &l.mutants[len(l.mutants)-1]
		case word == "in" && now.file == "" && rest != "":
			now.file = rest
		case word == "-" && now.new == "":
			now.old += rest + "\n"
		case word == "+":
			now.new += rest + "\n"
		case word == "try" && rest != "":
			pkg, run, _ := strings.Cut(rest, " ")
			now.tries = append(now.tries, try{pkg, run})
		default:
			return l, bad("want in, -, +, try, or an empty line")
		}
	}
	for i := range l.mutants {
		m := &l.mutants[i]
		m.old, m.new = strings.TrimSuffix(m.old, "\n"), strings.TrimSuffix(m.new, "\n")
	}
	return l, nil
}

// check compares the list with the module in root: every text is there once. All problems are in one error.
func (l list) check(root string) error {
	var problems []error
	seen := map[string]int{}
	for _, m := range l.mutants {
		problem := func(format string, args ...any) {
			problems = append(problems, fmt.Errorf("%s:%d: %s: %s", listPath, m.line, m, fmt.Sprintf(format, args...)))
		}
		if other, twice := seen[m.String()]; twice {
			problem("it is there twice, see line %d", other)
		}
		seen[m.String()] = m.line
		if m.file == "" || m.old == "" || m.old == m.new {
			problem("want a file, a text to find and another one in its place")
			continue
		}
		if strings.HasSuffix(m.file, "_test.go") || !strings.HasSuffix(m.file, ".go") {
			problem("%s is no code of the product", m.file)
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			problem("%v", err)
			continue
		}
		if n := strings.Count(string(content), m.old); n != 1 {
			problem("%s holds its text %d times, want once; it begins with %q", m.file, n, strings.SplitN(m.old, "\n", 2)[0])
		}
	}
	return errors.Join(problems...)
}
