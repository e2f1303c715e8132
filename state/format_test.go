package state_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/xasink/xasink/state"
)

var update = flag.Bool("update", false, "write the golden files of a format that is not released yet")

const formats = "../testdata/formats"

func smallest() state.Decision {
	return state.Decision{
		Job:    "a",
		Store:  uuid.MustParse("00000000-0000-4000-8000-000000000001"),
		Epoch:  1,
		Number: 1,
		Time:   time.UnixMicro(0).UTC(),
		Server: state.Server{Started: time.UnixMicro(0).UTC()},
	}
}

func full() state.Decision {
	return state.Decision{
		Job:         "orders-eu_1.main",
		Store:       uuid.MustParse("2d0f5e0a-8a1c-4f57-9a3e-54f2f0c1b2a3"),
		Epoch:       300,
		Number:      70000,
		Predecessor: 69998,
		Whole:       69997,
		Run:         uuid.MustParse("0190b6a4-7c00-7abc-8def-0123456789ab"),
		Time:        time.Date(2026, 2, 28, 23, 59, 59, 123456000, time.UTC),
		Positions: []state.Position{
			{Source: "", Data: []byte("the only source of a plain loop")},
			{Source: "file:flights.csv", Data: []byte{0, 1, 2, 0xfe, 0xff}},
			{Source: "leer", Data: nil},
			{Source: "naïve/ключ", Data: bytes.Repeat([]byte{0xaa}, 300)},
		},
		Pending: []state.Range{
			{Server: "4c3b:3306", Epoch: 299, Lane: 0, From: 1, To: 1, Belongs: 69999, Rows: 1},
			{Server: "4c3b:3306", Epoch: 300, Lane: 0, From: 1, To: 1000, Belongs: 70000, Rows: 100000000},
			{Server: "4c3b:3306", Epoch: 300, Lane: 0, From: 1002, To: 1003, Belongs: 70000, Rows: 24},
			{Server: "4c3b:3306", Epoch: 300, Lane: 7, From: math.MaxUint64, To: math.MaxUint64, Belongs: 70000, Rows: 0},
			{Server: "9f:3307", Epoch: 300, Lane: 1, From: 256, To: 65536, Belongs: 69999, Rows: math.MaxUint64},
		},
		Lanes: []state.Lane{
			{Number: 0, Epoch: 298, Seq: 17, Tables: []string{"shop.orders", "shop.orders_lines"}},
			{Number: 3},
			{Number: 8, Epoch: 12, Seq: 1},
		},
		Bounds: state.Bounds{Lanes: 9, Marks: 4},
		Server: state.Server{Name: "4c3b:3306", Started: time.Date(2026, 2, 1, 0, 0, 0, 1000, time.UTC)},
	}
}

// segments is a decision of n branches in a row.
func segments(n uint64) state.Decision {
	d := smallest()
	d.Pending = []state.Range{{Server: "one", Epoch: 1, From: 1, To: n, Belongs: 1, Rows: n * 1000}}
	d.Bounds.Lanes = 1
	return d
}

func golden() map[string]state.Decision {
	return map[string]state.Decision{
		"decision-v1-smallest.hex": smallest(),
		"decision-v1-full.hex":     full(),
		"decision-v1-segments.hex": segments(1000),
	}
}

func TestF40_StoredDecisionsOfThisFormatAreReadForEver(t *testing.T) {
	for name, want := range golden() {
		encoded, err := state.Encode(want)
		require.NoError(t, err, name)
		if *update {
			writeHex(t, name, encoded)
		}
		stored := readHex(t, name)
		require.Equal(t, stored, encoded, "%s: the bytes of a released format never change", name)
		got, err := state.Decode(stored)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
}

func writeHex(t *testing.T, name string, b []byte) {
	t.Helper()
	var text strings.Builder
	for line := range slices.Chunk(b, 32) {
		text.WriteString(hex.EncodeToString(line) + "\n")
	}
	require.NoError(t, os.WriteFile(filepath.Join(formats, name), []byte(text.String()), 0o644))
}

func readHex(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(formats, name))
	require.NoError(t, err)
	b, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	require.NoError(t, err)
	return b
}

