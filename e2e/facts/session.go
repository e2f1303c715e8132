package facts

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"
)

// hangUp closes the connection itself, which the pool would keep otherwise.
func hangUp(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// detachTime is how long a branch may be held after its session is out of the process list (server-facts 1b, with room).
const detachTime = 100 * time.Millisecond

// awaitGone waits until the process list has no such session, and detachTime longer.
func (l *Lab) awaitGone(ctx context.Context, id uint64) error {
	for {
		var n int
		err := l.DB.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = %d", id)).Scan(&n)
		if err != nil {
			return err
		}
		d := 5 * time.Millisecond
		if n == 0 {
			d = detachTime
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(d):
		}
		if n == 0 {
			return nil
		}
	}
}

// Kill is what a user without any privilege was answered to KILL.
type Kill struct {
	Own, OwnGone      string // KILL CONNECTION of a session of the same user; whether it was gone then
	OwnQuery          string // KILL QUERY of one
	Others            string // KILL CONNECTION of another user's session
	OthersListed      bool   // it is in the user's process list
	OwnWithBranch     string // KILL CONNECTION of an own session in an open branch, and what became of that
	OwnWithBranchDone string
}

// MeasureKill makes two users, and ends sessions of theirs.
func (l *Lab) MeasureKill(ctx context.Context) (k Kill, err error) {
	if _, err := l.DB.ExecContext(ctx, "CREATE TABLE `"+l.Database+"`.k (id INT PRIMARY KEY) ENGINE=InnoDB"); err != nil {
		return k, err
	}
	first, second := unique("u"), unique("u")
	for _, u := range []string{first, second} {
		for _, q := range []string{
			"CREATE USER `" + u + "`@'%' IDENTIFIED BY 'xasink-facts-1'",
			"GRANT SELECT, INSERT ON `" + l.Database + "`.* TO `" + u + "`@'%'",
		} {
			if _, err := l.DB.ExecContext(ctx, q); err != nil {
				return k, err
			}
		}
		defer func() {
			if _, e := l.DB.ExecContext(ctx, "DROP USER `"+u+"`@'%'"); err == nil {
				err = e
			}
		}()
	}
	me, err := l.as(first, "xasink-facts-1")
	if err != nil {
		return k, err
	}
	defer func() { _ = me.Close() }()
	other, err := l.as(second, "xasink-facts-1")
	if err != nil {
		return k, err
	}
	defer func() { _ = other.Close() }()
	return k, l.kills(ctx, me, other, &k)
}

func (l *Lab) kills(ctx context.Context, me, other *sql.DB, k *Kill) error {
	killer, _, err := session(ctx, me)
	if err != nil {
		return err
	}
	defer func() { _ = killer.Close() }()
	own, id, err := session(ctx, me)
	if err != nil {
		return err
	}
	defer func() { _ = own.Close() }()
	_, err = killer.ExecContext(ctx, fmt.Sprintf("KILL QUERY %d", id))
	k.OwnQuery = outcome(err)
	_, err = killer.ExecContext(ctx, fmt.Sprintf("KILL CONNECTION %d", id))
	k.Own = outcome(err)
	if err == nil {
		if err := l.awaitGone(ctx, id); err != nil {
			return err
		}
		_, err = own.ExecContext(ctx, "DO 1")
		k.OwnGone = outcome(err)
	}

	branch := xid(unique("k"), 1)
	in, id, err := session(ctx, me)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	if err := exec(ctx, in, "XA START "+branch, "INSERT INTO `"+l.Database+"`.k VALUES (1)"); err != nil {
		return err
	}
	_, err = killer.ExecContext(ctx, fmt.Sprintf("KILL CONNECTION %d", id))
	k.OwnWithBranch = outcome(err)
	if err == nil {
		if err := l.awaitGone(ctx, id); err != nil {
			return err
		}
		_, err = killer.ExecContext(ctx, "INSERT INTO `"+l.Database+"`.k VALUES (1)")
		k.OwnWithBranchDone = "the row can be inserted again: " + outcome(err)
	}

	stranger, id, err := session(ctx, other)
	if err != nil {
		return err
	}
	defer func() { _ = stranger.Close() }()
	_, err = killer.ExecContext(ctx, fmt.Sprintf("KILL CONNECTION %d", id))
	k.Others = outcome(err)
	var n int
	err = killer.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = %d", id)).Scan(&n)
	k.OthersListed = n > 0
	return err
}

func session(ctx context.Context, db *sql.DB) (*sql.Conn, uint64, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, 0, err
	}
	var id uint64
	return conn, id, conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id)
}

// Named is how names of GET_LOCK compare.
type Named struct {
	Capitals bool // 'A' is 'a'
	Accents  bool // 'á' is 'a'
	Spaces   bool // 'a ' is 'a'
	Longest  int  // characters that a name may have; 256: that, or more
}

// MeasureNamed takes a lock and asks for it under other names.
func (l *Lab) MeasureNamed(ctx context.Context) (Named, error) {
	holder, id, err := session(ctx, l.DB)
	if err != nil {
		return Named{}, err
	}
	defer func() { hangUp(holder) }()
	name := l.Database + "a"
	if err := exec(ctx, holder, "DO GET_LOCK('"+name+"', 0)"); err != nil {
		return Named{}, err
	}
	var out Named
	for _, q := range []struct {
		name string
		into *bool
	}{{l.Database + "A", &out.Capitals}, {l.Database + "á", &out.Accents}, {name + " ", &out.Spaces}} {
		var got sql.Null[uint64]
		if err := l.DB.QueryRowContext(ctx, "SELECT IS_USED_LOCK('"+q.name+"')").Scan(&got); err != nil {
			return out, err
		}
		*q.into = got.Valid && got.V == id
	}
	for n := 60; n <= 256; n++ {
		var got sql.Null[uint64]
		long := name + strings.Repeat("x", n-len(name))
		if err := l.DB.QueryRowContext(ctx, "SELECT IS_USED_LOCK('"+long+"')").Scan(&got); err != nil {
			break
		}
		out.Longest = n
	}
	return out, nil
}
