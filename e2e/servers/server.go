package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Flavour is the kind of a server.
type Flavour string

// The two flavours.
const (
	MySQL   Flavour = "mysql"
	MariaDB Flavour = "mariadb"
)

// Options say what server Start gives. The zero value is any server.
type Options struct {
	// Own asks for a server that nobody else uses, whatever the environment
	// says: for tests that kill it, and those that need Args.
	Own bool
	// Args are added to the command line of a started server, after
	// --max-connections=1000. A server given by the environment ignores them.
	Args []string
	// Keep lets a started server outlive this process. It stays until Remove with
	// Leftovers.Kept, or the command that RemoveCommand tells.
	Keep bool
	// Log gets a line for each step that takes time (engine, pull, build,
	// start). Nil: nobody.
	Log io.Writer
}

// ErrGiven is returned by Kill, Stop and Restart of a server that the
// environment gave: it is not ours to end. Start with Options.Own instead.
var ErrGiven = errors.New("the server is given by the environment, it is not ours to end")

const (
	rootUser     = "root"
	rootPassword = "xasink" // of servers on 127.0.0.1 that live for a test
	readyLimit   = 2 * time.Minute
	closeLimit   = time.Minute
)

// Server is a running server. DSN, Addr and Flavour may be used by any
// goroutine; Kill, Stop, Restart and Close by one at a time.
type Server struct {
	// Flavour is the kind that was asked for and found.
	Flavour Flavour

	dsn  string
	addr string
	host host // nil: given by the environment
}

// host is where a started server runs: a container, or a process of this
// machine.
type host interface {
	// run starts a server that is not running, on its data and port, and does
	// not wait until it answers.
	run(ctx context.Context) error
	// end stops the server and returns when it is gone: with SIGKILL if now, else
	// in order. A server that is gone already is no error.
	end(ctx context.Context, now bool) error
	// running tells whether the server's process is there.
	running(ctx context.Context) (bool, error)
	// logs is what the server has written, from all its starts.
	logs(ctx context.Context) (string, error)
	// remove ends the server and deletes its data.
	remove(ctx context.Context) error
	// shellCommand opens a client on the server, removeCommand does what remove
	// does, both for people to type.
	shellCommand() string
	removeCommand() string
}

// Start gives a server of a flavour that answers SQL as an administrator. ctx
// bounds the start, an image build included, and not the server's life; beside
// it, a server that does not answer within two minutes of its start is an error
// with the end of its log. The caller must Close what Start returns.
func Start(ctx context.Context, flavour Flavour, opts Options) (*Server, error) {
	if opts.Log == nil {
		opts.Log = io.Discard
	}
	if dsn := os.Getenv(flavour.DSNVariable()); dsn != "" && !opts.Own {
		return given(ctx, flavour, dsn)
	}
	h, port, err := place(ctx, flavour, opts)
	if err != nil {
		return nil, err
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	s := &Server{
		Flavour: flavour,
		dsn:     fmt.Sprintf("%s:%s@tcp(%s)/", rootUser, rootPassword, addr),
		addr:    addr,
		host:    h,
	}
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

// place starts a container, or else a local process, on a port of 127.0.0.1.
func place(ctx context.Context, flavour Flavour, opts Options) (host, int, error) {
	binary, lacking := findBinary(ctx, flavour)
	engine, err := connectEngine(ctx)
	if err != nil {
		if lacking != nil {
			return nil, 0, noServer(flavour, lacking, err)
		}
		return startProcess(ctx, flavour, binary, opts)
	}
	err = engine.ensureImage(ctx, flavour, opts.Log)
	if err != nil {
		defer engine.close()
		if lacking != nil {
			return nil, 0, fmt.Errorf("no %s server can be had: %w", flavour, err)
		}
		fmt.Fprintf(opts.Log, "%s: %v; taking %s of this machine\n", flavour, err, binary)
		return startProcess(ctx, flavour, binary, opts)
	}
	return startContainer(ctx, engine, flavour, opts)
}

// noServer is one line that says what to install. engine is why there is no
// Docker, in as many lines as it likes.
func noServer(flavour Flavour, lacking, engine error) error {
	return fmt.Errorf("no %s server can be had: install Docker and start it (scripts/engine.sh does both as root on Debian), "+
		"or install %w, or set %s; without Docker because: %s", flavour, lacking, flavour.DSNVariable(), oneLine(engine.Error()))
}

func oneLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "; ")
}

