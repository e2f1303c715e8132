package state

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// An envelope is what every stored record is wrapped in:
//
//	magic 4 bytes | version uint16 | length uint32 | crc32c uint32 | payload
//
// Numbers are big endian. length is the payload's; the checksum covers everything but itself. The envelope stays the
// same in all versions: so a reader can tell a record that is newer than itself from one that is damaged.
type envelope struct {
	magic   string
	version uint16 // the version that is written, and the newest that is read
	what    string // for people
	limit   int    // longest payload in bytes
}

const (
	magicSize    = 4
	checksumAt   = magicSize + 2 + 4
	envelopeSize = checksumAt + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal wraps payload, which is at most e.limit bytes.
func (e envelope) seal(payload []byte) ([]byte, error) {
	if len(payload) > e.limit {
		return nil, fmt.Errorf("%w: the %s needs %d bytes, the limit is %d", ErrUnreadable, e.what, len(payload), e.limit)
	}
	sealed := make([]byte, envelopeSize, envelopeSize+len(payload))
	copy(sealed, e.magic)
	binary.BigEndian.PutUint16(sealed[magicSize:], e.version)
	binary.BigEndian.PutUint32(sealed[magicSize+2:], uint32(len(payload)))
	sealed = append(sealed, payload...)
	binary.BigEndian.PutUint32(sealed[checksumAt:], checksum(sealed))
	return sealed, nil
}

// open checks the envelope and gives the payload, which is part of sealed. Errors match ErrUnreadable.
func (e envelope) open(sealed []byte) ([]byte, error) {
	if len(sealed) < envelopeSize {
		return nil, fmt.Errorf("%w: the %s is cut off: %d bytes, an empty one has %d",
			ErrUnreadable, e.what, len(sealed), envelopeSize)
	}
	if string(sealed[:magicSize]) != e.magic {
		return nil, fmt.Errorf("%w: this is no %s: it begins with %q, not with %q",
			ErrUnreadable, e.what, sealed[:magicSize], e.magic)
	}
	if have, want := checksum(sealed), binary.BigEndian.Uint32(sealed[checksumAt:]); have != want {
		return nil, fmt.Errorf("%w: the %s is damaged: checksum %08x over %d bytes, recorded is %08x",
			ErrUnreadable, e.what, have, len(sealed), want)
	}
	if version := binary.BigEndian.Uint16(sealed[magicSize:]); version != e.version {
		return nil, fmt.Errorf("%w: the %s has format version %d and this program reads version %d: "+
			"run the version of xasink that wrote it, or a newer one", ErrUnreadable, e.what, version, e.version)
	}
	payload := sealed[envelopeSize:]
	if n := binary.BigEndian.Uint32(sealed[magicSize+2:]); uint64(n) != uint64(len(payload)) || len(payload) > e.limit {
		return nil, fmt.Errorf("%w: the %s has %d bytes and says that it has %d; the limit is %d",
			ErrUnreadable, e.what, len(payload), n, e.limit)
	}
	return payload, nil
}

func checksum(sealed []byte) uint32 {
	return crc32.Update(crc32.Checksum(sealed[:checksumAt], castagnoli), castagnoli, sealed[envelopeSize:])
}
