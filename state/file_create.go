package state

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"
)

const filePermissions = 0o600

// create makes the file: whole and synced under a name of its own, then under its right name. A crash at any moment
// leaves no file or a whole one, and perhaps the other name, which nobody reads. If there is a file by then, of another
// process that did the same, it stays and create is done.
func (f *File) create() error {
	directory, name := filepath.Split(f.path)
	made := filepath.Join(directory, "."+name+"."+uuid.NewString()+".new")
	f.options.atStep("before")
	err := f.write(made)
	if err == nil {
		f.options.atStep("made")
		err = putInPlace(made, f.path)
		f.options.atStep("in place")
	}
	if removed := os.Remove(made); !errors.Is(removed, os.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	f.options.atStep("tidied")
	if err == nil {
		err = syncDirectory(directory)
	}
	f.options.atStep("after")
	return err
}

// write makes a state file at path and leaves it synced and closed.
func (f *File) write(path string) error {
	_, err := guard(func() error {
		db, err := bbolt.Open(path, filePermissions, &bbolt.Options{
			Timeout: minLockTimeout, FreelistType: bbolt.FreelistArrayType,
		})
		if err != nil {
			return err
		}
		f.options.atStep("empty")
		err = db.Update(func(tx *bbolt.Tx) error {
			return save(tx, content{}, content{job: f.job, store: uuid.New()})
		})
		return errors.Join(err, db.Close())
	})
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// putInPlace gives the file at made its right name, and leaves one that has the name already. Where the file system
// has no hard links it can only look first.
func putInPlace(made, path string) error {
	err := os.Link(made, path)
	if err == nil || errors.Is(err, os.ErrExist) {
		return nil
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(made, path)
}
