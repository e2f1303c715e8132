package conformance

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Target is a server to run cases on.
type Target struct {
	Kind     string
	DB       *sql.DB // of an administrator
	Plain    *sql.DB // of a user that may read and write the database's tables, and nothing else: sessions p and q
	Database string  // exists, and belongs to the run
	// Restart kills the server and starts it again; nil where that cannot be done. DB must work afterwards.
	Restart func(context.Context) error
	// Settle is how long after the end of a session its prepared branch may still be held (server-facts 1b).
	Settle time.Duration
}

// pollEvery is how often the runner looks whether something that it waits for is there.
const pollEvery = 20 * time.Millisecond

// patience bounds every wait of the runner.
const patience = 20 * time.Second

// Run plays one case and gives its outcome:
//
//	answer ; state of session a ; branches in XA RECOVER ; visible rows of t
//
// The answer is ok, ok N (rows affected), rows …, gone, or number, SQLSTATE and, for 1399, the state word. The state is
// the word that session a names, none, or gone. An error is one of the run itself, never of what is measured.
func (t *Table) Run(ctx context.Context, target Target, c Case) (outcome string, err error) {
	r := &run{table: t, target: target, sessions: map[string]*session{}, tag: fmt.Sprintf("c%d_%s", c.Line, random())}
	defer func() {
		// The context may have ended; what the case made is removed all the same.
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		err = errors.Join(err, r.clean(clean))
	}()
	if err := r.prepare(ctx, c); err != nil {
		return "", err
	}
	for _, name := range append([]string{c.State}, c.Conditions...) {
		for _, step := range t.Scripts[name].Steps {
			a, err := r.step(ctx, step)
			if err != nil {
				return "", fmt.Errorf("%s: %s: %w", name, step.text(), err)
			}
			if !step.Async && !a.is(step.Fails) {
				return "", fmt.Errorf("%s: %s: it was answered %s", name, step.text(), a.text)
			}
		}
	}
	a, err := r.step(ctx, c.Do)
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.Do.text(), err)
	}
	after, err := r.observe(ctx)
	return a.text + " ; " + after, err
}

// run is one case under way.
type run struct {
	table    *Table
	target   Target
	tag      string
	tables   []string
	readOnly bool // the case makes the server read-only
	sessions map[string]*session
}

// session is one connection of a case.
type session struct {
	conn   *sql.Conn
	id     uint64
	answer chan answer // of an asynchronous statement
	gone   bool
}

// answer is what a statement was answered.
type answer struct {
	text   string
	number int
	err    error
}

func (a answer) is(number int) bool {
	switch number {
	case AnyAnswer:
		return true
	case 0:
		return a.err == nil
	}
	return a.number == number
}

// random is a text that no other run has, by which its branches, tables and locks are told from others'.
func random() string {
	b := make([]byte, 5)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

var names = regexp.MustCompile(`\{([a-z]+)(?::(\w+))?\}`)

// expand fills in {t} and {u}, tables, and {x}, {y} … , branches: {x:1} has another format id.
func (r *run) expand(s string) string {
	return names.ReplaceAllStringFunc(s, func(m string) string {
		part := names.FindStringSubmatch(m)
		switch name := part[1]; name {
		case "t", "u", "n":
			return "`" + r.target.Database + "`.`" + name + "_" + r.tag + "`"
		case "db":
			return "`" + r.target.Database + "`"
		case "tag":
			return r.tag
		case "hex":
			return hex.EncodeToString([]byte(r.tag))
		case "pad":
			n, _ := strconv.Atoi(part[2])
			return (r.tag + strings.Repeat("=", n))[:n]
		case "id":
			if s := r.sessions[part[2]]; s != nil {
				return strconv.FormatUint(s.id, 10)
			}
			return "0"
		default:
			format := "2147483647"
			if part[2] != "" {
				format = part[2]
			}
			return "X'" + hex.EncodeToString(r.part("xasimtable:"+r.tag)) + "',X'" + hex.EncodeToString(r.part(name)) + "'," + format
		}
	})
}

// part is a part of an XID at its full length: a shorter one of another format id could make a server forget others'
// branches (server-facts 0.4).
func (r *run) part(s string) []byte { return []byte((s + strings.Repeat("=", 64))[:64]) }

// prepare makes the tables that the case names.
func (r *run) prepare(ctx context.Context, c Case) error {
	all := c.Do.Do
	for _, name := range append([]string{c.State}, c.Conditions...) {
		for _, s := range r.table.Scripts[name].Steps {
			all += s.Do
		}
	}
	statements := []string{
		"CREATE TABLE {t} (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=InnoDB",
		"INSERT INTO {t} VALUES (1, 'a'), (2, 'b')",
	}
	r.tables = append(r.tables, "{t}")
	r.readOnly = strings.Contains(all, "read_only")
	if strings.Contains(all, "{u}") {
		r.tables = append(r.tables, "{u}")
		statements = append(statements, "CREATE TABLE {u} (id INT PRIMARY KEY, u INT, v VARCHAR(20), UNIQUE KEY u (u)) ENGINE=InnoDB",
			"INSERT INTO {u} VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c')")
	}
	if strings.Contains(all, "{n}") {
		r.tables = append(r.tables, "{n}")
		statements = append(statements, "CREATE TABLE {n} (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20)) ENGINE=InnoDB")
	}
	for _, s := range statements {
		if _, err := r.target.DB.ExecContext(ctx, r.expand(s)); err != nil {
			return fmt.Errorf("make the tables: %w", err)
		}
	}
	return nil
}

// open is the session that a letter stands for, opened at its first use.
func (r *run) open(ctx context.Context, who string) (*session, error) {
	if s := r.sessions[who]; s != nil {
		return s, nil
	}
	db := r.target.DB
	plain := who == "p" || who == "q"
	if plain {
		db = r.target.Plain
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("open session %s: %w", who, err)
	}
	s := &session{conn: conn}
	r.sessions[who] = s
	statements := []string{
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
		"SET SESSION innodb_lock_wait_timeout = 1, lock_wait_timeout = 1",
	}
	switch {
	case plain:
		// It may not choose; what is asked of it does not depend on it.
	case r.target.Kind == "attached":
		statements = append(statements, "SET SESSION xa_detach_on_prepare = OFF")
	case r.target.Kind == "mysql":
		statements = append(statements, "SET SESSION xa_detach_on_prepare = ON")
	}
	for _, q := range statements {
		if _, err := conn.ExecContext(ctx, q); err != nil {
			return nil, fmt.Errorf("session %s: %s: %w", who, q, err)
		}
	}
	return s, conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&s.id)
}

