package xa

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// prober finds out, on one connection, what a server is.
type prober struct {
	conn         *sql.Conn
	address      string
	ownConnector bool // the DSN was not ours to read

	problems []error
	warnings []string
}

// run asks everything and collects every reason to refuse the server, so that one start shows them all.
func (p *prober) run(ctx context.Context) (Abilities, error) {
	var can Abilities
	if err := p.ask(ctx, "SELECT VERSION(), CURRENT_USER(), USER()", &can.Version, &can.User, &can.login); err != nil {
		return Abilities{}, connectError(ctx, p.address, err)
	}
	can.login = userName(can.login)
	can.Flavour = flavourOf(can.Version)
	for _, s := range flavourSettings(can.Flavour) {
		if _, err := p.conn.ExecContext(ctx, s); err != nil {
			return Abilities{}, connectError(ctx, p.address, &settingError{statement: s, err: err})
		}
	}
	for _, step := range []func(context.Context, *Abilities) error{
		p.variables, p.binlogFormat, p.binlogOff, p.detach, p.galera, p.version, p.recover, p.process, p.packets,
	} {
		if err := step(ctx, &can); err != nil {
			return Abilities{}, connectError(ctx, p.address, err)
		}
	}
	if len(p.problems) > 0 {
		return Abilities{}, &Refusal{Server: p.address, Problems: p.problems}
	}
	can.Warnings = p.warnings
	return can, nil
}

func (p *prober) refuse(format string, args ...any) {
	p.problems = append(p.problems, fmt.Errorf(format, args...))
}

func (p *prober) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

func (p *prober) ask(ctx context.Context, query string, into ...any) error {
	return queryRow(ctx, p.conn, query, into...)
}

// variables reads what both kinds of server have.
func (p *prober) variables(ctx context.Context, can *Abilities) error {
	var rollsBack bool
	var readOnly string
	err := p.ask(ctx, "SELECT @@log_bin, @@sync_binlog, @@innodb_flush_log_at_trx_commit, @@max_allowed_packet, "+
		"@@max_connections, @@read_only, @@innodb_rollback_on_timeout",
		&can.BinaryLog, &can.SyncBinlog, &can.FlushLog, &can.MaxPacket, &can.MaxConns, &readOnly, &rollsBack)
	if err != nil {
		return err
	}
	// A boolean, or in later MariaDB a word.
	can.ReadOnly = readOnly != "0" && !strings.EqualFold(readOnly, "OFF")
	if rollsBack {
		p.refuse("innodb_rollback_on_timeout is on, so a lock wait would undo a whole branch unseen: " +
			"start the server with innodb_rollback_on_timeout=0")
	}
	if can.FlushLog != 1 {
		p.warn("innodb_flush_log_at_trx_commit is %d: a power loss can take prepared branches and commits back; set it to 1",
			can.FlushLog)
	}
	if can.BinaryLog && can.SyncBinlog != 1 {
		p.warn("sync_binlog is %d: a power loss can take prepared branches and commits back; set it to 1", can.SyncBinlog)
	}
	if can.ReadOnly {
		p.warn("the server is read-only now: writes will be refused")
	}
	if can.Flavour == MariaDB && can.BinaryLog {
		p.warn("MariaDB's binary log of XA is not crash-safe: a replica can differ after a crash of this server")
	}
	return nil
}

func (p *prober) binlogFormat(ctx context.Context, can *Abilities) error {
	var format string
	if _, err := p.optional(ctx, "SELECT @@binlog_format", &format); err != nil {
		return err
	}
	if can.BinaryLog && strings.EqualFold(format, "STATEMENT") {
		p.refuse("binlog_format is STATEMENT, with which a server takes no writes at READ COMMITTED: set binlog_format=ROW")
	}
	return nil
}

// binlogOff finds a connector, or an init_connect, that keeps this user's writes out of the binary log. To turn that on
// again takes a privilege.
func (p *prober) binlogOff(ctx context.Context, can *Abilities) error {
	var on bool
	known, err := p.optional(ctx, "SELECT @@sql_log_bin", &on)
	if err != nil {
		return err
	}
	if known && !on && can.BinaryLog {
		p.refuse("sql_log_bin is off in this user's sessions, so replicas would miss every row: see what sets it, and take that away")
	}
	return nil
}

// detach asks whether PREPARE frees the session. A server without the variable does not detach.
func (p *prober) detach(ctx context.Context, can *Abilities) error {
	_, err := p.optional(ctx, "SELECT @@xa_detach_on_prepare", &can.Detached)
	return err
}

func (p *prober) galera(ctx context.Context, _ *Abilities) error {
	var on bool
	if _, err := p.optional(ctx, "SELECT @@wsrep_on", &on); err != nil {
		return err
	}
	if on {
		p.refuse("it is a Galera node (wsrep_on), which has no XA: use a server without Galera")
	}
	return nil
}

