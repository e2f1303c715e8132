package state_test

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/xasink/xasink/state"
)

// specimen is a state file with a history, and what it said after each of its last two transactions.
type specimen struct {
	dir      string // for files that are looked at
	bytes    []byte
	pageSize int
	limit    int // page ids in use are below it
	newest   int // the meta page of the last transaction
	now      state.Info
	before   state.Info
	earlier  []byte // the file before its last transaction
}

func newSpecimen(t *testing.T) specimen {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	f := openFile(t, path)
	claimOf(t, f)
	c := claimOf(t, f)
	for i := range 12 {
		d := following(f.ID(), c)
		// Some decisions fill pages of their own, and some are short.
		for p := range (i % 3) * 4 {
			d.Positions = append(d.Positions, state.Position{
				Source: "file" + string(rune('0'+p)), Data: bytes.Repeat([]byte{byte(i)}, state.MaxPosition),
			})
		}
		d.Whole = min(uint64(i), 7)
		require.NoError(t, c.Commit(t.Context(), d))
	}
	s := specimen{dir: t.TempDir(), before: peek(t, f), earlier: fileBytes(t, path)}
	commitNext(t, f, c)
	s.now = peek(t, f)
	require.NoError(t, f.Close())
	s.bytes = fileBytes(t, path)

	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	require.NoError(t, err)
	s.pageSize = db.Info().PageSize
	require.NoError(t, db.View(func(tx *bbolt.Tx) error {
		s.newest = tx.ID() % 2
		s.limit = int(binary.NativeEndian.Uint64(s.bytes[s.newest*s.pageSize+16+40:]))
		return nil
	}))
	require.NoError(t, db.Close())
	require.Greater(t, s.limit, 8)
	require.NotEqual(t, s.before, s.now)
	return s
}

func (s specimen) page(i int) []byte { return s.bytes[i*s.pageSize : (i+1)*s.pageSize] }

// with is the file with other bytes at offset.
func (s specimen) with(offset int, changed []byte) []byte {
	b := bytes.Clone(s.bytes)
	copy(b[offset:], changed)
	return b
}

// look opens content as a state file. It tells what it says, and what was logged.
func (s specimen) look(t *testing.T, content []byte) (info state.Info, logged string, err error) {
	t.Helper()
	path := filepath.Join(s.dir, "s")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	var log bytes.Buffer
	options := quiet()
	options.Logger = slog.New(slog.NewTextHandler(&log, nil))
	f, err := state.OpenFile(path, job, options)
	if err != nil {
		require.ErrorIs(t, err, state.ErrUnreadable)
		require.ErrorContains(t, err, path)
		require.Equal(t, content, fileBytes(t, path), "what cannot be read is left as it is")
		return state.Info{}, log.String(), err
	}
	info = peek(t, f)
	require.NoError(t, f.Close())
	return info, log.String(), nil
}

func TestStateFileCutAtAnyLengthIsRefused(t *testing.T) {
	s := newSpecimen(t)
	lengths := map[int]bool{}
	for n := 0; n < len(s.bytes); n += 97 {
		lengths[n] = true
	}
	for n := 0; n < len(s.bytes); n += s.pageSize {
		lengths[n], lengths[n+1], lengths[max(n-1, 0)] = true, true, true
	}
	for n := range 100 {
		lengths[n] = true
	}
	for n := range lengths {
		info, _, err := s.look(t, s.bytes[:n])
		if n < s.limit*s.pageSize {
			require.Error(t, err, "%d bytes of %d", n, s.limit*s.pageSize)
			continue
		}
		require.NoError(t, err, "%d bytes: only pages that were never used are cut off", n)
		require.Equal(t, s.now, info)
	}
}

