package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"
)

// FileFormatVersion is the newest format of a state file that this version reads, and the one that it writes.
const FileFormatVersion = 1

// A state file is a bbolt file with one bucket. It has the key head, and the bucket decisions with every kept decision
// by its number, big endian. The head lists these, so that none can be missing unnoticed, and the transaction that
// wrote it, which is the file's last: a page that an older transaction left in its place cannot pass for the newest.
var (
	rootBucket      = []byte("xasink")
	headKey         = []byte("head")
	decisionsBucket = []byte("decisions")

	headEnvelope = envelope{magic: "XAsF", version: FileFormatVersion, what: "state file's head", limit: 1 << 20}
)

type head struct {
	Job         string   `cbor:"1,keyasint"`
	Store       []byte   `cbor:"2,keyasint"`
	Transaction uint64   `cbor:"3,keyasint"` // bbolt's number of the one that wrote the head
	Epoch       uint64   `cbor:"4,keyasint"`
	Run         []byte   `cbor:"5,keyasint"`
	Kept        []uint64 `cbor:"6,keyasint"` // numbers of the decisions, the newest last
}

// content is what a state file holds.
type content struct {
	image
	job   string
	store uuid.UUID
}

// load reads all of the file, as the last transaction left it. What is not exactly as save writes it is an error that
// matches ErrUnreadable.
func load(tx *bbolt.Tx) (content, error) {
	root := tx.Bucket(rootBucket)
	if root == nil {
		return content{}, fmt.Errorf("%w: it is not a state file of xasink", ErrUnreadable)
	}
	h, err := decodeHead(root.Get(headKey))
	if err != nil {
		return content{}, err
	}
	last := uint64(tx.ID())
	if tx.Writable() {
		last-- // tx has a number of its own
	}
	if h.Transaction != last {
		return content{}, fmt.Errorf("%w: its head is of transaction %d and its last is %d: a write was lost, "+
			"or another program wrote the file", ErrUnreadable, h.Transaction, last)
	}
	c := content{job: h.Job, image: image{epoch: h.Epoch}}
	if c.store, err = uuid.FromBytes(h.Store); err != nil {
		return content{}, fmt.Errorf("%w: store id: %w", ErrUnreadable, err)
	}
	if c.run, err = uuid.FromBytes(h.Run); err != nil {
		return content{}, fmt.Errorf("%w: run: %w", ErrUnreadable, err)
	}
	c.kept, err = loadDecisions(root, c, h.Kept)
	return c, err
}

// loadDecisions reads the decisions that the head names, and makes sure that there are no others.
func loadDecisions(root *bbolt.Bucket, c content, numbers []uint64) ([]Decision, error) {
	decisions := root.Bucket(decisionsBucket)
	if decisions == nil {
		return nil, fmt.Errorf("%w: its decisions are missing", ErrUnreadable)
	}
	var kept []Decision
	err := decisions.ForEach(func(key, stored []byte) error {
		if len(kept) == len(numbers) || !bytes.Equal(key, decisionKey(numbers[len(kept)])) {
			return fmt.Errorf("%w: it has the decisions %d, and not %x where it is", ErrUnreadable, numbers, key)
		}
		d, err := Decode(stored)
		if err != nil {
			return fmt.Errorf("decision %d: %w", numbers[len(kept)], err)
		}
		if d.Number != numbers[len(kept)] || d.Job != c.job || d.Store != c.store || d.Epoch > c.epoch {
			return fmt.Errorf("%w: in place of decision %d of job %q, store %s, it has number %d of job %q, store %s",
				ErrUnreadable, numbers[len(kept)], c.job, c.store, d.Number, d.Job, d.Store)
		}
		kept = append(kept, d)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(kept) != len(numbers) {
		return nil, fmt.Errorf("%w: decisions are missing: it lists %d and has %d", ErrUnreadable, len(numbers), len(kept))
	}
	return kept, nil
}

// save brings the file from what before says to what c says.
func save(tx *bbolt.Tx, before, c content) error {
	root, err := tx.CreateBucketIfNotExists(rootBucket)
	if err != nil {
		return err
	}
	decisions, err := root.CreateBucketIfNotExists(decisionsBucket)
	if err != nil {
		return err
	}
	old := map[uint64]bool{}
	for _, d := range before.kept {
		old[d.Number] = true
	}
	h := head{
		Job: c.job, Store: c.store[:], Transaction: uint64(tx.ID()), Epoch: c.epoch, Run: c.run[:],
	}
	for _, d := range c.kept {
		h.Kept = append(h.Kept, d.Number)
		if old[d.Number] {
			delete(old, d.Number)
			continue
		}
		encoded, err := Encode(d)
		if err != nil {
			return err
		}
		if err := decisions.Put(decisionKey(d.Number), encoded); err != nil {
			return err
		}
	}
	for number := range old {
		if err := decisions.Delete(decisionKey(number)); err != nil {
			return err
		}
	}
	encoded, err := encodeHead(h)
	if err != nil {
		return err
	}
	return root.Put(headKey, encoded)
}

func encodeHead(h head) ([]byte, error) {
	payload, err := encoding.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode the head of job %q: %w", h.Job, err)
	}
	return headEnvelope.seal(payload)
}

func decodeHead(stored []byte) (head, error) {
	if stored == nil {
		return head{}, fmt.Errorf("%w: its head is missing", ErrUnreadable)
	}
	payload, err := headEnvelope.open(stored)
	if err != nil {
		return head{}, err
	}
	var h head
	if err := decoding.Unmarshal(payload, &h); err != nil {
		return head{}, fmt.Errorf("%w: decode its head: %w", ErrUnreadable, err)
	}
	return h, nil
}

func decisionKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

// errUnchanged ends a transaction that has nothing to write. It is no error.
var errUnchanged = errors.New("nothing to write")
