package boltfile_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/xasink/xasink/state/internal/boltfile"
)

// tree writes a file with everything that the format has: branches of several levels, values over many pages, buckets
// in buckets, inline and not, and free pages.
func tree(t *testing.T, pageSize, keys int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tree")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: pageSize, NoSync: true})
	require.NoError(t, err)
	write := func(f func(*bbolt.Tx) error) { require.NoError(t, db.Update(f)) }
	write(func(tx *bbolt.Tx) error {
		big, err := tx.CreateBucketIfNotExists([]byte("big"))
		if err != nil {
			return err
		}
		for i := range keys {
			key := fmt.Appendf(nil, "%08d-%s", i*7, bytes.Repeat([]byte("k"), i%60))
			if err := big.Put(key, bytes.Repeat([]byte{byte(i)}, i%200)); err != nil {
				return err
			}
		}
		return big.Put([]byte("long"), bytes.Repeat([]byte{7}, 10*pageSize))
	})
	write(func(tx *bbolt.Tx) error {
		small, err := tx.Bucket([]byte("big")).CreateBucketIfNotExists([]byte("small"))
		if err != nil {
			return err
		}
		return small.Put([]byte("a"), []byte("inline"))
	})
	for i := 0; i < keys; i += 3 {
		if i%30 == 0 {
			write(func(tx *bbolt.Tx) error {
				return tx.Bucket([]byte("big")).Delete(fmt.Appendf(nil, "%08d-%s", i*7, bytes.Repeat([]byte("k"), i%60)))
			})
		}
	}
	require.NoError(t, db.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

func check(b []byte) (boltfile.Report, error) {
	return boltfile.Check(bytes.NewReader(b), int64(len(b)))
}

func TestEveryFileThatBoltWritesIsGood(t *testing.T) {
	for _, pageSize := range []int{1024, 4096, 65536} {
		for _, keys := range []int{0, 1, 50, 1500} {
			b := tree(t, pageSize, keys)
			report, err := check(b)
			require.NoError(t, err, "%d keys in pages of %d", keys, pageSize)
			require.Equal(t, pageSize, report.PageSize)
			require.Equal(t, [2]error{}, report.Metas)
			newest := max(txid(b, 0), txid(b, pageSize))
			require.Equal(t, newest, report.Txid)

			// Either meta page alone tells where the file's pages are.
			for page, wantTxid := range []uint64{txid(b, pageSize), txid(b, 0)} {
				damaged := bytes.Clone(b)
				damaged[page*pageSize+16+20]++
				report, err := check(damaged)
				require.NoError(t, err)
				require.Equal(t, pageSize, report.PageSize)
				require.Equal(t, wantTxid, report.Txid)
				require.Error(t, report.Metas[page])
				require.NoError(t, report.Metas[1-page])
			}
		}
	}
}

func txid(b []byte, page int) uint64 { return binary.NativeEndian.Uint64(b[page+16+48:]) }

// TestWhatIsGoodIsReadByBolt: whatever bytes are wrong, a file that passes is read and written by bbolt to its end.
func TestWhatIsGoodIsReadByBolt(t *testing.T) {
	b := tree(t, 1024, 300)
	report, err := check(b)
	require.NoError(t, err)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "changed")
	good, refused := 0, 0
	for range 1000 {
		changed := bytes.Clone(b)
		for range 1 + random.IntN(2) {
			page := 2 + random.IntN(len(b)/report.PageSize-2)
			at := page*report.PageSize + random.IntN([]int{16, 48, 1024}[random.IntN(3)])
			switch random.IntN(3) {
			case 0:
				changed[at] = byte(random.Uint32())
			case 1:
				changed[at] ^= 1 << random.IntN(8)
			default: // a number that looks like one
				copy(changed[at&^7:], []byte{byte(random.IntN(40)), 0, 0, 0, 0, 0, 0, 0})
			}
		}
		if _, err := check(changed); err != nil {
			refused++
			continue
		}
		good++
		require.NoError(t, os.WriteFile(path, changed, 0o600))
		require.NoError(t, readAndWrite(path))
	}
	require.Greater(t, good, 50)
	require.Greater(t, refused, 50)
}

func readAndWrite(path string) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		var each func(b *bbolt.Bucket) error
		each = func(b *bbolt.Bucket) error {
			return b.ForEach(func(k, v []byte) error {
				if v == nil && b.Bucket(k) != nil {
					return each(b.Bucket(k))
				}
				_ = bytes.Clone(v)
				return nil
			})
		}
		if err := tx.ForEach(func(_ []byte, b *bbolt.Bucket) error { return each(b) }); err != nil {
			return err
		}
		b, err := tx.CreateBucketIfNotExists([]byte("new"))
		if err != nil {
			return err
		}
		return b.Put([]byte("k"), bytes.Repeat([]byte("v"), 5000))
	})
	if err != nil {
		return err
	}
	return db.Close()
}

