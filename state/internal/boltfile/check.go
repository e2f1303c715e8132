// Package boltfile checks a bbolt file before bbolt opens it. bbolt trusts its pages: it maps the file, and a damaged
// or shortened one makes it panic, fault, or recurse without end, which nobody can recover from. Check reads the file
// with plain reads, every page of it, and trusts nothing.
//
// It sees damage of the structure, not of values: whoever stores values there gives them a checksum.
package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10

	elementSize = 16 // in the array behind the header of a branch or a leaf page
	bucketFlag  = 0x01
	bucketSize  = 16 // root uint64, sequence uint64, before the pages of a bucket that is inline

	maxDepth   = 32
	noFreelist = ^uint64(0)
)

// Report is what a file that can be opened looks like.
type Report struct {
	PageSize int
	Txid     uint64   // the transaction that bbolt will see as the last
	Metas    [2]error // what is wrong with a meta page. At most one of them; bbolt then goes on from the other
}

// Check tells whether bbolt can open the file of size bytes in r: a meta page can be read, the file is as long as that
// page says, every page is exactly once in the tree or free, and every page of the tree is well formed. The caller
// sees to it that nobody writes to r meanwhile. It changes nothing.
func Check(r io.ReaderAt, size int64) (Report, error) {
	metas, problems := readMetas(r)
	if problems[0] != nil && problems[1] != nil {
		return Report{}, fmt.Errorf("neither meta page can be read: page 0: %w; page 1: %w", problems[0], problems[1])
	}
	for i, m := range metas {
		if problems[i] == nil && m.txid%2 != uint64(i) {
			return Report{}, fmt.Errorf("page %d holds the meta page of transaction %d, which is not its own", i, m.txid)
		}
	}
	m := metas[0]
	if problems[0] != nil || problems[1] == nil && metas[1].txid > m.txid {
		m = metas[1]
	}
	if err := m.check(size); err != nil {
		return Report{}, err
	}
	w := walk{r: r, meta: m, seen: make([]bool, m.limit)}
	w.seen[0], w.seen[1] = true, true
	if err := w.tree(m.root, nil, nil, 0); err != nil {
		return Report{}, err
	}
	if err := w.free(); err != nil {
		return Report{}, err
	}
	if i := slices.Index(w.seen, false); i >= 0 {
		return Report{}, fmt.Errorf("page %d is neither used nor free", i)
	}
	return Report{PageSize: int(m.pageSize), Txid: m.txid, Metas: problems}, nil
}

// check tells whether the file can hold all pages of m.
func (m meta) check(size int64) error {
	if m.pageSize < smallestPage || m.pageSize > largestPage || m.pageSize&(m.pageSize-1) != 0 {
		return fmt.Errorf("pages of %d bytes cannot be", m.pageSize)
	}
	if pages := uint64(size / m.pageSize); m.limit < 4 || m.limit > pages {
		return fmt.Errorf("the file has %d bytes, which is %d whole pages of %d: it needs %d pages and is cut off",
			size, pages, m.pageSize, m.limit)
	}
	return nil
}

// walk visits every page once.
type walk struct {
	r    io.ReaderAt
	meta meta
	seen []bool
}

// page is a page with those that it overflows into.
type page struct {
	id    uint64
	flags uint16
	count int
	data  []byte // the header included
}

func parse(id uint64, data []byte) page {
	return page{id: id, flags: native.Uint16(data[8:]), count: int(native.Uint16(data[10:])), data: data}
}

// read reads page id. A second visit is an error: so no walk is endless.
func (w *walk) read(id uint64) (page, error) {
	if id < 2 || id >= w.meta.limit {
		return page{}, fmt.Errorf("page %d is referred to: pages are 2 to %d", id, w.meta.limit-1)
	}
	var header [headerSize]byte
	if _, err := w.r.ReadAt(header[:], int64(id)*w.meta.pageSize); err != nil {
		return page{}, fmt.Errorf("read page %d: %w", id, err)
	}
	if own := native.Uint64(header[:]); own != id {
		return page{}, fmt.Errorf("page %d is damaged: it says that it is page %d", id, own)
	}
	pages := uint64(native.Uint32(header[12:])) + 1
	if pages > w.meta.limit-id {
		return page{}, fmt.Errorf("page %d is damaged: it goes over %d pages, to behind the last", id, pages)
	}
	for i := id; i < id+pages; i++ {
		if err := w.visit(i); err != nil {
			return page{}, err
		}
	}
	data := make([]byte, int64(pages)*w.meta.pageSize)
	if _, err := w.r.ReadAt(data, int64(id)*w.meta.pageSize); err != nil {
		return page{}, fmt.Errorf("read page %d: %w", id, err)
	}
	return parse(id, data), nil
}

func (w *walk) visit(id uint64) error {
	if w.seen[id] {
		return fmt.Errorf("page %d is used twice, or both used and free", id)
	}
	w.seen[id] = true
	return nil
}

// tree checks the tree below page id. Its keys are from low to below high; nil is no bound.
func (w *walk) tree(id uint64, low, high []byte, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("page %d is more than %d pages deep", id, maxDepth)
	}
	p, err := w.read(id)
	if err != nil {
		return err
	}
	switch p.flags {
	case leafPage:
		return w.leaf(p, low, high, depth)
	case branchPage:
		return w.branch(p, low, high, depth)
	}
	return fmt.Errorf("page %d is damaged: kind %02x where a branch or a leaf has to be", id, p.flags)
}

