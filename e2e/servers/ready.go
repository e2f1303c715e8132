package servers

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// awaitReady returns when a started server answers SQL. It gives up at once when
// the server's process is gone, and after readyLimit.
func (s *Server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.probe(ctx, 2*time.Second)
		if err == nil {
			return nil
		}
		if running, hostErr := s.host.running(ctx); hostErr == nil && !running {
			return fmt.Errorf("the %s server ended during its start; the end of its log:\n%s", s.Flavour, s.logEnd(ctx))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the %s server at %s does not answer (%w): %w; the end of its log:\n%s",
				s.Flavour, s.addr, ctx.Err(), err, s.logEnd(ctx))
		case <-tick.C:
		}
	}
}

// probe asks the server for its version and compares the flavour. limit bounds
// the question.
func (s *Server) probe(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cfg, err := mysql.ParseDSN(s.dsn)
	if err != nil {
		return err
	}
	cfg.Logger = &mysql.NopLogger{} // a server on its way up refuses, which is no news
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var version string
	if err := db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return err
	}
	if found := flavourOf(version); found != s.Flavour {
		return fmt.Errorf("version %s is %s, wanted is %s", version, found, s.Flavour)
	}
	return nil
}

// flavourOf reads the flavour from a version, as the server or its program says
// it: only MariaDB names itself in it.
func flavourOf(version string) Flavour {
	if strings.Contains(version, "MariaDB") {
		return MariaDB
	}
	return MySQL
}

// logEnd is the last lines of the server's log, for an error; ctx may have
// ended.
func (s *Server) logEnd(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	text, err := s.host.logs(ctx)
	if err != nil {
		return fmt.Sprintf("(not to be had: %v)", err)
	}
	return lastLines(text, 20)
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
