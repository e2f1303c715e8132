package demo

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/xasink/xasink/e2e/demo/flights"
	"github.com/xasink/xasink/e2e/servers"
)

// report prints what each start found, and both sides of the comparison.
func report(out io.Writer, lives []life, r flights.Result) {
	fmt.Fprintln(out, "\nwhat each start found and did:")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "start\tfound prepared\tcommitted\trolled back\talready committed\tended\t")
	for i, l := range lives {
		ended := "finished"
		if l.end.Killed {
			ended = "killed " + l.stage.moment
		}
		o := l.end.Opening
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%s\t\n", i+1, o.Prepared, o.Committed, o.RolledBack, o.Already, ended)
	}
	_ = w.Flush()

	fmt.Fprintln(out, "\nsource and target:")
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\trows\tdepartures\tarrivals\tdelay_min\tdistance_mi\t")
	row := func(name string, rows int, s flights.Sums) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t\n", name, rows, s.Departures, s.Arrivals, s.Delay, s.Distance)
	}
	row("file", r.Source, r.SourceSums)
	row("tables", r.Target, r.TargetSums)
	_ = w.Flush()
	fmt.Fprintf(out, "\nairports whose totals differ: %d of %d\n", r.Totals, r.Airports)
	if r.Alien > 0 {
		fmt.Fprintf(out, "rows that are no record of the file: %d\n", r.Alien)
	}
	fmt.Fprintf(out, "branches left on the server: %d\n", len(r.Left))
}

// verdict is the last line.
func verdict(r flights.Result) string {
	totals := "totals equal"
	if r.Totals != 0 || r.SourceSums != r.TargetSums {
		totals = "totals differ"
	}
	line := fmt.Sprintf("exactly once: %d of %d rows, %d missing, %d doubled, %s", r.Right, r.Source, r.Missing, r.Doubled, totals)
	switch {
	case r.Exact():
		return line
	case len(r.Left) > 0:
		return fmt.Sprintf("not %s, %d branches left", line, len(r.Left))
	}
	return "not " + line
}

// tellHowToLook is for who wants to see it with their own eyes.
func tellHowToLook(out io.Writer, server *servers.Server, s *flights.Stand) {
	fmt.Fprintln(out, "\nkept for you to look at:")
	fmt.Fprintf(out, "  server      %s\n", server.DSN())
	if c := server.ShellCommand(); c != "" {
		fmt.Fprintf(out, "  client      %s\n", c)
	}
	fmt.Fprintf(out, "  rows        SELECT * FROM %s.flights ORDER BY id LIMIT 10;\n", s.Database)
	fmt.Fprintf(out, "  totals      SELECT * FROM %s.airport_totals ORDER BY departures DESC LIMIT 10;\n", s.Database)
	fmt.Fprintf(out, "  ledger      SELECT * FROM %s.jobs;  SELECT * FROM %s.branches;\n", s.Job.Ledger, s.Job.Ledger)
	fmt.Fprintln(out, "  branches    XA RECOVER;")
	fmt.Fprintf(out, "  state file  %s\n", s.Job.State)
	if c := server.RemoveCommand(); c != "" {
		fmt.Fprintf(out, "  end it      %s; rm -r %s\n", c, s.Dir)
	} else {
		fmt.Fprintf(out, "  end it      DROP DATABASE %s; DROP DATABASE %s;  and: rm -r %s\n", s.Database, s.Job.Ledger, s.Dir)
	}
}
