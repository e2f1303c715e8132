package state

import (
	"bytes"
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/uuid"
)

// decisionEnvelope is what a decision is wrapped in.
var decisionEnvelope = envelope{magic: "XAsD", version: FormatVersion, what: "decision", limit: 8 << 20}

// Encode gives the stored form of d: an envelope (magic, version, length, CRC-32C) around CBOR in the core
// deterministic encoding of RFC 8949, 4.2.1. Equal decisions have equal bytes.
//
// An error matches ErrUnreadable and means that d does not pass Check, or is too long: nobody could read it back.
func Encode(d Decision) ([]byte, error) {
	if err := d.Check(); err != nil {
		return nil, fmt.Errorf("%w: decision %d of job %q cannot be written: %w", ErrUnreadable, d.Number, d.Job, err)
	}
	payload, err := encoding.Marshal(wire(d))
	if err != nil {
		return nil, fmt.Errorf("%w: encode decision %d of job %q: %w", ErrUnreadable, d.Number, d.Job, err)
	}
	return decisionEnvelope.seal(payload)
}

// Decode is the inverse of Encode. It takes nothing but what Encode gives: any other bytes are an error that matches
// ErrUnreadable, and that names both versions where a newer program wrote them. The result shares nothing with stored.
// Lists and bytes of length 0 come back as nil.
func Decode(stored []byte) (Decision, error) {
	payload, err := decisionEnvelope.open(stored)
	if err != nil {
		return Decision{}, err
	}
	var w wireDecision
	if err := decoding.Unmarshal(payload, &w); err != nil {
		return Decision{}, fmt.Errorf("%w: decode decision: %w", ErrUnreadable, err)
	}
	d, err := w.decision()
	if err != nil {
		return Decision{}, fmt.Errorf("%w: decode decision: %w", ErrUnreadable, err)
	}
	again, err := Encode(d)
	if err != nil {
		return Decision{}, err
	}
	if !bytes.Equal(again, stored) {
		return Decision{}, fmt.Errorf("%w: decision %d of job %q is not in the form that it is written in",
			ErrUnreadable, d.Number, d.Job)
	}
	return d, nil
}

// The wire types fix the format: keys are the fields' numbers and are never used for anything else. What repeats is an
// array. A server's name stands once, in Servers, and ranges point to it.
type wireDecision struct {
	Job         string         `cbor:"1,keyasint"`
	Store       []byte         `cbor:"2,keyasint"`
	Epoch       uint64         `cbor:"3,keyasint"`
	Number      uint64         `cbor:"4,keyasint"`
	Predecessor uint64         `cbor:"5,keyasint"`
	Whole       uint64         `cbor:"6,keyasint"`
	Run         []byte         `cbor:"7,keyasint"`
	Time        int64          `cbor:"8,keyasint"` // microseconds since 1970, UTC
	Positions   []wirePosition `cbor:"9,keyasint"`
	Servers     []string       `cbor:"10,keyasint"` // of Pending, in the order of their first range
	Pending     []wireRange    `cbor:"11,keyasint"`
	Lanes       []wireLane     `cbor:"12,keyasint"`
	Bounds      wireBounds     `cbor:"13,keyasint"`
	Server      wireServer     `cbor:"14,keyasint"`
}

type wirePosition struct {
	_      struct{} `cbor:",toarray"`
	Source string
	Data   []byte
}

type wireRange struct {
	_       struct{} `cbor:",toarray"`
	Server  uint32   // index in Servers
	Epoch   uint64
	Lane    uint32
	From    uint64
	To      uint64
	Belongs uint64
	Rows    uint64
}

type wireLane struct {
	_      struct{} `cbor:",toarray"`
	Number uint32
	Epoch  uint64
	Seq    uint64
	Tables []string
}

type wireBounds struct {
	_     struct{} `cbor:",toarray"`
	Lanes uint32
	Marks uint32
}

