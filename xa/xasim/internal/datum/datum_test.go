package datum_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
)

// Keys of an index compare as the values do, and are equal only for values that are.
func TestKeysCompareAsValuesDo(t *testing.T) {
	types := []struct {
		kind datum.Type
		draw *rapid.Generator[datum.Value]
	}{
		{datum.Type{Name: "bigint"}, rapid.Map(rapid.Int64(), datum.Int64)},
		{datum.Type{Name: "bigint", Unsigned: true}, rapid.Map(rapid.Uint64(), datum.Uint64)},
		{datum.Type{Name: "double"}, rapid.Map(rapid.Float64(), datum.Float64)},
		{datum.Type{Name: "decimal", Digits: 12, Scale: 3}, rapid.Map(rapid.Int64Range(-1e9, 1e9), func(n int64) datum.Value {
			return datum.Dec(fmt.Sprintf("%de-3", n))
		})},
		{datum.Type{Name: "varchar", Length: 20, Charset: "utf8mb4", Collate: "utf8mb4_0900_ai_ci"}, rapid.Map(rapid.StringN(0, 8, 20), datum.String)},
		{datum.Type{Name: "varchar", Length: 20, Charset: "ascii", Collate: "ascii_bin"}, rapid.Map(rapid.StringMatching("[a-b ]{0,4}[ab]"), datum.String)},
		{datum.Type{Name: "varbinary", Length: 8}, rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 8), func(b []byte) datum.Value { return datum.Binary(string(b)) })},
		{datum.Type{Name: "datetime", Fraction: 6}, rapid.Map(rapid.StringMatching(`20[0-9][0-9]-0[1-9]-1[0-9] 1[0-9]:0[0-9]:00`), datum.String)},
		{datum.Type{Name: "time"}, rapid.Map(rapid.StringMatching(`[1-9]0[0-9]:0[0-9]:00`), datum.String)},
	}
	for _, c := range types {
		t.Run(c.kind.String(false), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				a, b := store(t, c.kind, c.draw.Draw(t, "a")), store(t, c.kind, c.draw.Draw(t, "b"))
				want := datum.Compare(a, b, c.kind.IgnoresCase())
				got := bytes.Compare(c.kind.AppendKey(nil, a), c.kind.AppendKey(nil, b))
				require.Equal(t, want, got, "%q and %q", a.Text(), b.Text())
				require.Equal(t, -1, bytes.Compare(c.kind.AppendKey(nil, datum.Value{}), c.kind.AppendKey(nil, a)), "NULL comes first")
			})
		})
	}
}

func store(t *rapid.T, kind datum.Type, v datum.Value) datum.Value {
	stored, problem := kind.Store(v, datum.Options{})
	if problem != nil {
		t.Skip(problem.Error())
	}
	return stored
}

// The first column decides, however long the others are.
func TestKeysOfSeveralColumnsCompareColumnByColumn(t *testing.T) {
	text := datum.Type{Name: "varchar", Length: 20, Charset: "utf8mb4", Collate: "utf8mb4_bin"}
	key := func(a, b string) []byte {
		return text.AppendKey(text.AppendKey(nil, datum.String(a)), datum.String(b))
	}
	require.Negative(t, bytes.Compare(key("a", "zzz"), key("ab", "")))
	require.Negative(t, bytes.Compare(key("a", ""), key("a", "a")))
	require.NotEqual(t, key("ab", "c"), key("a", "bc"))
}

func TestArithmeticIsExactWhereServersAre(t *testing.T) {
	for _, c := range []struct {
		a    datum.Value
		op   byte
		b    datum.Value
		want string
	}{
		{datum.Int64(1), '+', datum.Int64(2), "3"},
		{datum.Dec("0.10"), '+', datum.Dec("0.2"), "0.30"},
		{datum.Dec("99999999999999999999.99"), '+', datum.Dec("0.01"), "100000000000000000000.00"},
		{datum.Int64(-7), '%', datum.Int64(3), "-1"},
		{datum.Int64(10), '/', datum.Int64(3), "3.3333"},
		{datum.Dec("1.5"), '*', datum.Dec("-2.25"), "-3.375"},
		{datum.String("2abc"), '*', datum.Int64(3), "6"},
		{datum.Int64(1), '/', datum.Int64(0), ""},
		{datum.Value{}, '+', datum.Int64(1), ""},
	} {
		got, err := datum.Arith(c.op, c.a, c.b)
		require.NoError(t, err)
		require.Equal(t, c.want, got.Text(), "%s %c %s", c.a.Text(), c.op, c.b.Text())
	}
	_, err := datum.Arith('+', datum.Int64(1<<62), datum.Int64(1<<62))
	require.ErrorIs(t, err, datum.ErrRange)
	_, err = datum.Arith('-', datum.Uint64(1), datum.Uint64(2))
	require.ErrorIs(t, err, datum.ErrRange)
}