func TestStateFileWithADamagedPageIsRefused(t *testing.T) {
	s := newSpecimen(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	garbage := make([]byte, s.pageSize)
	for i := range garbage {
		garbage[i] = byte(random.Uint32())
	}
	refused := 0
	for i := 2; i < s.limit; i++ {
		for name, page := range map[string][]byte{
			"zeroed":           make([]byte, s.pageSize),
			"all ones":         bytes.Repeat([]byte{0xff}, s.pageSize),
			"garbled":          garbage,
			"garbled behind":   garbage[:s.pageSize-16],
			"another page":     s.page((i+1-2)%(s.limit-2) + 2),
			"another's inside": s.page((i+1-2)%(s.limit-2) + 2)[16:],
		} {
			at := (i+1)*s.pageSize - len(page)
			info, _, err := s.look(t, s.with(at, page))
			if err == nil {
				require.Equal(t, s.now, info, "page %d %s", i, name)
				continue
			}
			refused++
		}
	}
	require.Greater(t, refused, 4*6, "pages in use were damaged")
}

// TestStateFileWithWrongBytesIsNeverReadWrongly: whatever a few wrong bytes do, the file says what it said, or nothing.
func TestStateFileWithWrongBytesIsNeverReadWrongly(t *testing.T) {
	s := newSpecimen(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	refused := 0
	for range 400 {
		b := bytes.Clone(s.bytes)
		for range 1 + random.IntN(3) {
			// Mostly the beginnings of pages, where their structure is.
			at := (2 + random.IntN(s.limit-2)) * s.pageSize
			b[at+random.IntN([]int{16, 64, 300, s.pageSize}[random.IntN(4)])] = byte(random.Uint32())
		}
		info, _, err := s.look(t, b)
		if err != nil {
			refused++
			continue
		}
		require.Equal(t, s.now, info)
	}
	require.Greater(t, refused, 40)
}

func TestDamagedMetaPageIsLoggedAndTheOtherIsUsed(t *testing.T) {
	s := newSpecimen(t)
	_, logged, err := s.look(t, s.bytes)
	require.NoError(t, err)
	require.Empty(t, logged)
	older := 1 - s.newest
	for name, change := range map[string]func(page []byte){
		"zeroed":         func(page []byte) { clear(page) },
		"wrong checksum": func(page []byte) { page[16+63]++ },
		"wrong magic":    func(page []byte) { page[16]++ },
		"torn":           func(page []byte) { clear(page[16+48:]) },
	} {
		b := bytes.Clone(s.bytes)
		change(b[s.newest*s.pageSize : (s.newest+1)*s.pageSize])
		info, logged, err := s.look(t, b)
		require.NoError(t, err, name)
		require.Equal(t, s.before, info, "%s: as before the last transaction", name)
		require.Contains(t, logged, "level=WARN")
		require.Contains(t, logged, "meta pages is damaged")

		b = bytes.Clone(s.bytes)
		change(b[older*s.pageSize : (older+1)*s.pageSize])
		info, logged, err = s.look(t, b)
		require.NoError(t, err, name)
		require.Equal(t, s.now, info, "%s: the damaged one is the older one", name)
		require.Contains(t, logged, "meta pages is damaged")

		change(b[s.newest*s.pageSize : (s.newest+1)*s.pageSize])
		_, _, err = s.look(t, b)
		require.ErrorIs(t, err, state.ErrUnreadable, name)
		require.ErrorContains(t, err, "neither meta page can be read")
	}
}

func TestDamagedMetaPageIsWrittenAnew(t *testing.T) {
	s := newSpecimen(t)
	path := filepath.Join(t.TempDir(), "s")
	require.NoError(t, os.WriteFile(path, s.with(s.newest*s.pageSize, make([]byte, s.pageSize)), 0o600))
	f := openFile(t, path)
	c := claimOf(t, f)
	require.Equal(t, s.before.Last, c.Last())
	d := commitNext(t, f, c)
	require.NoError(t, f.Close())
	info, logged, err := s.look(t, fileBytes(t, path))
	require.NoError(t, err)
	require.Equal(t, state.Info{Epoch: c.Epoch(), Run: info.Run, Last: &d}, info)
	require.Empty(t, logged)
}

func TestMetaPageInTheOthersPlaceIsRefused(t *testing.T) {
	s := newSpecimen(t)
	_, _, err := s.look(t, s.with(s.newest*s.pageSize, s.page(1-s.newest)))
	require.ErrorIs(t, err, state.ErrUnreadable, "or an older decision would pass for the newest, unnoticed")
}

// TestLostWriteIsNoticed: the disk kept the last transaction's meta page and lost what it leads to, or kept an older
// page in its place. Every page is then well formed, and every checksum right.
func TestLostWriteIsNoticed(t *testing.T) {
	s := newSpecimen(t)
	size := max(len(s.bytes), len(s.earlier))
	earlier := make([]byte, size)
	copy(earlier, s.earlier)
	changed := 0
	for i := range s.limit {
		if bytes.Equal(s.page(i), earlier[i*s.pageSize:(i+1)*s.pageSize]) || i == s.newest {
			continue
		}
		changed++
		info, _, err := s.look(t, s.with(i*s.pageSize, earlier[i*s.pageSize:(i+1)*s.pageSize]))
		if err == nil {
			require.Equal(t, s.now, info, "page %d is an older one", i)
		}
	}
	require.Greater(t, changed, 1)

	copy(earlier[s.newest*s.pageSize:], s.page(s.newest))
	_, _, err := s.look(t, earlier)
	require.ErrorIs(t, err, state.ErrUnreadable)

	// The same with nothing but the values older: the pages of a file whose last transaction wrote the same pages.
	path := filepath.Join(t.TempDir(), "s")
	require.NoError(t, os.WriteFile(path, s.bytes, 0o600))
	db, err := bbolt.Open(path, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
		root := tx.Bucket([]byte("xasink"))
		return root.Put([]byte("head"), bytes.Clone(root.Get([]byte("head"))))
	}))
	require.NoError(t, db.Close())
	_, _, err = s.look(t, fileBytes(t, path))
	require.ErrorIs(t, err, state.ErrUnreadable)
	require.ErrorContains(t, err, "a write was lost, or another program wrote the file")
}

