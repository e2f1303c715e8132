package state_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/xasink/xasink/state"
)

const job = "orders"

// quiet are options under which nothing is logged, and a test fails at once where it would wait for a lock.
func quiet() state.FileOptions {
	return state.FileOptions{Logger: slog.New(slog.DiscardHandler), LockTimeout: -1}
}

func openFile(t *testing.T, path string) *state.File {
	t.Helper()
	f, err := state.OpenFile(path, job, quiet())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

func claimOf(t *testing.T, f *state.File) state.Claim {
	t.Helper()
	c, err := f.Claim(t.Context(), job, state.ClaimRequest{Run: uuid.New()})
	require.NoError(t, err)
	return c
}

// following is a decision after the claim's last, with one pending branch.
func following(store uuid.UUID, c state.Claim) state.Decision {
	whole := uint64(0)
	if c.Last() != nil {
		whole = c.Last().Number
	}
	return state.Next(c.Last(), c.Epoch(), store, uuid.New(), job,
		[]state.Position{{Source: "file", Data: []byte{byte(whole)}}},
		state.Part{
			Pending: state.Merge([]state.Branch{branch("one", c.Epoch(), 0, whole+1, 0, 10)}),
			Bounds:  state.Bounds{Lanes: 1, Marks: 1},
			Whole:   whole,
		}, time.Now())
}

func commitNext(t *testing.T, f *state.File, c state.Claim) state.Decision {
	t.Helper()
	d := following(f.ID(), c)
	require.NoError(t, c.Commit(t.Context(), d))
	return d
}

func peek(t *testing.T, f *state.File) state.Info {
	t.Helper()
	info, err := f.Peek(t.Context(), job)
	require.NoError(t, err)
	return info
}

func TestStateFileOfAnotherJobIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	require.NoError(t, openFile(t, path).Close())
	before := fileBytes(t, path)
	_, err := state.OpenFile(path, "lines", quiet())
	require.ErrorIs(t, err, state.ErrOtherJob)
	for _, want := range []string{path, `"orders"`, `"lines"`} {
		require.ErrorContains(t, err, want)
	}
	require.Equal(t, before, fileBytes(t, path), "another's file is left as it is")
	openFile(t, path)
}

func TestJobNameIsCheckedBeforeAFileIsMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for _, name := range []string{"", "Orders", `or"ders`, strings.Repeat("x", 41)} {
		_, err := state.OpenFile(path, name, quiet())
		require.ErrorContains(t, err, "job name")
		require.NoFileExists(t, path)
	}
}

func TestWhatIsNoStateFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	foreign := filepath.Join(dir, "foreign")
	db, err := bbolt.Open(foreign, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket([]byte("theirs"))
		return err
	}))
	require.NoError(t, db.Close())

	for _, c := range []struct {
		name, path, want string
		match            error
	}{
		{"empty", write("empty", nil), "is empty", state.ErrUnreadable},
		{"text", write("text", bytes.Repeat([]byte("not a state file\n"), 4000)), "neither meta page can be read", state.ErrUnreadable},
		{"short", write("short", []byte("x")), "the file ends before it", state.ErrUnreadable},
		{"another program's", foreign, "not a state file of xasink", state.ErrUnreadable},
		{"directory", dir, "directory", nil},
		{"no such directory", filepath.Join(dir, "none", "s"), "no such file or directory", fs.ErrNotExist},
		{"below a file", filepath.Join(foreign, "s"), "not a directory", nil},
	} {
		_, err := state.OpenFile(c.path, job, quiet())
		require.ErrorContains(t, err, c.want, c.name)
		require.ErrorContains(t, err, c.path, c.name)
		if c.match != nil {
			require.ErrorIs(t, err, c.match, c.name)
		}
	}
	require.NoError(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "link")))
	_, err = state.OpenFile(filepath.Join(dir, "link"), job, quiet())
	require.ErrorContains(t, err, "link to a file that is not there")
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	require.Empty(t, left, "what cannot be opened leaves nothing")
}

