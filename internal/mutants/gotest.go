package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	module = "github.com/xasink/xasink"
	// own is not run on mutants: its test finds every mutant, as a text of the list that is not there.
	own = "./internal/mutants"
	sim = "./internal/sim"
)

// simArgs make the simulation the same in every run.
var simArgs = []string{"-args", "-sim.seed=1"}

// buildTime is what compiling may take, on top of the tests' own limit.
const buildTime = 5 * time.Minute

// outcome is what tests said.
type outcome uint8

const (
	passed    outcome = iota
	failed            // a test failed, or its package as a whole
	hung              // a package did not end within its limit
	unbuilt           // it does not compile
	notTested         // the go command itself failed
)

// verdict is an outcome with where it came from.
type verdict struct {
	outcome outcome
	by      string // package and test, without the module's name
	detail  string // the end of what it said
}

func (v verdict) caught() bool { return v.outcome == failed || v.outcome == hung }

// tester runs tests without any server.
type tester struct {
	limit time.Duration // of one package
}

// unchanged is an error unless all tests pass in t.
func (g tester) unchanged(ctx context.Context, t tree) error {
	v, err := g.rest(ctx, t)
	if err == nil && v.outcome == passed {
		v, err = g.test(ctx, t, []string{sim}, nil)
	}
	switch {
	case err != nil:
		return err
	case v.outcome != passed:
		return fmt.Errorf("the unchanged module does not pass, so that no mutant can be judged: %s\n%s", v.by, v.detail)
	}
	return nil
}

// mutant is the verdict of the first test that fails with m: those that the list names, m's own package, the simulation,
// all others. Packages that do not depend on what was changed are known to pass by the go command, which remembers.
func (g tester) mutant(ctx context.Context, t tree, m mutant) (v verdict, err error) {
	err = t.with(m, func() error {
		for _, try := range append(slices.Clone(m.tries), try{pkg: "./" + path.Dir(m.file)}, try{pkg: sim}) {
			var flags []string
			if try.run != "" {
				flags = []string{"-run", try.run}
			}
			if v, err = g.test(ctx, t, []string{try.pkg}, flags); err != nil || v.outcome != passed {
				return err
			}
		}
		v, err = g.rest(ctx, t)
		return err
	})
	return v, err
}

// rest runs everything but the simulation.
func (g tester) rest(ctx context.Context, t tree) (verdict, error) {
	list := exec.CommandContext(ctx, "go", "list", "./...")
	list.Dir, list.Env = t.dir, environment()
	out, err := list.Output()
	if err != nil {
		return verdict{}, fmt.Errorf("go list: %w", err)
	}
	var packages []string
	for line := range strings.Lines(string(out)) {
		pkg := "." + strings.TrimPrefix(strings.TrimSpace(line), module)
		if pkg != own && pkg != sim {
			packages = append(packages, pkg)
		}
	}
	return g.test(ctx, t, packages, nil)
}

// test runs packages until the first failure.
func (g tester) test(ctx context.Context, t tree, packages, flags []string) (verdict, error) {
	args := append([]string{"test", "-json", "-trimpath", "-vet=off", "-failfast", "-timeout", g.limit.String()}, flags...)
	args = append(args, packages...)
	if slices.Contains(packages, sim) {
		args = append(args, simArgs...)
	}
	ctx, cancel := context.WithTimeout(ctx, g.limit+buildTime)
	defer cancel()
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir, command.Env = t.dir, environment()
	var complaint bytes.Buffer
	command.Stderr = &complaint
	end := asGroup(command)
	out, err := command.StdoutPipe()
	if err != nil {
		return verdict{}, err
	}
	if err := command.Start(); err != nil {
		return verdict{}, err
	}
	v, readErr := read(bufio.NewReader(out))
	if v.outcome != passed || readErr != nil {
		end() // the rest does not matter any more
	}
	waitErr := command.Wait()
	switch {
	case v.outcome != passed:
		return v, nil
	case ctx.Err() != nil:
		return verdict{}, fmt.Errorf("tests of %s were ended: %w", t.dir, ctx.Err())
	case readErr != nil:
		return verdict{}, readErr
	case waitErr != nil:
		return verdict{}, fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), waitErr, complaint.String())
	}
	return v, nil
}

// environment is ours without servers.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "XASINK_TEST_DSN") })
}

// event is a line of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
}

// longest is how much is kept of what one test says.
const longest = 8 << 10

// read reads events up to the first failure, or to the end.
func read(r *bufio.Reader) (verdict, error) {
	said := map[[2]string]string{} // by package, or import path, and test
	keep := func(pkg, test, text string) {
		k := [2]string{pkg, test}
		said[k] += text
		if n := len(said[k]) - longest; n > longest {
			said[k] = said[k][n:]
		}
	}
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if bad := json.Unmarshal(line, &e); bad != nil {
				return verdict{}, fmt.Errorf("go test said %q", line)
			}
			switch e.Action {
			case "output", "build-output":
				keep(or(e.Package, e.ImportPath), e.Test, e.Output)
			case "fail":
				return failure(e, said), nil
			}
		}
		if err != nil {
			if errors.Is(err, os.ErrClosed) || strings.Contains(err.Error(), "EOF") {
				return verdict{}, nil
			}
			return verdict{}, err
		}
	}
}

// failure is the verdict on a failed test or package.
func failure(e event, said map[[2]string]string) verdict {
	pkg := strings.TrimPrefix(e.Package, module+"/")
	if e.FailedBuild != "" {
		return verdict{unbuilt, pkg, said[[2]string{e.FailedBuild, ""}]}
	}
	// A test that is ended by the time limit does not fail by itself: its package does.
	for k, text := range said {
		if k[0] == e.Package && strings.Contains(text, "panic: test timed out after") {
			return verdict{hung, strings.TrimSpace(pkg + " " + runningTest(text)), text}
		}
	}
	v := verdict{failed, strings.TrimSpace(pkg + " " + e.Test), said[[2]string{e.Package, e.Test}]}
	if e.Test == "" {
		v.by += " as a whole"
	}
	return v
}

var running = regexp.MustCompile(`running tests:\n\s+(\S+)`)

// runningTest is the first test that text, of a package that was ended, says was running; "" where it says none.
func runningTest(text string) string {
	if m := running.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
