package filesource

import "hash/crc32"

// window is how many bytes before a position are proven to be the same at least, in a plain file. Gzip files have to be
// read from their start anyway, so there all bytes are proven.
const window = 64 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// digest is a running checksum of the last bytes before an offset: of [from, at), where from lies one to two windows
// behind, or at the start of the stream. It needs no bytes kept, since it begins a second sum at each window's edge.
type digest struct {
	at    int64
	from  int64
	sum   uint32 // of [from, at)
	block int64
	next  uint32 // of [block, at)
	whole bool   // from never moves
}

// digestAt is a digest that begins at offset from.
func digestAt(from int64, whole bool) digest {
	return digest{at: from, from: from, block: from, whole: whole}
}

func (d *digest) add(p []byte) {
	if d.whole {
		d.sum = crc32.Update(d.sum, castagnoli, p)
		d.at += int64(len(p))
		return
	}
	for len(p) > 0 {
		n := min(int64(len(p)), d.block+window-d.at)
		d.sum = crc32.Update(d.sum, castagnoli, p[:n])
		d.next = crc32.Update(d.next, castagnoli, p[:n])
		d.at += n
		p = p[n:]
		if d.at == d.block+window {
			d.from, d.sum = d.block, d.next
			d.block, d.next = d.at, 0
		}
	}
}
