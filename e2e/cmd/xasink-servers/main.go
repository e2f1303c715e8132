// Command xasink-servers starts the database servers that the project's tests
// need, and tells where they are.
//
//	xasink-servers [--mysql] [--mariadb] -- command args…
//
// runs the command with XASINK_TEST_DSN and XASINK_TEST_DSN_MARIADB set, removes
// the servers when it ends, and ends with its exit code.
//
//	eval "$(xasink-servers)"
//
// prints the two as shell exports and leaves the servers up, until
//
//	xasink-servers --stop
//
// removes what was left up; --sweep removes only what runs that died have left,
// which each start does too. Both mean the servers of the clone of the repository
// that this program was built from, and with --all those of every clone. Without
// --mysql or --mariadb both servers are started. A variable that is set already
// names a server to use: none is started for it. --help names all variables.
//
// Exit codes: 0 fine, 1 no server could be had, 2 wrong usage (nothing was
// started then), else the command's own (128 + n when signal n ended it).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/xasink/xasink/e2e/servers"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

const usage = `usage: xasink-servers [--mysql] [--mariadb] [-- command args…]
       xasink-servers --stop | --sweep [--all]

starts the database servers that the project's tests need; runs the command with
them and removes them when it ends, or without a command prints shell exports and
leaves them up.

  --mysql    start a MySQL; without this and the next, both are started
  --mariadb  start a MariaDB
  --stop     remove the servers that earlier runs left up, and what runs that
             died have left
  --sweep    remove only what runs that died have left
  --all      with --stop or --sweep: also what belongs to other clones of the
             repository

`

// options are the command line, understood.
type options struct {
	flavours []servers.Flavour
	remove   *servers.Leftovers // not nil: remove these, and start nothing
	command  []string           // none: leave the servers up
}

var errUsage = errors.New("wrong usage, see --help")

func parse(args []string) (options, error) {
	flags := flag.NewFlagSet("xasink-servers", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	mysql, mariadb := flags.Bool("mysql", false, ""), flags.Bool("mariadb", false, "")
	stop, sweep, all := flags.Bool("stop", false, ""), flags.Bool("sweep", false, ""), flags.Bool("all", false, "")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return options{}, err
	} else if err != nil {
		return options{}, fmt.Errorf("%w: %w", errUsage, err)
	}
	o := options{command: flags.Args()}
	switch start := *mysql || *mariadb || len(o.command) > 0; {
	case len(o.command) == 0 && len(args) > 0 && args[len(args)-1] == "--":
		return o, fmt.Errorf("%w: there is no command behind --", errUsage)
	case len(o.command) > 0 && o.command[0] == "":
		return o, fmt.Errorf("%w: the command's name is empty", errUsage)
	case *stop && *sweep, (*stop || *sweep) && start:
		return o, fmt.Errorf("%w: --stop and --sweep stand alone, or with --all", errUsage)
	case *all && !*stop && !*sweep:
		return o, fmt.Errorf("%w: --all goes with --stop or --sweep", errUsage)
	case *stop || *sweep:
		o.remove = &servers.Leftovers{Kept: *stop, All: *all}
		return o, nil
	}
	if *mysql || !*mariadb {
		o.flavours = append(o.flavours, servers.MySQL)
	}
	if *mariadb || !*mysql {
		o.flavours = append(o.flavours, servers.MariaDB)
	}
	return o, nil
}

func run(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage, servers.Environment())
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "xasink-servers:", err)
		return 2
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	if o.remove != nil {
		if err := servers.Remove(ctx, *o.remove, stderr); err != nil {
			fmt.Fprintln(stderr, "xasink-servers:", err)
			return 1
		}
		return 0
	}

	keep := len(o.command) == 0
	started, err := startAll(ctx, o.flavours, servers.Options{Keep: keep, Log: stderr})
	if err != nil {
		fmt.Fprintln(stderr, "xasink-servers:", errors.Join(err, closeAll(started)))
		return 1
	}
	if keep {
		printExports(started, stdout, stderr)
		return 0
	}
	code := runCommand(ctx, o.command, started, stdout, stderr)
	if err := closeAll(started); err != nil {
		fmt.Fprintln(stderr, "xasink-servers:", err)
		if code == 0 {
			code = 1
		}
	}
	return code
}

// startAll starts a server of each flavour. With an error it returns those that
// are up, for the caller to close.
func startAll(ctx context.Context, flavours []servers.Flavour, opts servers.Options) ([]*servers.Server, error) {
	var started []*servers.Server
	for _, flavour := range flavours {
		s, err := servers.Start(ctx, flavour, opts)
		if err != nil {
			return started, err
		}
		fmt.Fprintf(opts.Log, "%s: ready at %s\n", flavour, s.Addr())
		started = append(started, s)
	}
	return started, nil
}

func closeAll(started []*servers.Server) error {
	var errs []error
	for _, s := range started {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

func printExports(started []*servers.Server, stdout, stderr io.Writer) {
	for _, s := range started {
		fmt.Fprintf(stdout, "export %s=%s\n", s.Flavour.DSNVariable(), shellQuoted(s.DSN()))
		if !s.Given() {
			fmt.Fprintf(stderr, "%s: look with: %s\n%s: end it with: %s\n",
				s.Flavour, s.ShellCommand(), s.Flavour, s.RemoveCommand())
		}
	}
}

// runCommand runs the command with the servers in its environment and returns
// its exit code. A signal that ends this program is handed on to the command,
// whose end is waited for.
func runCommand(ctx context.Context, command []string, started []*servers.Server, stdout, stderr io.Writer) int {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, stderr
	cmd.Env = os.Environ()
	for _, s := range started {
		cmd.Env = append(cmd.Env, s.Flavour.DSNVariable()+"="+s.DSN())
	}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal())
		}
		return exit.ExitCode()
	case cmd.ProcessState != nil: // it ended well after ctx did
		return 128 + int(syscall.SIGTERM)
	default:
		fmt.Fprintln(stderr, "xasink-servers:", err)
		return 1
	}
}
