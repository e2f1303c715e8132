package filesource

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// one reads a file of one record with a single interesting field.
func one(t *testing.T, value string) Record {
	t.Helper()
	r, err := Open(t.Context(), Config{Path: write(t, "one.csv", []byte("id,value\n1,\""+value+"\"\n"))}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	records, err := r.Read(t.Context(), 1)
	require.NoError(t, err)
	return records[0]
}

func TestTypedFields(t *testing.T) {
	n, err := one(t, "-9223372036854775808").Int64(1)
	require.NoError(t, err)
	require.EqualValues(t, math.MinInt64, n)
	u, err := one(t, "18446744073709551615").Uint64(1)
	require.NoError(t, err)
	require.Equal(t, uint64(math.MaxUint64), u)
	f, err := one(t, "-1.5e3").Float64(1)
	require.NoError(t, err)
	require.Equal(t, -1500.0, f)
	d, err := one(t, "-00123456789012345678901234567890.10").Decimal(1)
	require.NoError(t, err)
	require.Equal(t, "-00123456789012345678901234567890.10", d)
	s, err := one(t, "Zürich 😀").Text(1)
	require.NoError(t, err)
	require.Equal(t, "Zürich 😀", s)
	at, err := one(t, "2001/01/31 23:59").Time(1, "2006/01/02 15:04", time.UTC)
	require.NoError(t, err)
	require.Equal(t, time.Date(2001, 1, 31, 23, 59, 0, 0, time.UTC), at)
}

func TestFieldsThatCannotBeTakenExactlyAreRefused(t *testing.T) {
	integer := func(r Record) error { _, err := r.Int64(1); return err }
	unsigned := func(r Record) error { _, err := r.Uint64(1); return err }
	float := func(r Record) error { _, err := r.Float64(1); return err }
	decimal := func(r Record) error { _, err := r.Decimal(1); return err }
	text := func(r Record) error { _, err := r.Text(1); return err }
	date := func(r Record) error { _, err := r.Time(1, "2006/01/02", time.UTC); return err }
	for _, c := range []struct {
		value, want string
		parse       func(Record) error
	}{
		{"", `"" is not a whole number`, integer},
		{" 1", `" 1" is not a whole number`, integer},
		{"1.0", "is not a whole number", integer},
		{"0x10", "is not a whole number", integer},
		{"1_000", "is not a whole number", integer},
		{"9223372036854775808", "does not fit into 64 bits", integer},
		{"-1", "is not a whole number", unsigned},
		{"18446744073709551616", "does not fit into 64 bits", unsigned},
		{"", "is not a decimal number", float},
		{"NaN", "is not a decimal number", float},
		{"-inf", "is not a decimal number", float},
		{"0x1p-2", "is not a decimal number", float},
		{"1e999", "beyond what a double can hold", float},
		{"", "is not a decimal number", decimal},
		{"-", "is not a decimal number", decimal},
		{".", "is not a decimal number", decimal},
		{"1e3", "is not a decimal number", decimal},
		{"1.2.3", "is not a decimal number", decimal},
		{"1-2", "is not a decimal number", decimal},
		{"1,5", "is not a decimal number", decimal},
		{"\xff", "is not UTF-8", text},
		{"2001-01-31", `is not a time of the form "2006/01/02"`, date},
		{"2001/02/30", "is not a time", date},
		{"", "is not a time", date},
	} {
		rec := one(t, c.value)
		err := c.parse(rec)
		require.ErrorContains(t, err, c.want, "%q", c.value)
		var place *LineError
		require.ErrorAs(t, err, &place)
		require.EqualValues(t, 2, place.Line)
		require.Equal(t, 3, place.Column, "of the opening quote")
		require.Equal(t, "value", place.Name)
		require.ErrorContains(t, err, "one.csv:2:3: column value: ")
	}
}

func TestCallersErrorsHaveAPlaceToo(t *testing.T) {
	cause := errors.New("no such airport")
	err := one(t, "XXX").Errorf(1, "%q: %w", "XXX", cause)
	require.ErrorIs(t, err, cause)
	require.ErrorContains(t, err, `one.csv:2:3: column value: "XXX": no such airport`)
}

// The bytes of an old record are those of a new one by now: better no answer than a wrong one.
func TestRecordUsedAfterTheNextReadPanics(t *testing.T) {
	r, err := Open(t.Context(), Config{Path: write(t, "nasty.csv", []byte(nasty))}, nil)
	require.NoError(t, err)
	records, err := r.Read(t.Context(), 1)
	require.NoError(t, err)
	old := records[0]
	require.Equal(t, "1", string(old.Bytes(0)))
	_, err = r.Read(t.Context(), 1)
	require.NoError(t, err)
	require.PanicsWithValue(t, "filesource: record 1 of "+r.config.Path+" was used after the next Read", func() { old.Bytes(0) })
	require.Panics(t, func() { r.records[0].Bytes(2) })
	require.NoError(t, r.Close())
}
