// Command measure prints the tables of docs/facts.md, measured on the servers that XASINK_TEST_DSN and
// XASINK_TEST_DSN_MARIADB name, or on servers that it starts.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"

	"github.com/xasink/xasink/e2e/facts"
	"github.com/xasink/xasink/e2e/servers"
	"github.com/xasink/xasink/xa/xasim/conformance"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

var questions = []string{"listed", "kill", "named", "undone"}

func run(ctx context.Context, only []string) (err error) {
	for _, q := range only {
		if !slices.Contains(questions, q) {
			return fmt.Errorf("there is no question %q; want some of %v, or none for all", q, questions)
		}
	}
	wanted := func(q string) bool { return len(only) == 0 || slices.Contains(only, q) }
	labs := map[servers.Flavour]*facts.Lab{}
	for _, f := range []servers.Flavour{servers.MySQL, servers.MariaDB} {
		s, e := servers.Start(ctx, f, servers.Options{Log: os.Stderr})
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		if labs[f], err = facts.Open(ctx, s); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, labs[f].Close(context.WithoutCancel(ctx))) }()
		version, e := labs[f].Version(ctx)
		if e != nil {
			return e
		}
		fmt.Printf("%s is %s\n", f, version)
	}
	for _, f := range []servers.Flavour{servers.MySQL, servers.MariaDB} {
		if err := one(ctx, labs[f], wanted); err != nil {
			return fmt.Errorf("on %s: %w", f, err)
		}
	}
	if !wanted("undone") {
		return nil
	}
	list, err := facts.MeasureUndone(ctx, labs)
	if err != nil {
		return err
	}
	fmt.Println("\n| undone in the branch, then | another session's | mysql | attached | mariadb |\n|---|---|---|---|---|")
	for _, u := range list {
		fmt.Printf("| %s | `%s` |", u.Undone, u.Probe)
		for _, k := range conformance.Kinds {
			fmt.Printf(" %s |", u.Answer[k])
		}
		fmt.Println()
	}
	return nil
}

func one(ctx context.Context, lab *facts.Lab, wanted func(string) bool) error {
	if wanted("listed") {
		fmt.Printf("\n%s\n| commit on | commits × rows | listed, invisible | listed, visible | gone, visible | gone, invisible | visible, then listed |\n"+
			"|---|---|---|---|---|---|---|\n", lab.Flavour)
		for _, shape := range []struct {
			commits, rows int
			other         bool
		}{{500, 1, false}, {500, 1, true}, {10, 20000, false}, {10, 20000, true}} {
			l, err := lab.MeasureListed(ctx, shape.commits, shape.rows, shape.other)
			if err != nil {
				return err
			}
			on := "the preparing session"
			if shape.other {
				on = "another session"
			}
			fmt.Printf("| %s | %d × %d | %d | %d | %d | **%d** | %d |\n", on, l.Commits, shape.rows, l.ListedInvisible, l.ListedVisible,
				l.GoneVisible, l.GoneInvisible, l.VisibleListed)
		}
	}
	if wanted("kill") {
		k, err := lab.MeasureKill(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("\n%s, KILL by a user with no privilege but on its tables\n- own session: %s; it then answers: %s\n- KILL QUERY of one: %s\n"+
			"- own session in an open branch: %s; %s\n- another user's: %s; in the process list: %t\n",
			lab.Flavour, k.Own, k.OwnGone, k.OwnQuery, k.OwnWithBranch, k.OwnWithBranchDone, k.Others, k.OthersListed)
	}
	if wanted("named") {
		n, err := lab.MeasureNamed(ctx)
		if err != nil {
			return err
		}
		fmt.Printf("\n%s, names of GET_LOCK: capitals are equal %t, accents %t, a space at the end %t; longest %d\n",
			lab.Flavour, n.Capitals, n.Accents, n.Spaces, n.Longest)
	}
	return nil
}
