package txnsink

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// parseLiteral reads one literal as the servers' manuals describe it (MySQL 9.1, sql_mode without NO_BACKSLASH_ESCAPES)
// and gives what it stands for. rest is what follows it.
func parseLiteral(t *testing.T, s string) (value string, k kind, rest string) {
	t.Helper()
	k = kindText
	if after, ok := strings.CutPrefix(s, "_binary"); ok {
		s, k = after, kindBytes
	}
	if s[0] != '\'' {
		end := strings.IndexAny(s, ",)")
		if end < 0 {
			end = len(s)
		}
		if s[:end] == "NULL" {
			return "", kindNull, s[end:]
		}
		return s[:end], kindNumber, s[end:]
	}
	var out strings.Builder
	for i := 1; ; i++ {
		require.Less(t, i, len(s), "the literal does not end: %q", s)
		switch s[i] {
		case '\\':
			i++
			require.Less(t, i, len(s), "a backslash ends the literal: %q", s)
			switch s[i] {
			case '0':
				out.WriteByte(0)
			case 'b':
				out.WriteByte('\b')
			case 'n':
				out.WriteByte('\n')
			case 'r':
				out.WriteByte('\r')
			case 't':
				out.WriteByte('\t')
			case 'Z':
				out.WriteByte(0x1a)
			default:
				out.WriteByte(s[i])
			}
		case '\'':
			if i+1 == len(s) || s[i+1] != '\'' {
				return out.String(), k, s[i+1:]
			}
			out.WriteByte('\'')
			i++
		default:
			out.WriteByte(s[i])
		}
	}
}

// parseField reads a LOAD DATA field: fields end at a tab, lines at a newline, backslash escapes.
func parseField(s string) (value string, whole bool) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\t', '\n':
			return out.String(), false
		case '\\':
			i++
			if i == len(s) {
				return out.String(), false
			}
			switch s[i] {
			case '0':
				out.WriteByte(0)
			case 'b':
				out.WriteByte('\b')
			case 'n':
				out.WriteByte('\n')
			case 'r':
				out.WriteByte('\r')
			case 't':
				out.WriteByte('\t')
			case 'Z':
				out.WriteByte(0x1a)
			case 'N':
				return "NULL", false
			default:
				out.WriteByte(s[i])
			}
		default:
			out.WriteByte(s[i])
		}
	}
	return out.String(), true
}

func FuzzStoredValueReadsBack(f *testing.F) {
	for _, s := range []string{
		"", "plain", `it's "quoted" \ and \\ more`, "a\x00b\nc\rd\te\x1af", "\xff\xfe\x00", `\N`, `\'`, "'", "''", "%_", "😀 é 漢字",
		"\\", "ends with \\", "`", "/* */ -- #", "\x80\x5c\x27", "\xbf\x27", "\xe0\x27\x5c",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		stored := appendEscaped(nil, s)
		require.Equal(t, stored, appendEscaped(nil, []byte(s)))
		require.Equal(t, s, unescape(stored))
		for _, k := range []kind{kindText, kindBytes} {
			literal := string(appendLiteral(nil, k, stored))
			require.Len(t, literal, k.literalSize(len(stored)))
			got, gotKind, rest := parseLiteral(t, literal+",1")
			require.Equal(t, s, got)
			require.Equal(t, k, gotKind)
			require.Equal(t, ",1", rest)
		}
		got, whole := parseField(string(stored))
		require.True(t, whole, "the text ends a field of LOAD DATA: %q", stored)
		require.Equal(t, s, got)
		require.Equal(t, utf8.ValidString(s), utf8.Valid(stored), "escapes are ASCII")
	})
}

