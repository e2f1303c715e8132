package boltfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The layout of bbolt's data format, version 2 (go.etcd.io/bbolt, internal/common). Numbers are in the byte order of
// the machine.
const (
	headerSize = 16 // of a page: id uint64, flags uint16, count uint16, overflow uint32

	metaSize     = 64 // behind the header of pages 0 and 1
	metaMagic    = 0xED0CDAED
	metaVersion  = 2
	smallestPage = 1 << 10
	largestPage  = 1 << 24
)

var native = binary.NativeEndian

// meta is what a meta page says: where the tree and the list of free pages begin, and the transaction that wrote it.
type meta struct {
	pageSize int64
	root     uint64
	freelist uint64
	limit    uint64 // page ids are below it
	txid     uint64
}

// readMeta reads the meta page that begins at offset.
func readMeta(r io.ReaderAt, offset int64) (meta, error) {
	var page [headerSize + metaSize]byte
	if _, err := r.ReadAt(page[:], offset); err != nil {
		if errors.Is(err, io.EOF) {
			return meta{}, errors.New("the file ends before it")
		}
		return meta{}, err
	}
	b := page[headerSize:]
	if magic := native.Uint32(b); magic != metaMagic {
		return meta{}, fmt.Errorf("begins with %08x, not with bbolt's %08x", magic, uint32(metaMagic))
	}
	sum := fnv.New64a()
	_, _ = sum.Write(b[:metaSize-8])
	if sum.Sum64() != native.Uint64(b[metaSize-8:]) {
		return meta{}, errors.New("wrong checksum")
	}
	if version := native.Uint32(b[4:]); version != metaVersion {
		return meta{}, fmt.Errorf("bbolt's format version %d, this program reads version %d", version, metaVersion)
	}
	return meta{
		pageSize: int64(native.Uint32(b[8:])),
		root:     native.Uint64(b[16:]),
		freelist: native.Uint64(b[32:]),
		limit:    native.Uint64(b[40:]),
		txid:     native.Uint64(b[48:]),
	}, nil
}

// readMetas reads both meta pages. The second begins where the first says that pages end; where the first cannot be
// read it is looked for at every page size there may be.
func readMetas(r io.ReaderAt) (metas [2]meta, problems [2]error) {
	metas[0], problems[0] = readMeta(r, 0)
	if problems[0] == nil {
		metas[1], problems[1] = readMeta(r, metas[0].pageSize)
		if problems[1] == nil && metas[1].pageSize != metas[0].pageSize {
			problems[1] = fmt.Errorf("pages of %d bytes, page 0 says %d", metas[1].pageSize, metas[0].pageSize)
		}
		return metas, problems
	}
	problems[1] = errors.New("not found")
	for size := int64(smallestPage); size <= largestPage; size *= 2 {
		if m, err := readMeta(r, size); err == nil && m.pageSize == size {
			metas[1], problems[1] = m, nil
			break
		}
	}
	return metas, problems
}