// optional reads a variable that not every server has.
func (p *prober) optional(ctx context.Context, query string, into any) (known bool, err error) {
	err = p.ask(ctx, query, into)
	var answer *mysql.MySQLError
	if errors.As(err, &answer) && answer.Number == errUnknownVariable {
		return false, nil
	}
	return err == nil, err
}

// version refuses releases whose XA is known to lose branches (server-facts.md, 10).
func (p *prober) version(_ context.Context, can *Abilities) error {
	v, ok := parseVersion(can.Version)
	switch {
	case !ok:
		p.refuse("its version %q is not understood: use MySQL 8.0.30 or later, or MariaDB 10.5.2 or later", can.Version)
	case can.Flavour == MariaDB && v.before(10, 5, 2):
		p.refuse("MariaDB %s rolls prepared branches back when their session ends: use 10.5.2 or later", can.Version)
	case can.Flavour == MySQL && v.before(8, 0, 0):
		p.refuse("MySQL %s is too old for safe XA: use 8.0.30 or later", can.Version)
	case can.Flavour == MySQL && can.BinaryLog && v.before(8, 0, 30):
		p.refuse("MySQL %s with the binary log on can lose prepared branches in a crash: use 8.0.30 or later", can.Version)
	}
	return nil
}

// recover asks whether the server has XA at all and whether the user may see prepared branches.
func (p *prober) recover(ctx context.Context, can *Abilities) error {
	rows, err := p.conn.QueryContext(ctx, "XA RECOVER")
	if err == nil {
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			continue
		}
		return rows.Err()
	}
	var answer *mysql.MySQLError
	switch {
	case !errors.As(err, &answer):
		return err
	case answer.Number == errXARMErr:
		p.refuse("%w: an administrator has to GRANT XA_RECOVER_ADMIN ON *.* TO %s", ErrNoRecoverPrivilege, quoteUser(can.User))
	default:
		p.refuse("it does not know XA RECOVER, so it has no XA transactions: %w", err)
	}
	return nil
}

// process asks for the right to see transactions, which an attached server cannot do without: only there a lost branch
// may still be held inside the server (server-facts.md, 0.3).
func (p *prober) process(ctx context.Context, can *Abilities) error {
	var n int
	err := p.ask(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM information_schema.innodb_trx LIMIT 1) AS t", &n)
	var answer *mysql.MySQLError
	switch {
	case err == nil, errors.As(err, &answer) && answer.Number == errWideCharacters:
		can.ProcessRights = true
	case !errors.As(err, &answer) || answer.Number != errNeedsPrivilege:
		return err
	case !can.Detached:
		p.refuse("the user may not see transactions, which recovery needs on a server that keeps prepared branches "+
			"attached to their session: an administrator has to GRANT PROCESS ON *.* TO %s", quoteUser(can.User))
	}
	return nil
}

// packets finds a connector of the user's own that lets several statements into one packet.
func (p *prober) packets(ctx context.Context, _ *Abilities) error {
	if !p.ownConnector {
		return nil
	}
	_, err := p.conn.ExecContext(ctx, "DO 1; DO 1")
	var answer *mysql.MySQLError
	switch {
	case err == nil:
		p.refuse("the connector has multiStatements on: of several statements in one packet nobody can tell which one failed; turn it off")
	case !errors.As(err, &answer):
		return err
	}
	return nil
}

func flavourOf(version string) Flavour {
	if strings.Contains(strings.ToLower(version), "mariadb") {
		return MariaDB
	}
	return MySQL
}

// version is the numeric part of VERSION().
type version struct{ major, minor, patch int }

func parseVersion(s string) (version, bool) {
	digits, _, _ := strings.Cut(s, "-")
	parts := strings.Split(digits, ".")
	if len(parts) < 3 {
		return version{}, false
	}
	var n [3]int
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(parts[i]); err != nil {
			return version{}, false
		}
	}
	return version{n[0], n[1], n[2]}, true
}

func (v version) before(major, minor, patch int) bool {
	switch {
	case v.major != major:
		return v.major < major
	case v.minor != minor:
		return v.minor < minor
	}
	return v.patch < patch
}

// quoteUser is CURRENT_USER() as a GRANT wants it.
func quoteUser(user string) string {
	name, host := userName(user), "%"
	if len(name) < len(user) {
		host = user[len(name)+1:]
	}
	return "'" + escape(name) + "'@'" + escape(host) + "'"
}

// userName is what stands before the last @, since a name may hold one and a host cannot.
func userName(user string) string {
	if i := strings.LastIndexByte(user, '@'); i >= 0 {
		return user[:i]
	}
	return user
}
