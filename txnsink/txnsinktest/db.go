package txnsinktest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/xa"
)

// DB is an in-memory database: tables, the prepared branches of any number of jobs, and a ledger. It may be used by
// several goroutines.
type DB struct {
	layouts  []txnsink.Layout
	attached bool // prepared branches stay with their session
	identity xa.Identity
	faults   *faults
	store    *state.Memory

	mu       sync.Mutex        // protects the rest
	tables   map[string]*table // by full name
	jobs     map[string]ledger.Job
	proofs   map[xa.ID]ledger.Proof
	prepared map[xa.ID]*branch
	open     map[xa.ID]*branch // neither prepared nor ended
}

// Row is a committed row: the text of each value by its column, as the server would show it. A column that is NULL has
// no entry.
type Row map[string]string

// address names the database in errors.
const address = "memory"

// New makes a database with empty tables, which behaves like a MySQL server: flush signals and full segments of tables
// that only take inserts prepare branches before the checkpoint. What is wrong with a layout is told by [DB.Open].
func New(tables ...txnsink.Layout) *DB {
	db := &DB{
		layouts: tables, faults: &faults{}, tables: map[string]*table{}, jobs: map[string]ledger.Job{},
		proofs: map[xa.ID]ledger.Proof{}, prepared: map[xa.ID]*branch{}, open: map[xa.ID]*branch{},
		identity: xa.Identity{Name: uuid.NewString(), Started: time.Now().UTC().Truncate(time.Second)},
	}
	for _, layout := range tables {
		db.tables[layout.FullName()] = newTable(layout)
	}
	db.store = state.NewMemory(state.WithFaults(db.faults))
	return db
}

// NewAttached is [New] for a database that behaves like a MariaDB server: a session that prepared a branch is busy with
// it until its COMMIT. A sink splits nothing there: it prepares at the checkpoint only.
func NewAttached(tables ...txnsink.Layout) *DB {
	db := New(tables...)
	db.attached = true
	return db
}

// Open is txnsink.Open with the database in place of a server: it makes a real sink, over an in-memory writer. It takes
// the same configuration, checks the same things, and fails with the same errors. What concerns the connection (DSN,
// Connector, Address, LedgerDatabase, DetachWait, StatementTimeout) is not used; Store may be nil and is then that of
// [DB.Store].
//
// A crash is played by Close, which commits nothing, or by a failure ([DB.FailAfter]) and Close; Open on the same
// database and store is the restart.
func (db *DB) Open(ctx context.Context, cfg txnsink.Config) (*txnsink.Sink, error) {
	if cfg.Store == nil {
		cfg.Store = db.store
	}
	w, err := db.NewWriter(ctx, cfg.WriterConfig(uuid.Nil))
	if err != nil {
		return nil, err
	}
	return txnsink.OpenWith(ctx, cfg, w)
}

