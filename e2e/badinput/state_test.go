package badinput_test

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/xasink/xasink/e2e/demo/flights/flightstest"
	"github.com/xasink/xasink/state"
)

func processID() string { return strconv.Itoa(os.Getpid()) }

// stateBreakages are what can become of a state file.
var stateBreakages = []breakage{
	{
		name: "state file of another job", when: decided,
		spoil: func(t *testing.T, r *rig) func() {
			right := r.Job.State
			r.Job.State = filepath.Join(t.TempDir(), "other")
			store, err := state.OpenFile(r.Job.State, "another-job", state.FileOptions{})
			require.NoError(t, err)
			require.NoError(t, store.Close())
			return func() { r.Job.State = right }
		},
		wants: []string{"the state file belongs to another job", `"another-job"`, `"{job}"`, "give each job a file of its own"},
	},
	{
		name: "state file of a newer version", when: decided,
		spoil: func(t *testing.T, r *rig) func() { return r.damage(t, newerVersion) },
		wants: []string{"{state}", "has format version 2 and this program reads version 1", "run the version of xasink that wrote it, or a newer one"},
	},
	{
		name: "state file cut in the middle of a page", when: decided,
		spoil: func(t *testing.T, r *rig) func() { return r.damage(t, cutTo(7*os.Getpagesize()/2)) },
		wants: []string{"{state}", "the stored state cannot be read", "copy"},
	},
	{
		name: "empty state file", when: decided,
		spoil: func(t *testing.T, r *rig) func() { return r.damage(t, cutTo(0)) },
		wants: []string{"{state}", "is empty", "put a copy of it back"},
	},
	{
		name: "damaged data page", when: decided,
		spoil: func(t *testing.T, r *rig) func() {
			return r.damage(t, func(t *testing.T, path string) {
				b, err := os.ReadFile(path)
				require.NoError(t, err)
				for i := 2 * os.Getpagesize(); i < len(b); i++ {
					b[i] ^= 0x55
				}
				require.NoError(t, os.WriteFile(path, b, 0o600))
			})
		},
		wants: []string{"{state}", "the stored state cannot be read", "copy"},
	},
	{
		name: "something else in place of the state file", when: decided,
		spoil: func(t *testing.T, r *rig) func() {
			return r.damage(t, func(t *testing.T, path string) {
				require.NoError(t, os.WriteFile(path, make([]byte, 1<<16), 0o600))
			})
		},
		wants: []string{"{state}", "the stored state cannot be read"},
	},
	{
		name: "state file deleted while the ledger knows the job", when: decided,
		spoil: func(t *testing.T, r *rig) func() {
			return r.damage(t, func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) })
		},
		wants: []string{"another store owns the job", "the state file was deleted, moved or replaced", "recovery.Adopt", "recovery.Reset"},
	},
	{
		name: "old copy of the state file", when: stopped,
		spoil: func(t *testing.T, r *rig) func() {
			old, err := os.ReadFile(r.Job.State)
			require.NoError(t, err)
			flightstest.Live(t, r.Stand, "kill@after:decision-write#2")
			return r.damage(t, func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, old, 0o600)) })
		},
		wants: []string{"the store is an old copy", "put the newest copy of the state file back"},
	},
}

// damage does something to the state file, and gives what puts it back as it was.
func (r *rig) damage(t *testing.T, do func(t *testing.T, path string)) (mend func()) {
	t.Helper()
	whole, err := os.ReadFile(r.Job.State)
	require.NoError(t, err)
	do(t, r.Job.State)
	return func() { require.NoError(t, os.WriteFile(r.Job.State, whole, 0o600)) }
}

func cutTo(size int) func(t *testing.T, path string) {
	return func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, int64(size))) }
}

// newerVersion raises the version of the file's head, and its checksum with it: magic, version, length, checksum, payload.
func newerVersion(t *testing.T, path string) {
	db, err := bbolt.Open(path, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte("xasink"))
		head := append([]byte{}, b.Get([]byte("head"))...)
		binary.BigEndian.PutUint16(head[4:], binary.BigEndian.Uint16(head[4:])+1)
		table := crc32.MakeTable(crc32.Castagnoli)
		sum := crc32.Update(crc32.Checksum(head[:10], table), table, head[14:])
		binary.BigEndian.PutUint32(head[10:], sum)
		return b.Put([]byte("head"), head)
	}))
	require.NoError(t, db.Close())
}
