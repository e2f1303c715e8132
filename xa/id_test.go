package xa_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/xa"
)

func TestF36_GoldenBytesOfTheLargestName(t *testing.T) {
	id := xa.ID{Job: strings.Repeat("j", 40), Epoch: math.MaxUint64, Lane: math.MaxUint32, Seq: math.MaxUint64}
	x := id.XID()
	require.EqualValues(t, 2147483647, x.Format)
	require.Equal(t, "xasink1:jjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjj================", x.GTRID)
	require.Equal(t, "e18446744073709551615.w4294967295.s18446744073709551615=========", x.BQUAL)
	require.Len(t, x.GTRID, 64)
	require.Len(t, x.BQUAL, 64)
}

func TestF36_GoldenBytesOfAName(t *testing.T) {
	id := xa.ID{Job: "orders", Epoch: 7, Lane: 2, Seq: 15}
	require.Equal(t, xa.XID{
		Format: 2147483647,
		GTRID:  "xasink1:orders==================================================",
		BQUAL:  "e7.w2.s15=======================================================",
	}, id.XID())
	require.Equal(t, "orders/e7.w2.s15", id.String())
	require.Equal(t, "orders/e7.w2.s15", id.XID().String())
	require.Equal(t, "X'786173696e6b313a6f7264657273"+strings.Repeat("3d", 50)+
		"',X'65372e77322e733135"+strings.Repeat("3d", 55)+"',2147483647", id.XID().SQL())
}

func TestF37_NameToBytesAndBack(t *testing.T) {
	for _, id := range []xa.ID{
		{Job: "a", Epoch: 1, Lane: 0, Seq: 1},
		{Job: "0", Epoch: 10, Lane: 100, Seq: 1000},
		{Job: "eu-west.orders_v2", Epoch: 3, Lane: 4, Seq: 5},
		{Job: strings.Repeat("z", 40), Epoch: math.MaxUint64, Lane: math.MaxUint32, Seq: math.MaxUint64},
	} {
		back, ok := id.XID().ID()
		require.True(t, ok, "%s", id)
		require.Equal(t, id, back)
		parsed, err := xa.Parse(id.String())
		require.NoError(t, err)
		require.Equal(t, id, parsed)
	}
}

func TestF37_ForeignNamesAreRefused(t *testing.T) {
	ours := xa.ID{Job: "orders", Epoch: 7, Lane: 2, Seq: 15}.XID()
	pad := func(s string) string { return s + strings.Repeat("=", 64-len(s)) }
	foreign := map[string]xa.XID{
		"another format id":        {Format: 1, GTRID: ours.GTRID, BQUAL: ours.BQUAL},
		"a later version of ours":  {Format: ours.Format, GTRID: pad("xasink2:orders"), BQUAL: ours.BQUAL},
		"no padding":               {Format: ours.Format, GTRID: "xasink1:orders", BQUAL: ours.BQUAL},
		"bqual without padding":    {Format: ours.Format, GTRID: ours.GTRID, BQUAL: "e7.w2.s15"},
		"capitals":                 {Format: ours.Format, GTRID: pad("xasink1:Orders"), BQUAL: ours.BQUAL},
		"empty job":                {Format: ours.Format, GTRID: pad("xasink1:"), BQUAL: ours.BQUAL},
		"job of 41":                {Format: ours.Format, GTRID: pad("xasink1:" + strings.Repeat("a", 41)), BQUAL: ours.BQUAL},
		"padding inside":           {Format: ours.Format, GTRID: pad("xasink1:or=ders"), BQUAL: ours.BQUAL},
		"leading zero":             {Format: ours.Format, GTRID: ours.GTRID, BQUAL: pad("e07.w2.s15")},
		"epoch 0":                  {Format: ours.Format, GTRID: ours.GTRID, BQUAL: pad("e0.w2.s15")},
		"seq 0":                    {Format: ours.Format, GTRID: ours.GTRID, BQUAL: pad("e7.w2.s0")},
		"lane above 32 bits":       {Format: ours.Format, GTRID: ours.GTRID, BQUAL: pad("e7.w4294967296.s15")},
		"epoch above 64 bits":      {Format: ours.Format, GTRID: ours.GTRID, BQUAL: pad("e18446744073709551616.w2.s15")},
		"sign":                     {Format: ours.Format, GTRID: ours.GTRID, BQUAL: pad("e+7.w2.s15")},
		"one part more":            {Format: ours.Format, GTRID: ours.GTRID, BQUAL: pad("e7.w2.s15.x1")},
		"one part less":            {Format: ours.Format, GTRID: ours.GTRID, BQUAL: pad("e7.w2")},
		"parts in another order":   {Format: ours.Format, GTRID: ours.GTRID, BQUAL: pad("w2.e7.s15")},
		"parts exchanged":          {Format: ours.Format, GTRID: ours.BQUAL, BQUAL: ours.GTRID},
		"nothing":                  {},
		"a NUL at the end of ours": {Format: ours.Format, GTRID: ours.GTRID[:63] + "\x00", BQUAL: ours.BQUAL},
	}
	for name, x := range foreign {
		_, ok := x.ID()
		require.False(t, ok, "%s: %s is taken for ours", name, x)
		require.NotContains(t, x.String(), "orders/", "%s", name)
	}
}