func TestF50_NewerStateFileIsRefused(t *testing.T) {
	for name, newer := range map[string]func(root *bbolt.Bucket) error{
		"file": func(root *bbolt.Bucket) error { return putNewer(root, []byte("head")) },
		"decision": func(root *bbolt.Bucket) error {
			decisions := root.Bucket([]byte("decisions"))
			key, _ := decisions.Cursor().Last()
			return putNewer(decisions, key)
		},
	} {
		path := filepath.Join(t.TempDir(), "s")
		f := openFile(t, path)
		commitNext(t, f, claimOf(t, f))
		require.NoError(t, f.Close())

		db, err := bbolt.Open(path, 0o600, nil)
		require.NoError(t, err)
		require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
			root := tx.Bucket([]byte("xasink"))
			if name == "decision" {
				if err := putTransaction(root, uint64(tx.ID())); err != nil {
					return err
				}
			}
			return newer(root)
		}))
		require.NoError(t, db.Close())
		before := fileBytes(t, path)

		_, err = state.OpenFile(path, job, quiet())
		require.ErrorIs(t, err, state.ErrUnreadable, name)
		require.ErrorContains(t, err, "has format version 2 and this program reads version 1", name)
		require.ErrorContains(t, err, name)
		require.Equal(t, before, fileBytes(t, path), "it is left as it is")
	}
}

// putNewer makes the version of the envelope at key one higher.
func putNewer(b *bbolt.Bucket, key []byte) error {
	value := bytes.Clone(b.Get(key))
	value[5]++
	return b.Put(key, reseal(value))
}

// putTransaction makes the head tell transaction id, which is below 24, as the file's last.
func putTransaction(root *bbolt.Bucket, id uint64) error {
	value := bytes.Clone(root.Get([]byte("head")))
	at := bytes.Index(value, []byte{0x03, byte(id - 1), 0x04})
	if at < 0 || id >= 24 {
		return errors.New("the head's transaction is not where this test looks for it")
	}
	value[at+1] = byte(id)
	return root.Put([]byte("head"), reseal(value))
}

func TestStateFileThatIsGoneIsMadeWithAnotherID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	f := openFile(t, path)
	commitNext(t, f, claimOf(t, f))
	require.NoError(t, f.Close())
	require.NoError(t, os.Remove(path))

	existing := quiet()
	existing.Existing = true
	_, err := state.OpenFile(path, job, existing)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoFileExists(t, path)

	again := openFile(t, path)
	require.NotEqual(t, f.ID(), again.ID(), "the ledger knows the old one and stops the job")
	require.Equal(t, state.Info{}, peek(t, again))
}

func TestStateFileRemovedWhileInUseEndsTheJob(t *testing.T) {
	dir := t.TempDir()
	path, aside := filepath.Join(dir, "s"), filepath.Join(dir, "aside")
	f := openFile(t, path)
	c := claimOf(t, f)
	last := commitNext(t, f, c)
	requireGone := func() {
		err := c.Commit(t.Context(), following(f.ID(), c))
		require.ErrorIs(t, err, state.ErrFenced)
		require.ErrorContains(t, err, path)
		_, err = f.Claim(t.Context(), job, state.ClaimRequest{})
		require.ErrorIs(t, err, state.ErrFenced)
		_, err = f.Peek(t.Context(), job)
		require.ErrorIs(t, err, state.ErrFenced)
	}
	require.NoError(t, os.Rename(path, aside))
	requireGone()
	other := openFile(t, path)
	requireGone()
	require.NoError(t, other.Close())
	require.NoError(t, os.Rename(aside, path))
	require.Equal(t, &last, peek(t, f).Last, "back in its place it is good, and nothing was written meanwhile")
	commitNext(t, f, c)
}