// reseal puts the right length and checksum on an envelope that was changed.
func reseal(b []byte) []byte {
	b = bytes.Clone(b)
	binary.BigEndian.PutUint32(b[6:], uint32(len(b)-14))
	table := crc32.MakeTable(crc32.Castagnoli)
	binary.BigEndian.PutUint32(b[10:], crc32.Update(crc32.Checksum(b[:10], table), table, b[14:]))
	return b
}

func TestF50_UnknownVersionIsRefused(t *testing.T) {
	encoded, err := state.Encode(full())
	require.NoError(t, err)
	require.Equal(t, encoded, reseal(encoded))
	for _, version := range []uint16{0, state.FormatVersion + 1, 999} {
		binary.BigEndian.PutUint16(encoded[4:], version)
		_, err = state.Decode(reseal(encoded))
		require.ErrorIs(t, err, state.ErrUnreadable)
		require.ErrorContains(t, err, "format version")
		require.Regexp(t, `version \d+ and this program reads version 1: run the version`, err.Error())
	}
	_, err = state.Decode(encoded)
	require.ErrorIs(t, err, state.ErrUnreadable)
	require.ErrorContains(t, err, "damaged", "a version that damage made up is not told as one")
}

func TestDecisionCutAnywhereIsRefused(t *testing.T) {
	encoded, err := state.Encode(full())
	require.NoError(t, err)
	for n := range encoded {
		_, err := state.Decode(encoded[:n])
		require.ErrorIs(t, err, state.ErrUnreadable, "%d bytes", n)
	}
	for n := 1; n < 40; n++ {
		_, err := state.Decode(append(bytes.Clone(encoded), make([]byte, n)...))
		require.ErrorIs(t, err, state.ErrUnreadable, "%d bytes more", n)
	}
	_, err = state.Decode(nil)
	require.ErrorIs(t, err, state.ErrUnreadable)
}

func TestDecisionWithOneWrongBitIsRefused(t *testing.T) {
	encoded, err := state.Encode(full())
	require.NoError(t, err)
	for i := range encoded {
		was := encoded[i]
		for bit := range 8 {
			encoded[i] = was ^ 1<<bit
			_, err := state.Decode(encoded)
			require.ErrorIs(t, err, state.ErrUnreadable, "bit %d of byte %d", bit, i)
		}
		for _, b := range []byte{0, 0xff, was + 1} {
			if encoded[i] = b; b != was {
				_, err := state.Decode(encoded)
				require.ErrorIs(t, err, state.ErrUnreadable, "byte %d is %02x", i, b)
			}
		}
		encoded[i] = was
	}
	_, err = state.Decode(encoded)
	require.NoError(t, err)
}

