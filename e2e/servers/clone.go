package servers

import (
	"path/filepath"
	"runtime"
)

// clone is the folder of the repository that this program was built from: what
// is left up is the business of the clone that started it, and of no other.
func clone() string {
	_, source, _, _ := runtime.Caller(0)
	folder := filepath.Join(filepath.Dir(source), "..", "..")
	if followed, err := filepath.EvalSymlinks(folder); err == nil {
		return followed
	}
	return folder
}
