//go:build linux

package state

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Both meta pages are written again and synced: a device that takes no writes, and one that knows no sync, show each half.
func TestMetaPagesAreWrittenAndSynced(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has the devices that show it")
	}
	for device, want := range map[string]error{"/dev/full": syscall.ENOSPC, "/dev/zero": syscall.EINVAL} {
		file, err := os.OpenFile(device, os.O_RDWR, 0)
		require.NoError(t, err)
		require.ErrorIs(t, settle(file, 4096), want, device)
		require.NoError(t, file.Close())
	}
}

// And every opening does so, also of a file that was closed well: who opens it cannot know.
func TestOpeningWritesTheMetaPagesAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.state")
	f, err := OpenFile(path, "orders", FileOptions{})
	require.NoError(t, err)
	require.NoError(t, f.Close())
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	require.NoError(t, os.Chtimes(path, old, old))

	f, err = OpenFile(path, "orders", FileOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.True(t, info.ModTime().After(old), "nothing was written")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after, "what was written is what was there")
}
