// Command demo loads 20,000 real flights into a MySQL (or MariaDB), kills the process that does it at the worst moments,
// and compares every row and every sum with the file. Its last line is the verdict.
//
//	demo [--mariadb] [--keep]
//
// Exit codes: 0 exactly once, 1 not, or something else went wrong, 2 wrong usage, 130 interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/xasink/xasink/e2e/demo"
	"github.com/xasink/xasink/e2e/demo/flights"
	"github.com/xasink/xasink/e2e/servers"
)

func main() {
	if flights.IsWorker() {
		os.Exit(flights.WorkerMain())
	}
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	mariadb := flags.Bool("mariadb", false, "use a MariaDB instead of a MySQL")
	keep := flags.Bool("keep", false, "leave the server, the tables and the state file, and tell how to look at them")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo: %q is too much; see --help\n", flags.Args())
		return 2
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	flavour := servers.MySQL
	if *mariadb {
		flavour = servers.MariaDB
	}
	err := demo.Run(ctx, demo.Options{Flavour: flavour, Keep: *keep, Out: os.Stdout, Terminal: isTerminal(os.Stdout)})
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "demo: interrupted; what it made is cleared away:", err)
		return 130
	default:
		fmt.Fprintln(os.Stderr, "demo:", err)
		return 1
	}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
