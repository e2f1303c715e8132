package state_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/state"
)

func TestFileWithoutPermissionIsAnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	require.NoError(t, openFile(t, path).Close())
	require.NoError(t, os.Chmod(path, 0))
	withoutRoot(t, func() {
		_, err := state.OpenFile(path, job, quiet())
		require.ErrorIs(t, err, fs.ErrPermission)
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, job)
		require.NotErrorIs(t, err, state.ErrUnreadable)
	})
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Chmod(dir, 0o555))
	defer func() { require.NoError(t, os.Chmod(dir, 0o755)) }()
	withoutRoot(t, func() {
		_, err := state.OpenFile(path, job, quiet())
		require.ErrorIs(t, err, fs.ErrPermission, "a directory in which no file can be made")
		require.ErrorContains(t, err, path)
	})
}

// withoutRoot runs f on a thread that has no rights of root on files. It leaves the thread to its end.
func withoutRoot(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // Never unlocked: the thread ends with the goroutine.
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0)
		f()
	}()
	<-done
}
