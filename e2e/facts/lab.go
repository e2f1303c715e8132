package facts

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/xasink/xasink/e2e/servers"
)

// Lab is a server with a database of its own for one measurement.
type Lab struct {
	Flavour  servers.Flavour
	DB       *sql.DB // of the administrator
	Database string
	config   *mysql.Config
}

// Open makes a lab on a server. The caller must Close it.
func Open(ctx context.Context, s *servers.Server) (*Lab, error) {
	config, err := mysql.ParseDSN(s.DSN())
	if err != nil {
		return nil, fmt.Errorf("the server's data source name: %w", err)
	}
	config.Logger = &mysql.NopLogger{}
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		return nil, err
	}
	l := &Lab{Flavour: s.Flavour, DB: db, Database: unique("facts"), config: config}
	if _, err := db.ExecContext(ctx, "CREATE DATABASE `"+l.Database+"`"); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return l, nil
}

// Close drops the lab's database.
func (l *Lab) Close(ctx context.Context) error {
	_, err := l.DB.ExecContext(ctx, "DROP DATABASE `"+l.Database+"`")
	return errors.Join(err, l.DB.Close())
}

// as opens connections of another user.
func (l *Lab) as(user, password string) (*sql.DB, error) {
	c := l.config.Clone()
	c.User, c.Passwd = user, password
	return sql.Open("mysql", c.FormatDSN())
}

// Version is the server's own.
func (l *Lab) Version(ctx context.Context) (string, error) {
	var v string
	err := l.DB.QueryRowContext(ctx, "SELECT VERSION()").Scan(&v)
	return v, err
}

func unique(prefix string) string {
	b := make([]byte, 5)
	_, _ = rand.Read(b)
	return prefix + "_" + hex.EncodeToString(b)
}

// xid names a branch at full length: format ids and lengths that are mixed on one server can make it forget branches
// (server-facts 0.4).
func xid(gtrid string, n int) string {
	pad := func(s string) string { return hex.EncodeToString([]byte((s + strings.Repeat("=", 64))[:64])) }
	return fmt.Sprintf("X'%s',X'%s',2147483647", pad("xasinkfacts:"+gtrid), pad(fmt.Sprint(n)))
}

// exec runs statements on one connection, all of which must succeed.
func exec(ctx context.Context, conn *sql.Conn, statements ...string) error {
	for _, s := range statements {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			if len(s) > 100 {
				s = s[:100] + "…"
			}
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// outcome is an error as a measurement.
func outcome(err error) string {
	var e *mysql.MySQLError
	switch {
	case err == nil:
		return "OK"
	case errors.As(err, &e):
		return fmt.Sprintf("%d (%s) %s", e.Number, e.SQLState[:], e.Message)
	}
	return err.Error()
}