// TestHeadAndDecisionsMustAgree: what another program, or damage that keeps every checksum, could leave.
func TestHeadAndDecisionsMustAgree(t *testing.T) {
	s := newSpecimen(t)
	number := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
	for name, change := range map[string]func(root, decisions *bbolt.Bucket) error{
		"head missing":      func(root, _ *bbolt.Bucket) error { return root.Delete([]byte("head")) },
		"decisions missing": func(root, _ *bbolt.Bucket) error { return root.DeleteBucket([]byte("decisions")) },
		"newest missing":    func(_, d *bbolt.Bucket) error { return d.Delete(number(s.now.Last.Number)) },
		"oldest missing":    func(_, d *bbolt.Bucket) error { return d.Delete(number(s.now.Last.Whole)) },
		"one too many": func(_, d *bbolt.Bucket) error {
			return d.Put(number(s.now.Last.Number+1), d.Get(number(s.now.Last.Number)))
		},
		"one under another's number": func(_, d *bbolt.Bucket) error {
			return d.Put(number(s.now.Last.Number), bytes.Clone(d.Get(number(s.now.Last.Whole))))
		},
		"newest under another number": func(_, d *bbolt.Bucket) error {
			newest := bytes.Clone(d.Get(number(s.now.Last.Number)))
			if err := d.Delete(number(s.now.Last.Number)); err != nil {
				return err
			}
			return d.Put(number(s.now.Last.Number+1), newest)
		},
		"of another job": func(_, d *bbolt.Bucket) error { return putChanged(d, func(d *state.Decision) { d.Job = "x" }) },
		"of another store": func(_, d *bbolt.Bucket) error {
			return putChanged(d, func(d *state.Decision) { d.Store = uuid.New() })
		},
		"above the epoch": func(_, d *bbolt.Bucket) error { return putChanged(d, func(d *state.Decision) { d.Epoch += 9 }) },
		"empty":           func(_, d *bbolt.Bucket) error { return d.Put(number(s.now.Last.Number), nil) },
		"nothing changed": func(_, _ *bbolt.Bucket) error { return nil },
	} {
		path := filepath.Join(t.TempDir(), "s")
		require.NoError(t, os.WriteFile(path, s.bytes, 0o600))
		db, err := bbolt.Open(path, 0o600, nil)
		require.NoError(t, err)
		require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
			root := tx.Bucket([]byte("xasink"))
			if err := putTransaction(root, uint64(tx.ID())); err != nil {
				return err
			}
			return change(root, root.Bucket([]byte("decisions")))
		}))
		require.NoError(t, db.Close())
		info, _, err := s.look(t, fileBytes(t, path))
		if name == "nothing changed" {
			require.NoError(t, err)
			require.Equal(t, s.now, info)
			continue
		}
		require.ErrorIs(t, err, state.ErrUnreadable, name)
	}
}

// putChanged changes the newest decision, with a right checksum.
func putChanged(decisions *bbolt.Bucket, change func(*state.Decision)) error {
	key, value := decisions.Cursor().Last()
	d, err := state.Decode(value)
	if err != nil {
		return err
	}
	change(&d)
	encoded, err := state.Encode(d)
	if err != nil {
		return err
	}
	return decisions.Put(key, encoded)
}