// given is the server of the environment, after it answered.
func given(ctx context.Context, flavour Flavour, dsn string) (*Server, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("%s is not a DSN such as user:password@tcp(127.0.0.1:3306)/: %w", flavour.DSNVariable(), err)
	}
	s := &Server{Flavour: flavour, dsn: dsn, addr: cfg.Addr}
	if err := s.probe(ctx, 10*time.Second); err != nil {
		return nil, fmt.Errorf("the server of %s at %s: %w", flavour.DSNVariable(), cfg.Addr, err)
	}
	return s, nil
}

// DSN is the Go data source name of an administrator. A started server's names
// no database; a given one is as the environment says.
func (s *Server) DSN() string { return s.dsn }

// Addr is the server's host:port.
func (s *Server) Addr() string { return s.addr }

// Given tells that the server comes from the environment: it may hold what
// others made, and cannot be killed.
func (s *Server) Given() bool { return s.host == nil }

// Kill ends the server with SIGKILL and returns when its process is gone.
func (s *Server) Kill(ctx context.Context) error { return s.end(ctx, true) }

// Stop shuts the server down in order and returns when its process is gone.
// Its data stays for Restart.
func (s *Server) Stop(ctx context.Context) error { return s.end(ctx, false) }

func (s *Server) end(ctx context.Context, now bool) error {
	if s.host == nil {
		return ErrGiven
	}
	if err := s.host.end(ctx, now); err != nil {
		return fmt.Errorf("end the %s server at %s: %w", s.Flavour, s.addr, err)
	}
	return nil
}

// Restart starts a server that Kill or Stop ended on the same data, address and
// arguments, and returns when it answers SQL, crash recovery included. One that
// is still running is stopped in order first.
func (s *Server) Restart(ctx context.Context) error {
	if s.host == nil {
		return ErrGiven
	}
	if err := s.end(ctx, false); err != nil {
		return err
	}
	if err := s.host.run(ctx); err != nil {
		return fmt.Errorf("restart the %s server at %s: %w", s.Flavour, s.addr, err)
	}
	return s.awaitReady(ctx)
}

// Close ends a started server and deletes its data, also one started with Keep.
// It may be called again. A given server is left alone.
func (s *Server) Close() error {
	return s.close(context.Background())
}

// close is Close; ctx may have ended.
func (s *Server) close(ctx context.Context) error {
	if s.host == nil {
		return nil
	}
	ctx, cancel := cleanup(ctx)
	defer cancel()
	if err := s.host.remove(ctx); err != nil {
		return fmt.Errorf("remove the %s server at %s: %w", s.Flavour, s.addr, err)
	}
	return nil
}

// cleanup is a context for clearing away, when ctx may have ended.
func cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
}

// Logs is what a started server has written since its first start. A given
// server's are not known: empty.
func (s *Server) Logs(ctx context.Context) (string, error) {
	if s.host == nil {
		return "", nil
	}
	return s.host.logs(ctx)
}

// ShellCommand is a command line that opens a client on a started server, for
// people to type. Empty for a given server.
func (s *Server) ShellCommand() string {
	if s.host == nil {
		return ""
	}
	return s.host.shellCommand()
}

// RemoveCommand is a command line that ends a started server and deletes its
// data, for people to type. Empty for a given server.
func (s *Server) RemoveCommand() string {
	if s.host == nil {
		return ""
	}
	return s.host.removeCommand()
}
