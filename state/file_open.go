package state

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/xasink/xasink/state/internal/boltfile"
)

// open locks, checks and opens the file, and reads it. Where there is none and create is true it makes one.
func (f *File) open(create bool) (content, error) {
	// Between two of these steps another process may make, remove or replace the file. Then they are done again.
	for range 5 {
		file, err := os.OpenFile(f.path, os.O_RDWR, 0)
		if errors.Is(err, os.ErrNotExist) && create {
			if _, err := os.Lstat(f.path); err == nil {
				return content{}, fmt.Errorf("state file %s is a link to a file that is not there: make it anew, or remove it",
					f.path)
			}
			if err := f.create(); err != nil {
				return content{}, fmt.Errorf("make state file %s: %w", f.path, err)
			}
			continue
		}
		if errors.Is(err, os.ErrPermission) {
			return content{}, fmt.Errorf("state file of job %q: %w: let this user read and write it", f.job, err)
		}
		if err != nil {
			return content{}, fmt.Errorf("state file of job %q: %w", f.job, err)
		}
		f.file = file
		held, again, err := f.use()
		if err == nil && !again {
			return held, nil
		}
		_ = f.release() // bbolt closes the file as well when it cannot open it.
		if err != nil {
			return content{}, err
		}
	}
	return content{}, fmt.Errorf("open state file %s: it is replaced again and again, by another process", f.path)
}

// use is open for the file that is in f.file. again means that the path leads to another file by now.
func (f *File) use() (held content, again bool, err error) {
	info, err := f.file.Stat()
	if err != nil {
		return content{}, false, fmt.Errorf("state file %s: %w", f.path, err)
	}
	if !info.Mode().IsRegular() {
		return content{}, false, fmt.Errorf("%w: %s is not a file: name one", ErrUnreadable, f.path)
	}
	if err := lock(f.file, f.options.LockTimeout); errors.Is(err, errHeld) {
		return content{}, false, f.locked()
	} else if err != nil {
		return content{}, false, fmt.Errorf("lock state file %s: %w", f.path, err)
	}
	if at, err := os.Stat(f.path); err != nil || !os.SameFile(at, info) {
		return content{}, true, nil //nolint:nilerr // Opening it again will tell.
	}
	if info, err = f.file.Stat(); err != nil {
		return content{}, false, fmt.Errorf("state file %s: %w", f.path, err)
	}
	if info.Size() == 0 {
		return content{}, false, fmt.Errorf("%w: %s is empty, which xasink never leaves one: put a copy of it back; "+
			"if the job never ran, remove it", ErrUnreadable, f.path)
	}
	report, err := boltfile.Check(f.file, info.Size())
	if err != nil {
		return content{}, false, f.unreadable(err)
	}
	if f.db, err = f.openBolt(report.PageSize); err != nil {
		return content{}, false, err
	}
	if held, err = f.read(); err != nil {
		return content{}, false, err
	}
	if held.job != f.job {
		return content{}, false, fmt.Errorf("%w: %s belongs to job %q and this is job %q: give each job a file of its own",
			ErrOtherJob, f.path, held.job, f.job)
	}
	for page, problem := range report.Metas {
		if problem != nil {
			f.options.Logger.Warn("state file: one of its two meta pages is damaged; if it was the newer one, "+
				"the last claim or decision is gone, which the ledger will show",
				"file", f.path, "job", f.job, "page", page, "problem", problem, "epoch", held.epoch, "kept", len(held.kept))
		}
	}
	if err := settle(f.file, report.PageSize); err != nil {
		return content{}, false, fmt.Errorf("state file %s: %w", f.path, err)
	}
	return held, false, nil
}

func (f *File) openBolt(pageSize int) (db *bbolt.DB, err error) {
	_, err = guard(func() error {
		db, err = bbolt.Open(f.path, filePermissions, &bbolt.Options{
			Timeout:      max(f.options.LockTimeout, minLockTimeout),
			FreelistType: bbolt.FreelistArrayType,
			PageSize:     pageSize,
			OpenFile:     func(string, int, os.FileMode) (*os.File, error) { return f.file, nil },
		})
		return err
	})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, f.locked()
	case err != nil:
		return nil, f.unreadable(err)
	}
	return db, nil
}

// settle makes sure that what was read from the file is on disk: it writes both meta pages as they are, and syncs. They
// are all that may not be: the process before may have been killed between the write of one and its sync, or that sync
// failed, after which the system takes the page for written. The pages that a meta page leads to are synced before it.
func settle(file *os.File, pageSize int) error {
	metas := make([]byte, 2*pageSize)
	if _, err := file.ReadAt(metas, 0); err != nil {
		return err
	}
	if _, err := file.WriteAt(metas, 0); err != nil {
		return err
	}
	return file.Sync()
}

// read reads the content in a transaction of its own.
func (f *File) read() (held content, err error) {
	panicked, err := guard(func() error {
		return f.db.View(func(tx *bbolt.Tx) error {
			held, err = load(tx)
			return err
		})
	})
	if err != nil {
		f.broken, f.hung = true, f.hung || panicked
		return content{}, f.unreadable(err)
	}
	return held, nil
}

// update changes the content in one transaction, which is synced when it returns nil. An error of change ends the
// transaction without a write and is returned, but for errUnchanged. After any other error the file is opened anew
// before it is used again: the write may be there or not.
func (f *File) update(change func(content) (content, error)) error {
	var refused error
	panicked, err := guard(func() error {
		return f.db.Update(func(tx *bbolt.Tx) error {
			before, err := load(tx)
			if err != nil {
				return err
			}
			after, err := change(before)
			if err != nil {
				refused = err
				return err
			}
			return save(tx, before, after)
		})
	})
	switch {
	case err == nil, errors.Is(refused, errUnchanged) && !panicked:
		return nil
	case refused != nil && !panicked:
		return refused
	}
	f.broken, f.hung = true, f.hung || panicked
	return err
}

// release lets go of the file and its lock. bbolt that panicked is left alone, with the little that it has mapped: it
// may wait for its own locks for ever.
func (f *File) release() error {
	if f.file == nil {
		return nil
	}
	file, db := f.file, f.db
	f.file, f.db = nil, nil
	if f.hung || db == nil {
		f.hung = false
		return errors.Join(unlock(file), file.Close())
	}
	_, err := guard(db.Close)
	return err
}

func (f *File) unreadable(err error) error {
	if errors.Is(err, ErrUnreadable) {
		return fmt.Errorf("state file %s: %w", f.path, err)
	}
	return fmt.Errorf("%w: %s: %w: put a copy of the file back, or take the job over with a new one",
		ErrUnreadable, f.path, err)
}

// guard turns a panic of bbolt into an error, and so a fault where it reads its map of a file that was cut meanwhile.
func guard(call func() error) (panicked bool, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			panicked, err = true, fmt.Errorf("bbolt: %v", r)
		}
	}()
	return false, call()
}