// TestEndlessTreesAreRefused: bbolt would follow them until its stack is used up, which ends the process.
func TestEndlessTreesAreRefused(t *testing.T) {
	b := tree(t, 1024, 800)
	loops := 0
	for page := 2; page < len(b)/1024; page++ {
		at := page * 1024
		if binary.NativeEndian.Uint64(b[at:]) != uint64(page) || binary.NativeEndian.Uint16(b[at+8:]) != 0x01 {
			continue
		}
		changed := bytes.Clone(b)
		binary.NativeEndian.PutUint64(changed[at+16+8:], uint64(page)) // its first child is itself
		if _, err := check(changed); err != nil {
			require.ErrorContains(t, err, fmt.Sprintf("page %d is used twice", page))
			loops++
		}
	}
	require.Positive(t, loops, "branches in use")
}

func TestMetaPagesThatCannotBeAreRefused(t *testing.T) {
	b := tree(t, 1024, 50)
	change := func(f func(meta []byte)) []byte {
		changed := bytes.Clone(b)
		for page := range 2 {
			meta := changed[page*1024+16 : page*1024+16+64]
			f(meta)
			sum := fnv.New64a()
			_, _ = sum.Write(meta[:56])
			binary.NativeEndian.PutUint64(meta[56:], sum.Sum64())
		}
		return changed
	}
	put := func(at int, value uint64) []byte {
		return change(func(meta []byte) { binary.NativeEndian.PutUint64(meta[at:], value) })
	}
	_, err := check(change(func([]byte) {}))
	require.NoError(t, err)
	for want, changed := range map[string][]byte{
		"format version 3, this program reads version 2": change(func(meta []byte) { meta[4] = 3 }),
		"pages of 1023 bytes":                            change(func(meta []byte) { binary.NativeEndian.PutUint32(meta[8:], 1023) }),
		"neither used nor free":                          put(40, uint64(len(b)/1024)),
		"it needs 1000000 pages":                         put(40, 1000000),
		"it needs 3 pages":                               put(40, 3),
		"page 0 is referred to":                          put(16, 0),
		"page 99999 is referred to":                      put(16, 99999),
		"no list of free pages":                          put(32, ^uint64(0)),
		"page 1 is referred to":                          put(32, 1),
		"which is not its own":                           put(48, 8),
		"neither meta page":                              put(0, 0),
		"where a branch or a leaf has":                   change(func(meta []byte) { copy(meta[16:24], meta[32:40]) }),
	} {
		_, err := check(changed)
		require.ErrorContains(t, err, want)
	}
}

// TestKeysOutOfOrderAreRefused: bbolt searches by halves, and would not find keys that are there.
func TestKeysOutOfOrderAreRefused(t *testing.T) {
	b := tree(t, 1024, 300)
	swapped := 0
	for page := 2; page < len(b)/1024; page++ {
		header := b[page*1024:]
		kind, count := binary.NativeEndian.Uint16(header[8:]), binary.NativeEndian.Uint16(header[10:])
		if binary.NativeEndian.Uint64(header) != uint64(page) || kind > 0x02 || count < 3 {
			continue
		}
		changed := bytes.Clone(b)
		first, second := changed[page*1024+16:][:16], changed[page*1024+32:][:16]
		pos := map[uint16]int{0x01: 0, 0x02: 4}[kind] // of the place of the key, which counts from the element
		one, two := bytes.Clone(first), bytes.Clone(second)
		binary.NativeEndian.PutUint32(one[pos:], binary.NativeEndian.Uint32(one[pos:])-16)
		binary.NativeEndian.PutUint32(two[pos:], binary.NativeEndian.Uint32(two[pos:])+16)
		copy(first, two)
		copy(second, one)
		if _, err := check(changed); err != nil { // nil: the page is free
			require.ErrorContains(t, err, fmt.Sprintf("page %d is damaged: key", page))
			swapped++
		}
	}
	require.Greater(t, swapped, 10, "pages in use")
}
