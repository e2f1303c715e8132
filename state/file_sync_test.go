package state

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Nothing short of a power cut shows that a decision was synced; so this looks at how bbolt was opened.
func TestEveryTransactionOfAFileIsSynced(t *testing.T) {
	f, err := OpenFile(filepath.Join(t.TempDir(), "job.state"), "orders", FileOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	require.False(t, f.db.NoSync)
	require.False(t, f.db.NoGrowSync)
}
