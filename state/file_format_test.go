package state_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/state"
)

// TestF40_StateFileOfThisFormatIsReadForEver: a file that the first version wrote, and the newest decision in it.
func TestF40_StateFileOfThisFormatIsReadForEver(t *testing.T) {
	const file, newest = "state-file-v1.gz", "state-file-v1-last.hex"
	if *update {
		writeStateFile(t, file, newest)
	}
	stored, err := os.Open(filepath.Join(formats, file))
	require.NoError(t, err)
	defer func() { require.NoError(t, stored.Close()) }()
	content, err := gzip.NewReader(stored)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "s")
	made, err := os.Create(path)
	require.NoError(t, err)
	_, err = io.Copy(made, content)
	require.NoError(t, err)
	require.NoError(t, made.Close())

	want, err := state.Decode(readHex(t, newest))
	require.NoError(t, err)
	f := openFile(t, path)
	require.Equal(t, want.Store, f.ID())
	require.Equal(t, state.Info{Epoch: 3, Run: uuid.UUID{15: 3}, Last: &want}, peek(t, f))
	c := claimOf(t, f)
	require.Equal(t, uint64(4), c.Epoch())
	require.Len(t, c.History(), 3)
	require.Equal(t, want, c.History()[2])
	commitNext(t, f, c)
}

func writeStateFile(t *testing.T, file, newest string) {
	t.Helper()
	f := openFile(t, filepath.Join(t.TempDir(), "s"))
	for i := range byte(3) {
		c, err := f.Claim(t.Context(), job, state.ClaimRequest{Run: uuid.UUID{15: i + 1}})
		require.NoError(t, err)
		for range 2 {
			d := following(f.ID(), c)
			d.Whole = min(d.Whole, 4)
			require.NoError(t, c.Commit(t.Context(), d))
		}
	}
	last, err := state.Encode(*peek(t, f).Last)
	require.NoError(t, err)
	writeHex(t, newest, last)
	require.NoError(t, f.Close())
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(fileBytes(t, f.Path()))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(filepath.Join(formats, file), packed.Bytes(), 0o644))
}
