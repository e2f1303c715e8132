package txnsink

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
)

// Text for a date or time is taken in one notation only, because the servers drop, guess or round the rest in silence.
func TestG023_TimeTextsAreTakenWholeOrNotAtAll(t *testing.T) {
	for _, c := range []struct {
		column column
		good   []string
		bad    []string
	}{
		{column{class: classDate, typ: "date"}, []string{"2026-01-02", "0001-01-01", "0000-00-00", "9999-99-99"},
			[]string{"", "2026-01-02 03:04:05", "26-1-2", "20260102", "2026/01/02", "2026-01-02 ", "2026-01-02T00:00:00"}},
		{column{class: classDateTime, typ: "datetime"}, []string{"2026-01-02", "2026-01-02 03:04:05", "2026-01-02T03:04:05", "2026-01-02 03:04:05.000"},
			[]string{"2026-01-02 03:04:05.5", "2026-01-02 03:04:05.", "2026-01-02 03:04", "2026-01-02 03:04:05Z", "2026-01-02 03:04:05+05:00", "2026-01-02 03:04:05.0x", "x", "2026-01-02_03:04:05"}},
		{column{class: classTimestamp, typ: "timestamp(3)", precision: 3}, []string{"2026-01-02 03:04:05.123", "2026-01-02 03:04:05.123000"}, []string{"2026-01-02 03:04:05.1234"}},
		{column{class: classTime, typ: "time(1)", precision: 1}, []string{"1:02:03", "01:02:03", "-838:59:59", "01:02:03.4", "01:02:03.40"},
			[]string{"", "-", "1234", "1 02:03:04", "2026-01-02 03:04:05", "01:02", "1000:00:00", "01:02:03.45", "--1:02:03"}},
	} {
		for _, v := range c.good {
			require.NoError(t, checkTimeText(&c.column, v), "%s %q", c.column.typ, v)
		}
		for _, v := range c.bad {
			require.ErrorContains(t, checkTimeText(&c.column, v), c.column.typ, "%q", v)
		}
	}
}

func TestLocalTimeTextThatComesTwiceIsNoTimestamp(t *testing.T) {
	paris, err := time.LoadLocation("Europe/Paris")
	require.NoError(t, err)
	for v, twice := range map[string]bool{
		"2026-10-25 02:30:00": true, "2026-10-25T02:00:00.5": true, "2026-10-25 03:00:00": false, "2026-10-25 01:59:59": false,
		"2026-10-25": false, "2026-99-99 02:30:00": false,
	} {
		if err := checkLocalText(v, paris); twice {
			require.ErrorIs(t, err, errAmbiguous, v)
		} else {
			require.NoError(t, err, v)
		}
	}
	c := fake(fakeTable("t", Insert, 0, nil, column{name: "v", class: classTimestamp, typ: "timestamp"}))
	c.zone, c.fixed = paris, false
	b := c.batch()
	b.Insert("t").String("2026-10-25 02:30:00")
	require.ErrorContains(t, b.validate(), "comes twice")
}

// What is taken is stored as it is given, on both servers alike.
func TestTimeTextsAreStoredAsGiven(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (id INT PRIMARY KEY, d DATE, dt DATETIME(3), ti TIME(1))")
		b := g.load(Table{Name: "t"}).batch()
		b.Insert("t").Int64(1).String("0001-01-01").String("2026-01-02T03:04:05").String("-1:02:03.4")
		b.Insert("t").Int64(2).String("9999-12-31").String("2026-01-02 03:04:05.678000").String("838:59:59")
		b.Insert("t").Int64(3).String("1000-01-01").String("2026-01-02").String("00:00:00")
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{
			{"0001-01-01", "2026-01-02 03:04:05.000", "-01:02:03.4"},
			{"9999-12-31", "2026-01-02 03:04:05.678", "838:59:59.0"},
			{"1000-01-01", "2026-01-02 00:00:00.000", "00:00:00.0"},
		}, g.rows("SELECT d, dt, ti FROM t ORDER BY id"))

		// The zero date is the source's own: never made of a Go value, and the sessions' sql_mode decides about the text.
		b.Reset()
		b.Insert("t").Int64(4).String("0000-00-00").Null().Null()
		err := g.write(b)
		if g.rows("SELECT @@sql_mode LIKE '%NO_ZERO_DATE%'")[0][0] == "1" {
			var row *RowError
			require.ErrorAs(t, err, &row)
			require.Equal(t, RowError{Table: "t", Row: 0, Column: "d", Key: "id=4", Code: 1292, Err: row.Err}, *row)
			return
		}
		require.NoError(t, err)
		require.Equal(t, [][]string{{"0000-00-00"}}, g.rows("SELECT d FROM t WHERE id=4"))
	})
}

// The servers cut trailing spaces off a text that is too long, with a note and without an error.
func TestTrailingSpacesAreNotCutOffInSilence(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(3), l VARCHAR(3) CHARACTER SET latin1, tt TINYTEXT)")
		c := g.load(Table{Name: "t"})
		long := strings.Repeat("x", 254) + " "
		b := c.batch()
		b.Insert("t").Int64(1).String("é  ").String("é  ").String(long)
		b.Insert("t").Int64(2).String("   ").String("").Bytes([]byte(long))
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{{"é  ", "é  ", long}, {"   ", "", long}}, g.rows("SELECT v, l, tt FROM t ORDER BY id"))
		for column, fill := range map[string]func(Row){
			"v":  func(r Row) { r.String("abc ").Null().Null() },
			"l":  func(r Row) { r.Null().String("    ").Null() },
			"tt": func(r Row) { r.Null().Null().String(long + " ") },
		} {
			b.Reset()
			fill(b.Insert("t").Int64(3))
			var row *RowError
			require.ErrorAs(t, g.write(b), &row)
			require.Equal(t, column, row.Column)
			require.ErrorIs(t, row, errSpaces)
		}
		b.Reset()
		b.Insert("t").Int64(3).String("abcd").Null().Null()
		require.ErrorContains(t, g.write(b), "1406", "what is too long otherwise is the server's to say")
		require.Equal(t, "2", fmt.Sprint(g.rows("SELECT COUNT(*) FROM t")[0][0]))
	})
}

// Rows are the same whatever the server does with digits that a column does not keep.
func TestFractionsAreRoundedAlikeOnBothServers(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (dt DATETIME PRIMARY KEY, ti TIME(2))")
		b := g.load(Table{Name: "t", Operations: Insert | Delete}).batch()
		at := time.Date(2026, 1, 1, 23, 59, 59, 600_000_000, time.UTC)
		b.Insert("t").Time(at).Duration(999_999_999)
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{{"2026-01-02 00:00:00", "00:00:01.00"}}, g.rows("SELECT * FROM t"))
		b.Reset()
		b.Delete("t").Time(at)
		require.NoError(t, g.write(b))
		require.Empty(t, g.rows("SELECT * FROM t"), "the same value finds the row")
	})
}