// NewWriter is txnsink.NewWriter with the database in place of a server, for a coordinator of the user's own.
func (db *DB) NewWriter(ctx context.Context, cfg txnsink.WriterConfig) (txnsink.Writer, error) {
	w, err := newBase(ctx, db, cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Mode == txnsink.AtLeastOnce {
		return &atLeastOnce{base: w}, nil
	}
	return newExactlyOnce(w), nil
}

// Store is a store in memory that belongs to the database: [DB.FailAfter] acts on it.
func (db *DB) Store() *state.Memory { return db.store }

// Rows are the committed rows of a table, named as in its layout, in the order of the key; without a key in the order in
// which they were written. A table that there is not panics.
func (db *DB) Rows(name string) []Row {
	db.mu.Lock()
	defer db.mu.Unlock()
	t := db.tables[txnsink.Layout{Name: name}.FullName()]
	if t == nil {
		panic(fmt.Sprintf("txnsinktest: there is no table %q: there are %q", name, slices.Sorted(maps.Keys(db.tables))))
	}
	rows := make([]Row, 0, len(t.rows))
	for _, r := range t.sorted() {
		shown := Row{}
		for i, v := range r {
			if !v.null {
				shown[t.layout.Columns[i].Name] = v.text
			}
		}
		rows = append(rows, shown)
	}
	return rows
}

// Prepared are the branches of all jobs that are prepared and neither committed nor rolled back, sorted.
func (db *DB) Prepared() []xa.ID {
	db.mu.Lock()
	defer db.mu.Unlock()
	return slices.SortedFunc(maps.Keys(db.prepared), xa.ID.Compare)
}

// The methods below are what a server does. The caller holds mu.

// start begins a branch.
func (db *DB) start(id xa.ID) *branch {
	b := newBranch(id)
	db.open[id] = b
	return b
}

// prepare makes an open branch outlive its session.
func (db *DB) prepare(b *branch) {
	delete(db.open, b.id)
	b.mark()
	db.prepared[b.id] = b
}

// commit makes a prepared branch's rows and its proof visible. false: there is no such branch.
func (db *DB) commit(id xa.ID) bool {
	b := db.prepared[id]
	if b == nil {
		return false
	}
	delete(db.prepared, id)
	b.end(true)
	db.proofs[id] = b.proof
	return true
}

// rollBack ends a branch, open or prepared.
func (db *DB) rollBack(b *branch) {
	delete(db.open, b.id)
	delete(db.prepared, b.id)
	b.end(false)
}

// endSessions rolls back what sessions of the job of an epoch below the given one have open.
func (db *DB) endSessions(job string, epoch uint64) {
	for id, b := range db.open {
		if id.Job == job && id.Epoch < epoch {
			db.rollBack(b)
		}
	}
}

// scan is XA RECOVER.
func (db *DB) scan() []xa.XID {
	var list []xa.XID
	for _, id := range slices.SortedFunc(maps.Keys(db.prepared), xa.ID.Compare) {
		list = append(list, id.XID())
	}
	return list
}

// row is the job row; nil where there is none.
func (db *DB) row(job string) *ledger.Job {
	if j, known := db.jobs[job]; known {
		return &j
	}
	return nil
}

// raise makes next the job row if it still is as it was looked at, and ends older owners' sessions.
func (db *DB) raise(looked *ledger.Job, next ledger.Job) error {
	now := db.row(next.Name)
	if (now == nil) != (looked == nil) || now != nil && (now.Store != looked.Store || now.Epoch != looked.Epoch || now.Run != looked.Run) {
		return fenced("the row changed since it was looked at")
	}
	db.jobs[next.Name] = next
	db.endSessions(next.Name, next.Epoch)
	return nil
}

// admit compares the job row with a claim.
func (db *DB) admit(o recovery.Owner) error {
	switch now := db.row(o.Job); {
	case now.Store != o.Store:
		return fenced(fmt.Sprintf("the row names store %s, ours is %s", now.Store, o.Store))
	case now.Epoch > o.Epoch:
		return fenced(fmt.Sprintf("the row has epoch %d, ours is %d", now.Epoch, o.Epoch))
	}
	return nil
}

func fenced(why string) error {
	return fmt.Errorf("job row: %w", errors.Join(ledger.ErrFenced, state.ErrFenced, errors.New(why)))
}

// jobProofs are the proof rows of a job.
func (db *DB) jobProofs(job string) []ledger.Proof {
	var list []ledger.Proof
	for id, p := range db.proofs {
		if id.Job == job {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b ledger.Proof) int { return a.ID.Compare(b.ID) })
	return list
}

// prune deletes the proof rows of spans and tells how many there were.
func (db *DB) prune(job string, spans []ledger.Span) (n uint64) {
	for id := range db.proofs {
		if id.Job == job && slices.ContainsFunc(spans, func(s ledger.Span) bool {
			return s.Epoch == id.Epoch && s.Lane == id.Lane && s.From <= id.Seq && id.Seq <= s.To
		}) {
			delete(db.proofs, id)
			n++
		}
	}
	return n
}