func FuzzDecimalKeepsEveryDigit(f *testing.F) {
	for _, s := range []string{"0", "-0", "-0.00", "12.30", "+7", ".5", "-.5", "00012.5000", "1e5", "", ".", "-", "5.", "1.2.3", "0x10", "NaN", strings.Repeat("9", 65), "٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := parseDecimal(s)
		if err != nil {
			return
		}
		text := string(d.append(nil))
		again, err := parseDecimal(text)
		require.NoError(t, err)
		require.Equal(t, d, again)
		require.NotContains(t, text, "e")
		if len(s) < 300 {
			want, err := strconv.ParseFloat(s, 64)
			require.NoError(t, err)
			got, err := strconv.ParseFloat(text, 64)
			require.NoError(t, err)
			require.InDelta(t, want, got, 0, "%q became %q", s, text)
		}
	})
}

func TestDecimalTextIsReadExactly(t *testing.T) {
	for in, want := range map[string]string{
		"12.30": "12.3", "-12.30": "-12.3", "+7": "7", "007": "7", "0": "0", "-0.00": "0", ".5": "0.5", "-.50": "-0.5", "10": "10",
		strings.Repeat("9", 35) + "." + strings.Repeat("9", 30): strings.Repeat("9", 35) + "." + strings.Repeat("9", 30),
	} {
		d, err := parseDecimal(in)
		require.NoError(t, err, in)
		require.Equal(t, want, string(d.append(nil)), in)
	}
	for _, in := range []string{"", "-", "+", ".", "1.", "1e3", "1E3", "0x1", "1,5", " 1", "1 ", "NaN", "Inf", "--1", "1.2.3", "1'"} {
		_, err := parseDecimal(in)
		require.Error(t, err, "%q", in)
	}
}

func TestT73_FloatsReadBackBitByBit(t *testing.T) {
	for _, v := range []float64{0, math.Copysign(0, -1), 0.1, 1.0 / 3, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1e21, 123456789, float64(float32(0.1))} {
		text, err := appendFloat(nil, v)
		require.NoError(t, err)
		require.Contains(t, string(text), "e", "without an exponent the server reads a DECIMAL")
		got, err := strconv.ParseFloat(string(text), 64)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(v), math.Float64bits(got), "%s", text)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := appendFloat(nil, v)
		require.ErrorIs(t, err, errNotFinite)
	}
}

func TestTimesAreWrittenInTheSessionsZoneWithTheColumnsDigits(t *testing.T) {
	paris, err := time.LoadLocation("Europe/Paris")
	require.NoError(t, err)
	at := time.Date(2026, 3, 9, 23, 59, 59, 999_999_500, time.UTC)
	for _, c := range []struct {
		name   string
		at     time.Time
		column column
		zone   *time.Location
		want   string
	}{
		{"microseconds, rounded up", at, column{class: classDateTime, precision: 6}, time.UTC, "2026-03-10 00:00:00.000000"},
		{"microseconds", at.Add(-time.Microsecond), column{class: classDateTime, precision: 6}, time.UTC, "2026-03-09 23:59:59.999999"},
		{"no digits, rounded", at, column{class: classDateTime}, time.UTC, "2026-03-10 00:00:00"},
		{"three digits", time.Date(2026, 1, 2, 3, 4, 5, 67_891_000, time.UTC), column{class: classTimestamp, precision: 3}, time.UTC, "2026-01-02 03:04:05.068"},
		{"another zone", at, column{class: classDateTime, precision: 6}, time.FixedZone("+02:00", 7200), "2026-03-10 02:00:00.000000"},
		{"zone with summer time", time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC), column{class: classTimestamp}, paris, "2026-07-01 14:00:00"},
		{"the day in the zone", at, column{class: classDate}, time.FixedZone("+02:00", 7200), "2026-03-10"},
		{"a day is not rounded", at, column{class: classDate}, time.UTC, "2026-03-09"},
		{"first year", time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), column{class: classDateTime}, time.UTC, "0001-01-01 00:00:01"},
		{"last year", time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), column{class: classDateTime}, time.UTC, "9999-12-31 23:59:59"},
	} {
		got, err := appendTime(nil, c.at, &c.column, c.zone, hasOneOffset(c.zone))
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, string(got), c.name)
	}
}

