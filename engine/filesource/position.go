package filesource

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// positionVersion is the format that Position writes, and the newest one that Open reads.
const positionVersion = 1

var positionMagic = []byte("xfp")

// maxBase bounds the file name inside a position, so that a position stays far below the 2 KB that a decision gives it.
const maxBase = 1024

// place is what a position says.
type place struct {
	offset int64 // of the next byte to read, in the uncompressed content
	line   int64 // that byte's line, from 1
	record int64 // records read before it
	from   int64 // the checksum covers [from, offset)
	sum    uint32
	header [8]byte
	base   string
}

// encode gives magic, version, the numbers as unsigned varints, sums, the file's name, and a checksum of all that.
func (p place) encode() []byte {
	b := make([]byte, 0, 64+len(p.base))
	b = append(b, positionMagic...)
	b = append(b, positionVersion)
	for _, n := range []int64{p.offset, p.line, p.record, p.from} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = binary.BigEndian.AppendUint32(b, p.sum)
	b = append(b, p.header[:]...)
	b = binary.AppendUvarint(b, uint64(len(p.base)))
	b = append(b, p.base...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

var errPositionBytes = errors.New("its bytes are damaged or cut off")

func decodePlace(b []byte) (place, error) {
	rest, ok := bytes.CutPrefix(b, positionMagic)
	if !ok || len(rest) == 0 {
		return place{}, errors.New("it is not the position of a file")
	}
	if v := rest[0]; v != positionVersion {
		return place{}, fmt.Errorf("it has format version %d and this program reads up to %d: use a newer program", v, positionVersion)
	}
	if len(rest) < 5 {
		return place{}, errPositionBytes
	}
	body := b[:len(b)-4]
	if binary.BigEndian.Uint32(b[len(body):]) != crc32.Checksum(body, castagnoli) {
		return place{}, errPositionBytes
	}
	rest = rest[1 : len(rest)-4]
	var numbers [4]int64
	for i := range numbers {
		n, size := binary.Uvarint(rest)
		if size <= 0 || int64(n) < 0 {
			return place{}, errPositionBytes
		}
		numbers[i], rest = int64(n), rest[size:]
	}
	p := place{offset: numbers[0], line: numbers[1], record: numbers[2], from: numbers[3]}
	if len(rest) < 4+len(p.header) {
		return place{}, errPositionBytes
	}
	p.sum, rest = binary.BigEndian.Uint32(rest), rest[4:]
	rest = rest[copy(p.header[:], rest):]
	n, size := binary.Uvarint(rest)
	if size <= 0 || n != uint64(len(rest)-size) || p.from > p.offset || p.line < 1 {
		return place{}, errPositionBytes
	}
	p.base = string(rest[size:])
	return p, nil
}

// hashHeader tells one header, read with one comma, from another.
func hashHeader(comma byte, names []string) (h [8]byte) {
	b := []byte{comma}
	for _, name := range names {
		b = binary.AppendUvarint(b, uint64(len(name)))
		b = append(b, name...)
	}
	sum := sha256.Sum256(b)
	copy(h[:], sum[:])
	return h
}