// TestDecisionInAnotherFormIsRefused: what a careless writer, or a different one, would produce, with a right checksum.
func TestDecisionInAnotherFormIsRefused(t *testing.T) {
	encoded, err := state.Encode(smallest())
	require.NoError(t, err)
	header, payload := encoded[:14], encoded[14:]
	require.Equal(t, byte(0xa0|14), payload[0], "a map of 14")
	for name, changed := range map[string][]byte{
		"unknown field":   append([]byte{0xa0 | 15}, append(bytes.Clone(payload[1:]), 0x0f, 0x00)...),
		"unknown key":     append([]byte{0xa0 | 15}, append(bytes.Clone(payload[1:]), 0x61, 'x', 0x00)...),
		"field twice":     append([]byte{0xa0 | 15}, append(bytes.Clone(payload[1:]), 0x04, 0x01)...),
		"field missing":   bytes.Replace(append([]byte{0xa0 | 13}, payload[1:]...), []byte{0x05, 0x00, 0x06}, []byte{0x06}, 1),
		"number too long": bytes.Replace(payload, []byte{0x03, 0x01, 0x04}, []byte{0x03, 0x18, 0x01, 0x04}, 1),
		"other order": bytes.Replace(payload, []byte{0x03, 0x01, 0x04, 0x01}, []byte{0x04, 0x01, 0x03, 0x01},
			1),
		"endless map":      append(append([]byte{0xbf}, payload[1:]...), 0xff),
		"tag":              append([]byte{0xd9, 0xd9, 0xf7}, payload...),
		"two values":       append(bytes.Clone(payload), 0x00),
		"null for a list":  bytes.Replace(payload, []byte{0x09, 0x80, 0x0a}, []byte{0x09, 0xf6, 0x0a}, 1),
		"text for a store": bytes.Replace(payload, []byte{0x02, 0x50}, []byte{0x02, 0x70}, 1),
		"list for a map":   {0x80},
		"nothing":          {},
		"huge list":        {0xa1, 0x0b, 0x9b, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff},
	} {
		require.NotEqual(t, payload, changed, name)
		_, err := state.Decode(reseal(append(bytes.Clone(header), changed...)))
		require.ErrorIs(t, err, state.ErrUnreadable, name)
	}
}

func TestThousandSegmentsCostNoMoreThanOne(t *testing.T) {
	one, err := state.Encode(segments(1))
	require.NoError(t, err)
	thousand, err := state.Encode(segments(1000))
	require.NoError(t, err)
	require.LessOrEqual(t, len(thousand)-len(one), 6, "%d and %d bytes", len(one), len(thousand))
}

func TestDecisionOfTwoHundredScatteredBranchesFitsInThreeKilobytes(t *testing.T) {
	d := smallest()
	d.Bounds.Lanes = 4
	for i := range uint64(200) {
		d.Pending = append(d.Pending, state.Range{
			Server: "8b1f0f6e-3c1d-11ef-9a1f-0242ac110002", Epoch: 1, From: 2*i + 1, To: 2*i + 1, Belongs: 1, Rows: 1000,
		})
	}
	encoded, err := state.Encode(d)
	require.NoError(t, err)
	require.LessOrEqual(t, len(encoded), 3000, "what offset metadata of a partition can hold")
}

func TestDecodedDecisionSharesNothingWithItsBytes(t *testing.T) {
	encoded, err := state.Encode(full())
	require.NoError(t, err)
	d, err := state.Decode(encoded)
	require.NoError(t, err)
	clear(encoded)
	require.Equal(t, full(), d)
}

func TestDecisionRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := anyDecision(rt)
		encoded, err := state.Encode(d)
		require.NoError(rt, err)
		got, err := state.Decode(encoded)
		require.NoError(rt, err)
		require.Equal(rt, d, got)
		again, err := state.Encode(got)
		require.NoError(rt, err)
		require.Equal(rt, encoded, again)
	})
}

// FuzzDecision gives the decoder any bytes, as they are and with an envelope that fits, so that what is behind the
// checksum is reached as well.
func FuzzDecision(f *testing.F) {
	for _, d := range golden() {
		encoded, err := state.Encode(d)
		require.NoError(f, err)
		f.Add(encoded)
		f.Add(encoded[:len(encoded)/2])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		mustBeOurs(t, b)
		envelope, err := state.Encode(smallest())
		require.NoError(t, err)
		if len(b) >= 14 {
			b = b[14:]
		}
		mustBeOurs(t, reseal(append(envelope[:14:14], b...)))
	})
}

// mustBeOurs: what is decoded is what is encoded, to the byte; anything else is refused as unreadable.
func mustBeOurs(t *testing.T, b []byte) {
	t.Helper()
	d, err := state.Decode(b)
	if err != nil {
		require.ErrorIs(t, err, state.ErrUnreadable)
		return
	}
	require.NoError(t, d.Check())
	again, err := state.Encode(d)
	require.NoError(t, err)
	require.Equal(t, b, again)
}
