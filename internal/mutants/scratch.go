package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tree is a scratch copy of the module.
type tree struct{ dir string }

// copyModule copies the module in root to dir, which is made: everything but folders and files whose names begin with a
// dot, and compiled tests. Times are kept, because results of tests are remembered with them.
func copyModule(root, dir string) (tree, error) {
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, relative)
		switch hidden := strings.HasPrefix(e.Name(), ".") && relative != "."; {
		case hidden && e.IsDir():
			return fs.SkipDir
		case e.IsDir():
			return os.MkdirAll(to, 0o755)
		case hidden, !e.Type().IsRegular(), strings.HasSuffix(e.Name(), ".test"):
			return nil
		}
		return copyFile(path, to)
	})
	return tree{dir}, err
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, content, info.Mode().Perm()|0o200); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// with calls do while m is in the tree.
func (t tree) with(m mutant, do func() error) (err error) {
	path := filepath.Join(t.dir, m.file)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if strings.Count(string(content), m.old) != 1 {
		return fmt.Errorf("%s: %s does not hold its text once", m, m.file)
	}
	changed := strings.Replace(string(content), m.old, m.new, 1)
	if err := os.WriteFile(path, []byte(changed), info.Mode().Perm()); err != nil {
		return err
	}
	defer func() {
		back := os.WriteFile(path, content, info.Mode().Perm())
		if back == nil {
			back = os.Chtimes(path, info.ModTime(), info.ModTime())
		}
		if err == nil {
			err = back
		}
	}()
	return do()
}
