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
	"io"
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
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

const usage = `usage: demo [--mariadb] [--keep]

  --mariadb  use a MariaDB instead of a MySQL
  --keep     leave the server, the tables and the state file, and tell how to
             look at them

`

// parse understands the command line; flag.ErrHelp asks for the usage.
func parse(args []string) (o demo.Options, err error) {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	mariadb := flags.Bool("mariadb", false, "")
	flags.BoolVar(&o.Keep, "keep", false, "")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is too much", flags.Args())
	}
	o.Flavour = servers.MySQL
	if *mariadb {
		o.Flavour = servers.MariaDB
	}
	return o, nil
}

func run(args []string, stdout, stderr *os.File) int {
	o, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage, servers.Environment())
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "demo: wrong usage, see --help: %v\n", err)
		return 2
	}
	o.Out, o.Terminal = stdout, isTerminal(stdout)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	err = demo.Run(ctx, o)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "demo: interrupted; what it made is cleared away:", err)
		return 130
	default:
		fmt.Fprintln(stderr, "demo:", err)
		return 1
	}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
