package state

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/xa"
)

// DefaultLockTimeout is how long OpenFile waits for another process to let go of the file.
const DefaultLockTimeout = time.Second

// FileOptions are the settings of a File. The zero value is good.
type FileOptions struct {
	LockTimeout time.Duration  // 0: DefaultLockTimeout; negative: do not wait
	Existing    bool           // a file that is not there is an error (fs.ErrNotExist) and is not made
	Logger      *slog.Logger   // nil: slog.Default()
	Faults      fault.Injector // before and after Claim, DecisionRead and DecisionWrite; nil: none

	atStep func(step string) // for tests: called before and between the steps of making the file
}

// File is the store of one job in one file, which a lock gives to one process at a time. It is a bbolt file, so a
// crash at any moment leaves the state before or after a write. Each claim and each decision is one transaction,
// synced before the call returns. It is safe for use by several goroutines, and starts none.
//
// The file is not to be written by anything else, bbolt's own tools included; a copy of the whole file, made while no
// process holds it, is a backup.
type File struct {
	path    string
	job     string
	options FileOptions

	mu     sync.Mutex
	id     uuid.UUID
	file   *os.File // the one that db reads and writes, and that the lock is on
	db     *bbolt.DB
	broken bool // what bbolt has in memory cannot be trusted any more: to be opened again before it is used
	hung   bool // bbolt panicked, and may hold its own locks for ever
	closed bool
}

var _ Store = (*File)(nil)

// OpenFile opens the state file of job at path, and makes it where there is none. A new file has a new ID: the ledger,
// which knows the old one, then stops a job whose file was lost. The file's directory must be there.
//
// All that the file holds is read and checked before OpenFile returns. A damaged meta page is logged, and the file
// is as it was before or after its last transaction; any other damage is an error.
//
// Errors: ErrLocked, which names the process that holds the file where that can be found out; ErrOtherJob;
// ErrUnreadable; and those of the file system.
func OpenFile(path, job string, options FileOptions) (*File, error) {
	if err := xa.CheckJob(job); err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("state file %s: %w", path, err)
	}
	if options.LockTimeout == 0 {
		options.LockTimeout = DefaultLockTimeout
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	if options.atStep == nil {
		options.atStep = func(string) {}
	}
	f := &File{path: absolute, job: job, options: options}
	held, err := f.open(!options.Existing)
	if err != nil {
		return nil, err
	}
	f.id = held.store
	return f, nil
}

// Path is the absolute path of the file.
func (f *File) Path() string { return f.path }

// ID of the store: made when the file was.
func (f *File) ID() uuid.UUID { return f.id }

// Peek reads what is known of job.
func (f *File) Peek(ctx context.Context, job string) (Info, error) {
	if job != f.job {
		return Info{}, f.otherJob(job)
	}
	return peek(ctx, f.options.Faults, job, func() (image, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if err := f.ready(); err != nil {
			return image{}, err
		}
		held, err := f.read()
		return held.image, err
	})
}

// Claim takes ownership of job. The epoch and r.Run are on disk when it returns.
func (f *File) Claim(ctx context.Context, job string, r ClaimRequest) (Claim, error) {
	if job != f.job {
		return nil, f.otherJob(job)
	}
	c := &claim{job: job, store: f.id, faults: f.options.Faults, write: f.accept}
	return c.take(ctx, func() (image, error) { return f.take(r) })
}

// Close lets go of the file. A call that is being made is waited for.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	return f.release()
}

func (f *File) take(r ClaimRequest) (image, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.ready(); err != nil {
		return image{}, err
	}
	var next image
	var refused error
	err := f.update(func(held content) (content, error) {
		epoch, err := held.claimable(f.job, r)
		if err != nil {
			refused = err
			return held, err
		}
		held.epoch, held.run = epoch, r.Run
		next = held.image
		return held, nil
	})
	switch {
	case refused != nil:
		return image{}, refused
	case err != nil:
		return image{}, fmt.Errorf("claim job %q in state file %s: %w", f.job, f.path, err)
	}
	return next, nil
}

// accept is the write of a claim's decision.
func (f *File) accept(c *claim, d Decision) ([]Decision, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.ready(); err != nil {
		if errors.Is(err, ErrFenced) {
			return nil, err
		}
		return nil, doubt(d, err)
	}
	var kept []Decision
	var refused error
	err := f.update(func(held content) (content, error) {
		encoded, repeat, err := held.accepts(c, d)
		if err != nil {
			refused = err
			return held, err
		}
		if repeat {
			kept = held.kept
			return held, errUnchanged
		}
		stored, err := Decode(encoded)
		if err != nil {
			refused = err
			return held, err
		}
		held.image = held.with(stored)
		kept = held.kept
		return held, nil
	})
	switch {
	case refused != nil:
		return nil, refused
	case err != nil:
		return nil, doubt(d, fmt.Errorf("write state file %s: %w", f.path, err))
	}
	return kept, nil
}

// ready makes sure that f can be used: open, in its place, and as it is on disk after an error left that unclear.
func (f *File) ready() error {
	if f.closed {
		return fmt.Errorf("state file %s is closed", f.path)
	}
	if f.broken {
		if err := f.reopen(); err != nil {
			return err
		}
	}
	return f.inPlace()
}

// reopen reads the file anew, after which it is certain what it holds. For a moment the lock is free: if another
// process takes the job over then, its epoch is in the file.
func (f *File) reopen() error {
	if err := f.release(); err != nil {
		f.options.Logger.Warn("close state file after an error", "file", f.path, "error", err)
	}
	held, err := f.open(false)
	switch {
	case err == nil && held.store == f.id:
		f.broken = false
		return nil
	case err == nil:
		_ = f.release() // Another's file, which is only looked at.
		return f.gone()
	case errors.Is(err, os.ErrNotExist):
		return f.gone()
	}
	return err
}

// inPlace tells whether the path still leads to the file. What is written to one that was removed is gone with the
// process, so nothing must be.
func (f *File) inPlace() error {
	at, err := os.Stat(f.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil //nolint:nilerr // Looking failed, which says nothing of the file.
	default:
		own, err := f.file.Stat()
		if err != nil || os.SameFile(own, at) {
			return nil //nolint:nilerr // As above.
		}
	}
	return f.gone()
}

func (f *File) gone() error {
	return fmt.Errorf("%w: state file %s was removed or replaced while it was in use: put the old one back, "+
		"then start again", ErrFenced, f.path)
}

func (f *File) otherJob(job string) error {
	return fmt.Errorf("%w: %s holds job %q, asked for is %q: give each job a file of its own", ErrOtherJob, f.path, f.job, job)
}