// TestStateFileReplacedBetweenTwoTriesEndsTheJob: a write failed, and when the file is opened again it is another one.
func TestStateFileReplacedBetweenTwoTriesEndsTheJob(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	f := openFile(t, path)
	c := claimOf(t, f)
	d := following(f.ID(), c)
	require.NoError(t, f.LoseHandle())
	require.ErrorIs(t, c.Commit(t.Context(), d), state.ErrInDoubt)

	require.NoError(t, os.Remove(path))
	require.ErrorIs(t, c.Commit(t.Context(), d), state.ErrFenced)
	require.NoFileExists(t, path)
	other := openFile(t, path)
	require.NoError(t, other.Close())
	require.ErrorIs(t, c.Commit(t.Context(), d), state.ErrFenced)
	require.Equal(t, state.Info{}, peek(t, openFile(t, path)), "it is left as it is, and not held")
}

// TestFailedWriteIsInDoubtUntilItIsRepeated: the write fails half way, the file is opened anew, and the same write goes
// through once.
func TestFailedWriteIsInDoubtUntilItIsRepeated(t *testing.T) {
	f := openFile(t, filepath.Join(t.TempDir(), "s"))
	c := claimOf(t, f)
	last := commitNext(t, f, c)
	for range 3 {
		d := following(f.ID(), c)
		require.NoError(t, f.LoseHandle())
		err := c.Commit(t.Context(), d)
		require.ErrorIs(t, err, state.ErrInDoubt)
		require.ErrorContains(t, err, f.Path())
		require.Equal(t, last, *c.Last())
		require.NoError(t, c.Commit(t.Context(), d), "the same write, after the file was opened again")
		require.Equal(t, &d, peek(t, f).Last)
		last = d
	}
	require.NoError(t, f.LoseHandle())
	_, err := f.Claim(t.Context(), job, state.ClaimRequest{})
	require.Error(t, err)
	require.Equal(t, c.Epoch(), peek(t, f).Epoch)
	require.Equal(t, c.Epoch()+1, claimOf(t, f).Epoch())
}

// TestFileCutWhileInUseIsAnErrorNotACrash: reading the map of a file behind its end is a fault of the process.
func TestFileCutWhileInUseIsAnErrorNotACrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	f := openFile(t, path)
	c := claimOf(t, f)
	commitNext(t, f, c)
	d := following(f.ID(), c)
	whole := fileBytes(t, path)

	require.NoError(t, os.Truncate(path, 0))
	_, err := f.Peek(t.Context(), job)
	require.ErrorIs(t, err, state.ErrUnreadable)
	for range 3 {
		err := c.Commit(t.Context(), d)
		require.ErrorIs(t, err, state.ErrInDoubt)
		require.NotErrorIs(t, err, state.ErrUnreadable, "that would tell that it is not stored")
	}
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	require.NoError(t, c.Commit(t.Context(), d), "with the file as it was the same write goes through")
	require.Equal(t, &d, peek(t, f).Last)

	require.NoError(t, os.Truncate(path, 0))
	require.ErrorIs(t, c.Commit(t.Context(), following(f.ID(), c)), state.ErrInDoubt)
	require.NoError(t, f.Close(), "closing does not hang")
	require.ErrorIs(t, c.Commit(context.Background(), d), state.ErrInDoubt)
}

// TestFileIsMadeOnce: of many that make the file at the same time all get the same one, one after the other.
func TestFileIsMadeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	options := quiet()
	options.LockTimeout = time.Minute
	var all sync.WaitGroup
	ids := make([]uuid.UUID, 8)
	errs := make([]error, len(ids))
	for i := range ids {
		all.Go(func() {
			f, err := state.OpenFile(path, job, options)
			if err != nil {
				errs[i] = err
				return
			}
			ids[i] = f.ID()
			errs[i] = f.Close()
		})
	}
	all.Wait()
	for i, id := range ids {
		require.NoError(t, errs[i])
		require.Equal(t, ids[0], id)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing but the file")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode(), "for its owner only")
}

func TestFileStaysSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	f := openFile(t, path)
	c := claimOf(t, f)
	for range 300 {
		commitNext(t, f, c)
	}
	require.Len(t, c.History(), 2)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(256<<10))
}

func fileBytes(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}