// step does one step.
func (r *run) step(ctx context.Context, step Step) (answer, error) {
	if step.Who == "" {
		return r.act(ctx, step.Do)
	}
	s, err := r.open(ctx, step.Who)
	if err != nil {
		return answer{}, err
	}
	query := r.expand(step.Do)
	if !step.Async {
		return s.send(ctx, query), nil
	}
	s.answer = make(chan answer, 1)
	go func() { s.answer <- s.send(ctx, query) }()
	// It is blocked when it is in the same state for some looks.
	last, times := "", 0
	return answer{}, r.until(ctx, "the statement to be executed", func() (bool, error) {
		select {
		case a := <-s.answer:
			s.answer <- a
			return true, nil
		default:
		}
		state, err := read(ctx, r.target.DB, fmt.Sprintf("SELECT STATE FROM information_schema.PROCESSLIST WHERE ID = %d AND COMMAND = 'Query'", s.id))
		if err != nil {
			return false, err
		}
		if times++; state != last || state == "-" {
			last, times = state, 0
		}
		return times >= sameLooks, nil
	})
}

const sameLooks = 4

// act is what the runner itself does.
func (r *run) act(ctx context.Context, do string) (answer, error) {
	verb, who, _ := strings.Cut(do, " ")
	query := strings.HasPrefix(do, "kill query ")
	if query {
		who = strings.TrimPrefix(do, "kill query ")
	}
	if verb == "restart" {
		return answer{text: "ok"}, r.restart(ctx)
	}
	s := r.sessions[who]
	if s == nil {
		return answer{}, fmt.Errorf("there is no session %q", who)
	}
	switch {
	case verb == "wait":
		select {
		case a := <-s.answer:
			return a, nil
		case <-time.After(patience):
			return answer{}, errors.New("the statement does not end")
		}
	case query:
		_, err := r.target.DB.ExecContext(ctx, fmt.Sprintf("KILL QUERY %d", s.id))
		return answer{text: "ok"}, err
	case verb == "kill":
		if _, err := r.target.DB.ExecContext(ctx, fmt.Sprintf("KILL CONNECTION %d", s.id)); err != nil {
			return answer{}, err
		}
		return answer{text: "ok"}, r.gone(ctx, s.id)
	case verb == "quit":
		s.close()
		return answer{text: "ok"}, r.gone(ctx, s.id)
	case verb == "idle":
		return answer{text: "ok"}, r.gone(ctx, s.id)
	}
	return answer{}, fmt.Errorf("what is %q?", do)
}

// restart kills the server, whose sessions are gone then.
func (r *run) restart(ctx context.Context) error {
	if r.target.Restart == nil {
		return errors.New("this server cannot be restarted")
	}
	for _, s := range r.sessions {
		s.close()
		s.id = 0 // the number may be somebody else's afterwards
	}
	return r.target.Restart(ctx)
}

// gone waits until the process list has none of the sessions, and their branches are free.
func (r *run) gone(ctx context.Context, ids ...uint64) error {
	if len(ids) == 0 {
		return nil
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatUint(id, 10)
	}
	query := "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID IN (" + strings.Join(texts, ",") + ")"
	err := r.until(ctx, "the sessions to be gone", func() (bool, error) {
		var n int
		err := r.target.DB.QueryRowContext(ctx, query).Scan(&n)
		return n == 0, err
	})
	if err == nil && r.target.Settle > 0 && r.target.Kind != "mysql" {
		err = pause(ctx, r.target.Settle)
	}
	return err
}

// until asks until it is done. The process list of MySQL 9.7 answers with an error while any session of the server,
// also one of another test, executes a statement with characters of four bytes; that is no answer (seen by
// TestProcessListWithWideCharacters).
func (r *run) until(ctx context.Context, what string, done func() (bool, error)) error {
	const errWideCharacters = 3854
	deadline := time.Now().Add(patience)
	for {
		ok, err := done()
		var refused *mysql.MySQLError
		if errors.As(err, &refused) && refused.Number == errWideCharacters && time.Now().Before(deadline) {
			ok, err = false, nil
		}
		switch {
		case err != nil:
			return fmt.Errorf("waiting for %s: %w", what, err)
		case ok:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("waiting for %s took too long", what)
		}
		if err := pause(ctx, pollEvery); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
