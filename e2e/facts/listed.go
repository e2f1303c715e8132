package facts

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync/atomic"
)

// Listed is what readers saw of branches while their COMMIT was executed. A look is a scan by XA RECOVER, and then a
// read of one of the branch's rows, on one connection.
type Listed struct {
	Commits         int
	ListedInvisible int // listed, and then not visible: before the commit
	ListedVisible   int // listed, and then visible: the commit came between, or is not wholly done
	GoneVisible     int // not listed, and then visible: after the commit
	// GoneInvisible is what recovery must never see: not listed, and the row not visible in a read that began later.
	GoneInvisible int
	// VisibleListed counts looks in the other order: the row was visible, and a scan that began later still listed the
	// branch. Then a proof row alone does not mean that the COMMIT is over.
	VisibleListed int
}

// MeasureListed commits branches of the given number of rows while two other connections look all the time. other
// commits on another session than the one that prepared, which is closed before.
func (l *Lab) MeasureListed(ctx context.Context, commits, rows int, other bool) (Listed, error) {
	name := unique("l")
	table := "`" + l.Database + "`.`" + name + "`"
	if _, err := l.DB.ExecContext(ctx, "CREATE TABLE "+table+" (id INT PRIMARY KEY, v VARCHAR(100)) ENGINE=InnoDB"); err != nil {
		return Listed{}, err
	}
	var out Listed
	for n := 1; n <= commits; n++ {
		if err := l.watchCommit(ctx, table, xid(name, n), n*rows, rows, other, &out); err != nil {
			return out, fmt.Errorf("commit %d: %w", n, err)
		}
		out.Commits++
	}
	return out, nil
}

func (l *Lab) watchCommit(ctx context.Context, table, branch string, first, rows int, other bool, out *Listed) (err error) {
	writer, err := l.DB.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = writer.Close() }()
	if err := exec(ctx, writer, "XA START "+branch, insertRows(table, first, rows), "XA END "+branch, "XA PREPARE "+branch); err != nil {
		return err
	}
	committer := writer
	if other {
		if err := l.end(ctx, writer); err != nil {
			return err
		}
		if committer, err = l.DB.Conn(ctx); err != nil {
			return err
		}
		defer func() { _ = committer.Close() }()
	}
	var done atomic.Bool
	scanFirst, readFirst := make(chan error, 1), make(chan error, 1)
	go func() { scanFirst <- l.look(ctx, branch, table, first, &done, out, true) }()
	go func() { readFirst <- l.look(ctx, branch, table, first, &done, out, false) }()
	err = exec(ctx, committer, "XA COMMIT "+branch)
	done.Store(true)
	for _, c := range []chan error{scanFirst, readFirst} {
		if e := <-c; err == nil {
			err = e
		}
	}
	return err
}

// look looks until the commit is done, and once more. The two lookers write to different fields of out.
func (l *Lab) look(ctx context.Context, branch, table string, id int, done *atomic.Bool, out *Listed, scanFirst bool) error {
	conn, err := l.DB.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	for last := false; ; {
		end := done.Load()
		var listed, visible bool
		if scanFirst {
			if listed, err = isListed(ctx, conn, branch); err == nil {
				visible, err = isVisible(ctx, conn, table, id)
			}
		} else if visible, err = isVisible(ctx, conn, table, id); err == nil {
			listed, err = isListed(ctx, conn, branch)
		}
		switch {
		case err != nil:
			return err
		case !scanFirst && visible && listed:
			out.VisibleListed++
		case !scanFirst:
		case listed && visible:
			out.ListedVisible++
		case listed:
			out.ListedInvisible++
		case visible:
			out.GoneVisible++
		default:
			out.GoneInvisible++
		}
		if last {
			return nil
		}
		last = end
	}
}

func isListed(ctx context.Context, conn *sql.Conn, branch string) (bool, error) {
	rows, err := conn.QueryContext(ctx, "XA RECOVER")
	if err != nil {
		return false, err
	}
	defer func() { _ = rows.Close() }()
	found := false
	for rows.Next() {
		var format int64
		var gtrid, bqual int
		var data []byte
		if err := rows.Scan(&format, &gtrid, &bqual, &data); err != nil {
			return false, err
		}
		found = found || fmt.Sprintf("X'%x',X'%x',%d", data[:gtrid], data[gtrid:], format) == branch
	}
	return found, rows.Err()
}

func isVisible(ctx context.Context, conn *sql.Conn, table string, id int) (bool, error) {
	var n int
	err := conn.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE id = %d", table, id)).Scan(&n)
	return n == 1, err
}

func insertRows(table string, first, rows int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO " + table + " VALUES ")
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "(%d,'%s')", first+i, strings.Repeat("x", 60))
	}
	return b.String()
}

// end closes conn and waits until the server has forgotten its session, and a moment longer: a branch may be held so
// long (server-facts 1b).
func (l *Lab) end(ctx context.Context, conn *sql.Conn) error {
	var id uint64
	if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		return err
	}
	hangUp(conn)
	return l.awaitGone(ctx, id)
}