func (w *walk) branch(p page, low, high []byte, depth int) error {
	if p.count == 0 {
		return fmt.Errorf("page %d is damaged: a branch of nothing", p.id)
	}
	keys := make([][]byte, p.count)
	children := make([]uint64, p.count)
	for i := range keys {
		e, err := p.element(i)
		if err != nil {
			return err
		}
		children[i] = native.Uint64(e[8:])
		if keys[i], err = p.bytes(i, native.Uint32(e), 0, native.Uint32(e[4:])); err != nil {
			return err
		}
	}
	if err := ordered(p.id, keys, low, high); err != nil {
		return err
	}
	for i, child := range children {
		to := high
		if i+1 < len(keys) {
			to = keys[i+1]
		}
		if err := w.tree(child, keys[i], to, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) leaf(p page, low, high []byte, depth int) error {
	keys := make([][]byte, p.count)
	for i := range keys {
		e, err := p.element(i)
		if err != nil {
			return err
		}
		flags, at, keySize := native.Uint32(e), native.Uint32(e[4:]), native.Uint32(e[8:])
		if keys[i], err = p.bytes(i, at, 0, keySize); err != nil {
			return err
		}
		value, err := p.bytes(i, at, keySize, native.Uint32(e[12:]))
		if err != nil {
			return err
		}
		switch flags {
		case 0:
		case bucketFlag:
			if err := w.bucket(p, value, depth); err != nil {
				return err
			}
		default:
			return fmt.Errorf("page %d is damaged: element %d has flags %02x", p.id, i, flags)
		}
	}
	return ordered(p.id, keys, low, high)
}

// bucket checks the bucket that value, an element of p, describes.
func (w *walk) bucket(p page, value []byte, depth int) error {
	if len(value) < bucketSize {
		return fmt.Errorf("page %d is damaged: a bucket of %d bytes", p.id, len(value))
	}
	if root := native.Uint64(value); root != 0 {
		return w.tree(root, nil, nil, depth+1)
	}
	if len(value) < bucketSize+headerSize {
		return fmt.Errorf("page %d is damaged: an inline bucket of %d bytes", p.id, len(value))
	}
	if depth > maxDepth {
		return fmt.Errorf("page %d holds buckets more than %d deep", p.id, maxDepth)
	}
	inline := parse(p.id, value[bucketSize:])
	if inline.flags != leafPage {
		return fmt.Errorf("page %d is damaged: an inline bucket of kind %02x", p.id, inline.flags)
	}
	return w.leaf(inline, nil, nil, depth+1)
}

// element is number i in the array of p.
func (p page) element(i int) ([]byte, error) {
	from := headerSize + i*elementSize
	if from+elementSize > len(p.data) {
		return nil, fmt.Errorf("page %d is damaged: %d elements do not fit in", p.id, p.count)
	}
	return p.data[from : from+elementSize], nil
}

// bytes are the size bytes that begin skip bytes behind what element i, which counts from its own place, points to.
func (p page) bytes(i int, at, skip, size uint32) ([]byte, error) {
	array := uint64(headerSize + p.count*elementSize)
	from := uint64(headerSize+i*elementSize) + uint64(at)
	if to := from + uint64(skip) + uint64(size); from < array || to > uint64(len(p.data)) {
		return nil, fmt.Errorf("page %d is damaged: element %d is at bytes %d to %d of %d", p.id, i, from, to, len(p.data))
	}
	from += uint64(skip)
	return p.data[from : from+uint64(size)], nil
}

func ordered(id uint64, keys [][]byte, low, high []byte) error {
	for i, key := range keys {
		switch {
		case i == 0 && low != nil && bytes.Compare(key, low) < 0,
			i > 0 && bytes.Compare(keys[i-1], key) >= 0,
			high != nil && bytes.Compare(key, high) >= 0:
			return fmt.Errorf("page %d is damaged: key %d is out of order", id, i)
		}
	}
	return nil
}

// free checks the list of free pages.
func (w *walk) free() error {
	if w.meta.freelist == noFreelist {
		return errors.New("it has no list of free pages: another program wrote it")
	}
	p, err := w.read(w.meta.freelist)
	if err != nil {
		return err
	}
	if p.flags != freelistPage {
		return fmt.Errorf("page %d is damaged: kind %02x where the list of free pages has to be", p.id, p.flags)
	}
	ids := p.data[headerSize:]
	count := uint64(p.count)
	if count == 0xFFFF {
		count, ids = native.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids))/8 {
		return fmt.Errorf("page %d is damaged: %d free pages do not fit in", p.id, count)
	}
	previous := uint64(1)
	for range count {
		id := native.Uint64(ids)
		ids = ids[8:]
		if id <= previous || id >= w.meta.limit {
			return fmt.Errorf("page %d is damaged: free page %d behind %d, of %d", p.id, id, previous, w.meta.limit)
		}
		if err := w.visit(id); err != nil {
			return err
		}
		previous = id
	}
	return nil
}
