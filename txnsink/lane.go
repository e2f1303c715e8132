package txnsink

import (
	"slices"
	"strings"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/xa"
)

// lane is one session with the open segment of its tables.
type lane struct {
	number     uint32
	tables     []*table
	splittable bool  // rows may be prepared before the barrier
	indexed    bool  // then keys of prepared rows are kept in the index: it does more than insert
	maxRows    int64 // a segment is full at so many rows

	session *xa.Session
	seq     uint64 // of the newest branch

	open  bool
	id    xa.ID // of the open branch
	rows  int64
	bytes int64
	used  uses // per table and operation

	keys    []uint64 // of the open branch, where the lane is indexed
	writing []uint64 // of the Write at hand

	// Where the open branch stood before the Write at hand. protected: a savepoint is set there.
	protected bool
	marked    struct {
		rows, bytes int64
		used        uses
	}
}

func newLane(number uint32, tables []*table, maxRows int64, detached bool) *lane {
	l := &lane{number: number, tables: tables, splittable: detached, maxRows: maxRows}
	for _, t := range tables {
		l.splittable = l.splittable && t.splittable
		if m := t.maxSegmentRows; m > 0 {
			l.maxRows = min(l.maxRows, m)
		}
	}
	l.indexed = l.splittable && slices.ContainsFunc(tables, func(t *table) bool { return !t.insertOnly })
	return l
}

// index is the lane's place among the writer's lanes.
func (l *lane) index() int { return int(l.number - recovery.FirstLane) }

func (l *lane) names() string {
	return strings.Join(tableNames(l.tables), ", ")
}

// holdsPrepared: the session is an attached server's and still holds the branch that it prepared.
func (l *lane) holdsPrepared() bool { return l.session != nil && l.session.State() == xa.Prepared }

// began opens branch id, begun by the Write at hand.
func (l *lane) began(id xa.ID) {
	l.open, l.id, l.rows, l.bytes, l.protected = true, id, 0, 0, false
	l.used.reset()
	l.mark()
}

// mark remembers what the branch holds now.
func (l *lane) mark() {
	l.protected = false
	l.marked.rows, l.marked.bytes = l.rows, l.bytes
	l.marked.used = l.used.snapshot()
}

// back is what the branch held at mark.
func (l *lane) back() {
	l.rows, l.bytes = l.marked.rows, l.marked.bytes
	l.used.restore(l.marked.used)
	l.protected = false
}

// add counts the rows of a statement that the server took.
func (l *lane) add(s statement) {
	l.rows += int64(len(s.rows))
	l.bytes += int64(len(s.sql))
	l.used.add(s.table, s.op, len(s.rows))
}

// ended forgets the open branch: it was prepared, or it is gone.
func (l *lane) ended() {
	l.open, l.id, l.rows, l.bytes, l.protected = false, xa.ID{}, 0, 0, false
	l.used.reset()
	l.keys = l.keys[:0]
}

func (l *lane) full(maxBytes int64) bool {
	return l.open && (l.rows >= l.maxRows || l.bytes >= maxBytes)
}

// proof is what the branch's proof row tells of its rows.
func (l *lane) proof() []ledger.TableUse {
	var list []ledger.TableUse
	for _, u := range l.used.all() {
		list = append(list, ledger.TableUse{Table: u.table.fullName(), Kind: u.op.String(), Rows: uint64(u.rows)})
	}
	return list
}
