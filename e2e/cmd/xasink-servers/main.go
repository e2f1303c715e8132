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
// removes all that were left up; --sweep removes only what runs that died have
// left, which each start does too. Without --mysql or --mariadb both are started.
// A variable that is set already names a server to use: none is started for it.
//
// Exit codes: 0 fine, 1 no server could be had, 2 wrong usage, else the
// command's own (128 + n when signal n ended it).
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

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("xasink-servers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	onlyMySQL := flags.Bool("mysql", false, "start a MySQL")
	onlyMariaDB := flags.Bool("mariadb", false, "start a MariaDB")
	stop := flags.Bool("stop", false, "remove the servers that earlier runs left up")
	sweep := flags.Bool("sweep", false, "remove the servers of runs that died")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: xasink-servers [--mysql] [--mariadb] [-- command args…]\n       xasink-servers --stop | --sweep")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	command := flags.Args()
	if (*stop || *sweep) && (flags.NFlag() > 1 || len(command) > 0) {
		fmt.Fprintln(stderr, "xasink-servers: --stop and --sweep stand alone")
		return 2
	}

	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	if *stop || *sweep {
		remove := servers.RemoveLeft
		if *stop {
			remove = servers.RemoveKept
		}
		if err := remove(ctx, stderr); err != nil {
			fmt.Fprintln(stderr, "xasink-servers:", err)
			return 1
		}
		return 0
	}

	var flavours []servers.Flavour
	if *onlyMySQL || !*onlyMariaDB {
		flavours = append(flavours, servers.MySQL)
	}
	if *onlyMariaDB || !*onlyMySQL {
		flavours = append(flavours, servers.MariaDB)
	}
	keep := len(command) == 0
	started, err := startAll(ctx, flavours, servers.Options{Keep: keep, Log: stderr})
	if err != nil {
		fmt.Fprintln(stderr, "xasink-servers:", errors.Join(err, closeAll(started)))
		return 1
	}
	if keep {
		printExports(started, stdout, stderr)
		return 0
	}
	code := runCommand(ctx, command, started, stdout, stderr)
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