type wireServer struct {
	_       struct{} `cbor:",toarray"`
	Name    string
	Started int64 // microseconds since 1970, UTC
}

func wire(d Decision) wireDecision {
	w := wireDecision{
		Job: d.Job, Store: d.Store[:], Epoch: d.Epoch, Number: d.Number, Predecessor: d.Predecessor, Whole: d.Whole,
		Run: d.Run[:], Time: d.Time.UnixMicro(),
		Bounds: wireBounds{Lanes: d.Bounds.Lanes, Marks: d.Bounds.Marks},
		Server: wireServer{Name: d.Server.Name, Started: d.Server.Started.UnixMicro()},
	}
	for _, p := range d.Positions {
		w.Positions = append(w.Positions, wirePosition{Source: p.Source, Data: p.Data})
	}
	for i, r := range d.Pending {
		if i == 0 || d.Pending[i-1].Server != r.Server {
			w.Servers = append(w.Servers, r.Server)
		}
		w.Pending = append(w.Pending, wireRange{
			Server: uint32(len(w.Servers) - 1), Epoch: r.Epoch, Lane: r.Lane, From: r.From, To: r.To,
			Belongs: r.Belongs, Rows: r.Rows,
		})
	}
	for _, l := range d.Lanes {
		w.Lanes = append(w.Lanes, wireLane{Number: l.Number, Epoch: l.Epoch, Seq: l.Seq, Tables: l.Tables})
	}
	return w
}

func (w wireDecision) decision() (Decision, error) {
	d := Decision{
		Job: w.Job, Epoch: w.Epoch, Number: w.Number, Predecessor: w.Predecessor, Whole: w.Whole,
		Time:   time.UnixMicro(w.Time).UTC(),
		Bounds: Bounds{Lanes: w.Bounds.Lanes, Marks: w.Bounds.Marks},
		Server: Server{Name: w.Server.Name, Started: time.UnixMicro(w.Server.Started).UTC()},
	}
	var err error
	if d.Store, err = uuid.FromBytes(w.Store); err != nil {
		return Decision{}, fmt.Errorf("store id: %w", err)
	}
	if d.Run, err = uuid.FromBytes(w.Run); err != nil {
		return Decision{}, fmt.Errorf("run: %w", err)
	}
	for _, p := range w.Positions {
		position := Position{Source: p.Source}
		if len(p.Data) > 0 {
			position.Data = p.Data
		}
		d.Positions = append(d.Positions, position)
	}
	for _, r := range w.Pending {
		if uint64(r.Server) >= uint64(len(w.Servers)) {
			return Decision{}, fmt.Errorf("branches of server %d of %d", r.Server, len(w.Servers))
		}
		d.Pending = append(d.Pending, Range{
			Server: w.Servers[r.Server], Epoch: r.Epoch, Lane: r.Lane, From: r.From, To: r.To,
			Belongs: r.Belongs, Rows: r.Rows,
		})
	}
	for _, l := range w.Lanes {
		lane := Lane{Number: l.Number, Epoch: l.Epoch, Seq: l.Seq}
		if len(l.Tables) > 0 {
			lane.Tables = l.Tables
		}
		d.Lanes = append(d.Lanes, lane)
	}
	return d, nil
}

var (
	encoding = mustEncoding()
	decoding = mustDecoding()
)

func mustEncoding() cbor.EncMode {
	options := cbor.CoreDetEncOptions()
	options.NilContainers = cbor.NilContainerAsEmpty
	mode, err := options.EncMode()
	if err != nil {
		panic(err)
	}
	return mode
}

// mustDecoding bounds what an input can make the decoder do, before anything in it is believed.
func mustDecoding() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		MaxNestedLevels:   6,
		MaxArrayElements:  maxElements,
		MaxMapPairs:       64,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
	}.DecMode()
	if err != nil {
		panic(err)
	}
	return mode
}
