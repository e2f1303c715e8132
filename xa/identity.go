package xa

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

const (
	// A wider bracket around the reading of Uptime says too little about the start.
	widestBracket = time.Second
	bracketTries  = 5
	// settledUptime is what Settled waits for, seconds. A reading of the start can be 1 s late; with this a later
	// start lies at least 3 s after an earlier one, read as late as that, and so outside of StartTolerance.
	settledUptime = 4
	serverClock   = "SELECT CAST(UTC_TIMESTAMP(6) AS CHAR)"
)

// Identify reads on q which server this is and when it was started. The start is read from the server's own clock
// before and after its Uptime, again when the two lie more than a second apart; after some tries that is an error.
func (s *Server) Identify(ctx context.Context, q Queryer) (Identity, error) {
	fail := func(err error) (Identity, error) {
		return Identity{}, fmt.Errorf("reading the identity of server %s: %w", s.address, err)
	}
	name, err := s.serverName(ctx, q)
	if err != nil {
		return fail(err)
	}
	var width time.Duration
	for range bracketTries {
		before, err := s.clock(ctx, q)
		if err != nil {
			return fail(err)
		}
		uptime, err := s.uptime(ctx, q)
		if err != nil {
			return fail(err)
		}
		after, err := s.clock(ctx, q)
		if err != nil {
			return fail(err)
		}
		if width = after.Sub(before); width >= 0 && width <= widestBracket {
			// The server's start is a whole second, and Uptime counts from it.
			started := after.Truncate(time.Second).Add(-time.Duration(uptime) * time.Second)
			return Identity{Name: name, Started: started}, nil
		}
	}
	return fail(fmt.Errorf("three short reads took %s, %d times in a row: the server is overloaded or its clock is being changed; try again",
		width, bracketTries))
}

func (s *Server) serverName(ctx context.Context, q Queryer) (string, error) {
	var name string
	if s.can.Flavour == MySQL {
		if err := s.ask(ctx, q, "SELECT @@server_uuid", &name); err != nil {
			return "", err
		}
		return name, nil
	}
	var host, dir string
	var port, id int64
	if err := s.ask(ctx, q, "SELECT @@hostname, @@port, @@server_id, @@datadir", &host, &port, &id, &dir); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s:%d/%d%s", host, port, id, dir), nil
}

// clock is the server's clock in UTC, whatever the session's time zone is.
func (s *Server) clock(ctx context.Context, q Queryer) (time.Time, error) {
	var text string
	if err := s.ask(ctx, q, serverClock, &text); err != nil {
		return time.Time{}, err
	}
	return time.Parse("2006-01-02 15:04:05.000000", text)
}

func (s *Server) uptime(ctx context.Context, q Queryer) (int64, error) {
	var name, value string
	if err := s.ask(ctx, q, "SHOW GLOBAL STATUS LIKE 'Uptime'", &name, &value); err != nil {
		return 0, err
	}
	return strconv.ParseInt(value, 10, 64)
}

// Settled waits until the server has been up so long that a later start of it can never look like this one, given
// [StartTolerance]: at most some seconds, and only right after a start. ctx bounds the wait.
func (s *Server) Settled(ctx context.Context) error {
	for {
		up, err := s.uptime(ctx, s.db)
		if err != nil {
			return fmt.Errorf("reading the uptime of server %s: %w", s.address, err)
		}
		if up >= settledUptime {
			return nil
		}
		if err := wait(ctx, time.Duration(settledUptime-up)*time.Second); err != nil {
			return fmt.Errorf("waiting until server %s, up for %d s, has settled: %w", s.address, up, err)
		}
	}
}
