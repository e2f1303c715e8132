package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// listPath is where the list lies in the module.
const listPath = "internal/mutants/list.txt"

func main() {
	only := flag.String("only", "", "regular expression: run only the mutants whose line it fits")
	workers := flag.Int("workers", 2, "mutants at a time")
	limit := flag.Duration("limit", 2*time.Minute, "time limit of one package's tests, after which they are taken to hang")
	verbose := flag.Bool("v", false, "show what the test said that caught a mutant")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := newScreen(os.Stdout)
	err := run(ctx, s, options{*only, *workers, *limit, *verbose})
	s.end()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

type options struct {
	only    string
	workers int
	limit   time.Duration
	verbose bool
}

var errNotAll = errors.New("not every mutant was caught: write the test that is missing")

// run does all of it in the module of the working directory. Its last line on s is the sum.
func run(ctx context.Context, s *screen, o options) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, listPath))
	if err != nil {
		return fmt.Errorf("the list of mutants, from the module's root: %w", err)
	}
	all, err := parse(string(text))
	if err != nil {
		return err
	}
	if err := all.check(root); err != nil {
		return err
	}
	fits, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	var chosen []mutant
	for _, m := range all.mutants {
		if fits.MatchString(m.String()) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 || o.workers < 1 {
		return fmt.Errorf("nothing to do: %d of %d mutants fit, %d at a time", len(chosen), len(all.mutants), o.workers)
	}
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	copies := make([]tree, min(o.workers, len(chosen)))
	for i := range copies {
		if copies[i], err = copyModule(root, filepath.Join(scratch, fmt.Sprint(i))); err != nil {
			return fmt.Errorf("copy of the module: %w", err)
		}
	}
	start := time.Now()
	t := tester{limit: o.limit}
	s.show("the unchanged copy")
	if err := t.unchanged(ctx, copies[0]); err != nil {
		return err
	}
	s.hide("the unchanged copy")
	s.line("the unchanged copy passes, after %s", round(time.Since(start)))
	return judge(ctx, s, t, copies, chosen, o.verbose)
}

// judge runs each mutant on one of copies, and sums up.
func judge(ctx context.Context, s *screen, t tester, copies []tree, mutants []mutant, verbose bool) error {
	s.total = len(mutants)
	var caught int
	var failure error
	var mu sync.Mutex
	queue := make(chan mutant)
	var working sync.WaitGroup
	for _, c := range copies {
		working.Go(func() {
			for m := range queue {
				s.begin(m)
				start := time.Now()
				v, err := t.mutant(ctx, c, m)
				s.finish(m, v, err, time.Since(start), verbose)
				mu.Lock()
				if err == nil && v.caught() {
					caught++
				}
				if err != nil && failure == nil {
					failure = err
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range mutants {
		select {
		case queue <- m:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(queue)
	working.Wait()
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	s.line("mutants: %d of %d caught", caught, len(mutants))
	if failure != nil {
		return failure
	}
	if caught < len(mutants) {
		return errNotAll
	}
	return nil
}