func TestF34_NamesOfManyBranchesAreDistinct(t *testing.T) {
	seen := make(map[xa.XID]struct{}, 100_000)
	for seq := range uint64(100_000) {
		seen[xa.ID{Job: "orders", Epoch: 1 + seq%3, Lane: uint32(seq % 7), Seq: 1 + seq/21}.XID()] = struct{}{}
	}
	require.Len(t, seen, 100_000)
}

func TestF35_NamesOfManyJobsAreDistinct(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	seen := make(map[string]struct{}, 100_000)
	n := 0
	for i := range len(letters) {
		for j := range len(letters) {
			for k := range len(letters) {
				job := string([]byte{letters[i], letters[j], letters[k]})
				require.NoError(t, xa.CheckJob(job))
				seen[xa.ID{Job: job, Epoch: 1, Seq: 1}.XID().GTRID] = struct{}{}
				n++
			}
		}
	}
	require.Len(t, seen, n)
}

func TestF39_NamesAreEqualByTheirPartsAlone(t *testing.T) {
	id := xa.ID{Job: "orders", Epoch: 7, Lane: 2, Seq: 15}
	x := id.XID()
	require.Equal(t, xa.XID{Format: x.Format, GTRID: strings.Clone(x.GTRID), BQUAL: strings.Clone(x.BQUAL)}, x)
	require.Len(t, map[xa.XID]int{x: 1, id.XID(): 2}, 1)
	for _, other := range []xa.ID{
		{Job: "order", Epoch: 7, Lane: 2, Seq: 15},
		{Job: "orders", Epoch: 72, Lane: 2, Seq: 15},
		{Job: "orders", Epoch: 7, Lane: 21, Seq: 15},
		{Job: "orders", Epoch: 7, Lane: 2, Seq: 5},
	} {
		require.NotEqual(t, x, other.XID())
		require.NotEqual(t, id, other)
	}
}

func TestS17_TextAndBytesAgree(t *testing.T) {
	id := xa.ID{Job: "a.b-c_d", Epoch: 12, Lane: 34, Seq: 56}
	fromText, err := xa.Parse("a.b-c_d/e12.w34.s56")
	require.NoError(t, err)
	require.Equal(t, id, fromText)
	for _, bad := range []string{"", "/", "a", "a/", "a/e1.w1", "A/e1.w1.s1", "a/e1.w1.s1 ", " a/e1.w1.s1", "a/b/e1.w1.s1",
		"a/e01.w1.s1", "a/e1.w1.s0", "a/e1.w1.s-1", "a/e1.w1.s1x", "a//e1.w1.s1"} {
		_, err := xa.Parse(bad)
		require.Error(t, err, "%q", bad)
		require.ErrorContains(t, err, "branch name")
	}
}

func TestT16_JobNames(t *testing.T) {
	good := []string{"a", "0", "orders", "eu.west-1_b", strings.Repeat("x", 19), strings.Repeat("x", 32), strings.Repeat("x", 40)}
	for _, name := range good {
		require.NoError(t, xa.CheckJob(name), "%q", name)
	}
	bad := map[string]string{
		"":                      "empty",
		"Orders":                `character 1 ('O')`,
		"orderS":                `character 6 ('S')`,
		"or'ders":               `character 3 ('\'')`,
		`or"ders`:               `character 3 ('"')`,
		"or`ders":               "character 3",
		"or\\ders":              "character 3",
		"-orders":               "character 1",
		".orders":               "character 1",
		"_orders":               "character 1",
		"or ders":               "character 3",
		"or/ders":               "character 3",
		"or=ders":               "character 3",
		"bestellüng":            "character 8",
		"a\x00":                 "character 2",
		strings.Repeat("x", 41): "has 41 characters",
	}
	for name, want := range bad {
		err := xa.CheckJob(name)
		require.ErrorContains(t, err, want, "%q", name)
		require.ErrorContains(t, err, "want 1 to 40 characters", "%q", name)
	}
}

