package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// Files of a local server's directory.
const (
	dirPattern = "xasink-server-*"
	fileOwner  = "owner"
	fileClone  = "clone"
	fileKeep   = "keep"
	filePID    = "server.pid"
	fileLog    = "server.log"
	fileInit   = "init.sql"
)

// localProcess is a server program of this machine, in a temporary directory.
type localProcess struct {
	flavour Flavour
	binary  string
	dir     string
	port    int
	args    []string
	keep    bool
	cmd     *exec.Cmd
	gone    chan struct{} // closed when cmd has ended
}

// findBinary looks for the flavour's server program, on PATH and where
// distributions hide it from plain users. Without one it says what to install.
func findBinary(ctx context.Context, flavour Flavour) (binary string, lacking error) {
	names, lacking := []string{"mysqld"}, errors.New("mysqld (MySQL 8.0.30 or newer)")
	if flavour == MariaDB {
		names, lacking = []string{"mariadbd", "mysqld"}, errors.New("mariadbd (MariaDB 10.5.2 or newer)")
	}
	for _, name := range names {
		for _, candidate := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name, "/usr/libexec/" + name} {
			path, err := exec.LookPath(candidate)
			if err != nil {
				continue
			}
			version, err := exec.CommandContext(ctx, path, "--no-defaults", "--version").Output()
			if err == nil && flavourOf(string(version)) == flavour {
				return path, nil
			}
		}
	}
	return "", lacking
}

// startProcess makes a data directory and runs a server on it. Before, it
// removes what dead processes left.
func startProcess(ctx context.Context, flavour Flavour, binary string, opts Options) (host, int, error) {
	if err := removeProcesses(opts.Log, Leftovers{}); err != nil {
		fmt.Fprintf(opts.Log, "leftover servers: %v\n", err)
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, 0, err
	}
	dir, err := os.MkdirTemp("", dirPattern)
	if err != nil {
		return nil, 0, fmt.Errorf("start %s: %w", binary, err)
	}
	fmt.Fprintf(opts.Log, "%s: starting %s in %s\n", flavour, binary, dir)
	h := &localProcess{
		flavour: flavour, binary: binary, dir: dir, port: port, args: opts.Args, keep: opts.Keep,
		gone: make(chan struct{}),
	}
	close(h.gone)
	err = h.prepare(ctx)
	if err == nil {
		err = h.run(ctx)
	}
	if err != nil {
		ctx, cancel := cleanup(ctx)
		defer cancel()
		return nil, 0, errors.Join(fmt.Errorf("start %s: %w", binary, err), h.remove(ctx))
	}
	return h, port, nil
}

func (h *localProcess) path(name string) string { return filepath.Join(h.dir, name) }

// prepare fills the directory: whose it is, the data, and the statements of the
// first start.
func (h *localProcess) prepare(ctx context.Context) error {
	// The owner last: without it nobody looks at the rest.
	if err := os.WriteFile(h.path(fileClone), []byte(clone()), 0o600); err != nil {
		return err
	}
	if h.keep {
		if err := os.WriteFile(h.path(fileKeep), nil, 0o600); err != nil {
			return err
		}
	}
	if err := os.WriteFile(h.path(fileOwner), []byte(self().String()), 0o600); err != nil {
		return err
	}
	args := []string{"--no-defaults", "--datadir=" + h.path("data")}
	args = append(args, asUser()...)
	var cmd *exec.Cmd
	if h.flavour == MariaDB {
		installer, err := exec.LookPath("mariadb-install-db")
		if err != nil {
			return fmt.Errorf("%s is here and its mariadb-install-db is not: %w", h.binary, err)
		}
		cmd = exec.CommandContext(ctx, installer,
			append(args, "--force", "--auth-root-authentication-method=normal", "--skip-test-db")...)
	} else {
		cmd = exec.CommandContext(ctx, h.binary, append(args, "--initialize-insecure")...)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make the data directory: %w\n%s", err, lastLines(string(out), 20))
	}
	// One statement a line, as --init-file reads them.
	sql := fmt.Sprintf("ALTER USER '%s'@'localhost' IDENTIFIED BY '%s';\n", rootUser, rootPassword) +
		fmt.Sprintf("CREATE USER IF NOT EXISTS '%s'@'127.0.0.1';\n", rootUser) +
		fmt.Sprintf("ALTER USER '%s'@'127.0.0.1' IDENTIFIED BY '%s';\n", rootUser, rootPassword) +
		fmt.Sprintf("GRANT ALL ON *.* TO '%s'@'127.0.0.1' WITH GRANT OPTION;\n", rootUser)
	return os.WriteFile(h.path(fileInit), []byte(sql), 0o600)
}

// asUser is what a server program wants to hear before it runs as root.
func asUser() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

func (h *localProcess) run(ctx context.Context) error {
	args := []string{"--no-defaults"}
	args = append(args, asUser()...)
	args = append(args,
		"--datadir="+h.path("data"),
		"--bind-address=127.0.0.1", "--port="+strconv.Itoa(h.port),
		"--socket="+h.path("s"), "--pid-file="+h.path(filePID),
		"--max-connections=1000")
	if h.flavour == MySQL {
		args = append(args, "--mysqlx=OFF", "--secure-file-priv=NULL")
	}
	if _, err := os.Stat(h.path(fileInit)); err == nil {
		// Renamed, since the data has its users after the first start.
		if err := os.Rename(h.path(fileInit), h.path("done-"+fileInit)); err != nil {
			return err
		}
		args = append(args, "--init-file="+h.path("done-"+fileInit))
	}
	args = append(args, h.args...)

	log, err := os.OpenFile(h.path(fileLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	// The server lives until it is ended here, not until a context ends.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), h.binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = ownGroup(!h.keep)
	started, gone := make(chan error, 1), make(chan struct{})
	// Ends with the server, which remove ends and waits for. A kept server's
	// goroutine ends with this process.
	go func() {
		// The signal at the parent's death is sent at the death of the thread
		// that started the child: prctl(2), PR_SET_PDEATHSIG.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(gone)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended stands in its log
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	h.cmd, h.gone = cmd, gone
	return nil
}

func (h *localProcess) end(ctx context.Context, now bool) error {
	if ended(h.gone) {
		return nil
	}
	signal := syscall.SIGTERM
	if now {
		signal = syscall.SIGKILL
	}
	if err := h.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-h.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func ended(gone <-chan struct{}) bool {
	select {
	case <-gone:
		return true
	default:
		return false
	}
}

func (h *localProcess) running(context.Context) (bool, error) { return !ended(h.gone), nil }

func (h *localProcess) logs(context.Context) (string, error) {
	text, err := os.ReadFile(h.path(fileLog))
	return string(text), err
}

func (h *localProcess) remove(ctx context.Context) error {
	if err := h.end(ctx, true); err != nil {
		return err
	}
	return os.RemoveAll(h.dir)
}

func (h *localProcess) shellCommand() string {
	return fmt.Sprintf("%s -h127.0.0.1 -P%d -u%s -p%s", h.flavour, h.port, rootUser, rootPassword)
}

func (h *localProcess) removeCommand() string {
	return fmt.Sprintf("kill -9 %d; rm -r %s", h.cmd.Process.Pid, h.dir)
}

// pidOf is the server process of a directory that another process made, if it
// still runs: the name of its data directory stands in its command line.
func pidOf(dir string) (int, bool) {
	text, err := os.ReadFile(filepath.Join(dir, filePID))
	if err != nil {
		return 0, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, false
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return pid, err == nil && strings.Contains(string(line), "--datadir="+dir+"/")
}