func TestG024_G025_TimesThatTheServerCannotKeepAreErrors(t *testing.T) {
	c := &column{class: classDateTime, precision: 6}
	for _, v := range []time.Time{{}, time.Time{}.In(time.FixedZone("", 3600))} {
		_, err := appendTime(nil, v, c, time.UTC, true)
		require.ErrorIs(t, err, errZeroTime)
	}
	for _, v := range []time.Time{
		time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
	} {
		_, err := appendTime(nil, v, c, time.UTC, true)
		require.ErrorIs(t, err, errLongAgo, "%s", v)
	}
}

// A TIMESTAMP is a point in time: written as local time of a zone with summer time it is not one for an hour a year.
func TestLocalTimeThatComesTwiceIsNoTimestamp(t *testing.T) {
	paris, err := time.LoadLocation("Europe/Paris")
	require.NoError(t, err)
	require.False(t, hasOneOffset(paris))
	require.True(t, hasOneOffset(time.UTC))
	require.True(t, hasOneOffset(time.FixedZone("+05:30", 19800)))
	back := time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC) // 03:00 becomes 02:00
	for minutes, twice := range map[int]bool{-61: false, -60: true, -1: true, 0: true, 59: true, 60: false} {
		v := back.Add(time.Duration(minutes) * time.Minute)
		_, err := appendTime(nil, v, &column{class: classTimestamp}, paris, false)
		if twice {
			require.ErrorIs(t, err, errAmbiguous, "%s", v.In(paris))
		} else {
			require.NoError(t, err, "%s", v.In(paris))
		}
		_, err = appendTime(nil, v, &column{class: classDateTime}, paris, false)
		require.NoError(t, err, "a DATETIME is the local time itself")
	}
	forth := time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)
	for minutes := -120; minutes <= 120; minutes += 15 {
		_, err := appendTime(nil, forth.Add(time.Duration(minutes)*time.Minute), &column{class: classTimestamp}, paris, false)
		require.NoError(t, err)
	}
}

func TestDurationsAreTimes(t *testing.T) {
	for _, c := range []struct {
		v      time.Duration
		digits int
		want   string
	}{
		{0, 0, "00:00:00"},
		{-time.Second, 0, "-00:00:01"},
		{838*time.Hour + 59*time.Minute + 59*time.Second, 0, "838:59:59"},
		{-(838*time.Hour + 59*time.Minute + 59*time.Second), 6, "-838:59:59.000000"},
		{1500 * time.Millisecond, 1, "00:00:01.5"},
		{1500 * time.Millisecond, 0, "00:00:02"},
		{-1499 * time.Millisecond, 0, "-00:00:01"},
		{-1, 6, "00:00:00.000000"},
		{12*time.Hour + 34*time.Minute + 56*time.Second + 789_012*time.Microsecond, 6, "12:34:56.789012"},
	} {
		got, err := appendDuration(nil, c.v, c.digits)
		require.NoError(t, err)
		require.Equal(t, c.want, string(got), "%s", c.v)
	}
	for _, v := range []time.Duration{839 * time.Hour, -839 * time.Hour, 838*time.Hour + 59*time.Minute + 59*time.Second + 500*time.Millisecond, math.MaxInt64, math.MinInt64} {
		_, err := appendDuration(nil, v, 0)
		require.ErrorIs(t, err, errTooLong, "%s", v)
	}
}

func TestMembersOfEnumAndSetAreRead(t *testing.T) {
	for typ, want := range map[string][]string{
		"enum('a','b')":          {"a", "b"},
		"set('it''s','x,y',')')": {"it's", "x,y", ")"},
		"enum('')":               {""},
		"enum('''')":             {"'"},
		"enum('😀', 'two words')": {"😀", "two words"},
		"int":                    nil,
	} {
		require.Equal(t, want, parseMembers(typ), typ)
	}
}