func TestNamesAreOrderedByJobLaneEpochSeq(t *testing.T) {
	inOrder := []xa.ID{
		{Job: "a", Epoch: 9, Lane: 9, Seq: 9},
		{Job: "b", Epoch: 1, Lane: 0, Seq: 1},
		{Job: "b", Epoch: 1, Lane: 0, Seq: 10},
		{Job: "b", Epoch: 2, Lane: 0, Seq: 1},
		{Job: "b", Epoch: 10, Lane: 0, Seq: 1},
		{Job: "b", Epoch: 1, Lane: 1, Seq: 1},
	}
	for i, a := range inOrder {
		for j, b := range inOrder {
			switch {
			case i < j:
				require.Negative(t, a.Compare(b), "%s %s", a, b)
			case i > j:
				require.Positive(t, a.Compare(b), "%s %s", a, b)
			default:
				require.Zero(t, a.Compare(b))
			}
		}
	}
}

// FuzzID: every name that can be made is read back as itself, and a changed byte makes it either foreign or exactly
// the name that those bytes encode.
func FuzzID(f *testing.F) {
	f.Add("orders", uint64(7), uint32(2), uint64(15), uint8(3), byte('x'))
	f.Add("a", uint64(1), uint32(0), uint64(1), uint8(127), byte('='))
	f.Add(strings.Repeat("z", 40), uint64(math.MaxUint64), uint32(math.MaxUint32), uint64(math.MaxUint64), uint8(64), byte('0'))
	f.Add("Bad", uint64(0), uint32(0), uint64(0), uint8(70), byte(0))
	f.Fuzz(func(t *testing.T, job string, epoch uint64, lane uint32, seq uint64, at uint8, b byte) {
		if xa.CheckJob(job) != nil || epoch == 0 || seq == 0 {
			_, err := xa.Parse(xa.ID{Job: job, Epoch: epoch, Lane: lane, Seq: seq}.String())
			require.Error(t, err)
			return
		}
		id := xa.ID{Job: job, Epoch: epoch, Lane: lane, Seq: seq}
		parsed, err := xa.Parse(id.String())
		require.NoError(t, err)
		require.Equal(t, id, parsed)
		x := id.XID()
		back, ok := x.ID()
		require.True(t, ok)
		require.Equal(t, id, back)

		bytes := []byte(x.GTRID + x.BQUAL)
		bytes[int(at)%len(bytes)] = b
		mutated := xa.XID{Format: x.Format, GTRID: string(bytes[:64]), BQUAL: string(bytes[64:])}
		if other, ok := mutated.ID(); ok {
			require.Equal(t, mutated, other.XID())
		}
	})
}

// FuzzXID: bytes from a server are foreign, or exactly what the name they are read as encodes to.
func FuzzXID(f *testing.F) {
	ours := xa.ID{Job: "orders", Epoch: 7, Lane: 2, Seq: 15}.XID()
	f.Add(ours.Format, ours.GTRID, ours.BQUAL)
	f.Add(int64(1), "gid-01", "")
	f.Add(int64(201), "\x5c\x0c\xd5\xa0\xe4\xa7\x52\xb8", "\xc8\x58\xfc\xa1")
	f.Fuzz(func(t *testing.T, format int64, gtrid, bqual string) {
		x := xa.XID{Format: format, GTRID: gtrid, BQUAL: bqual}
		id, ok := x.ID()
		if !ok {
			return
		}
		require.Equal(t, x, id.XID())
		parsed, err := xa.Parse(id.String())
		require.NoError(t, err)
		require.Equal(t, id, parsed)
	})
}

// FuzzParse: text is refused, or is exactly what the name it is read as prints.
func FuzzParse(f *testing.F) {
	f.Add("orders/e7.w2.s15")
	f.Add("orders/e07.w2.s15")
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := xa.Parse(s); err == nil {
			require.Equal(t, s, id.String())
		}
	})
}
