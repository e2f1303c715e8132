package txnsink

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/xa"
)

func TestT76_T78_NullIsNotTheDefault(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (id INT PRIMARY KEY, made TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, n INT DEFAULT 7, s VARCHAR(9) DEFAULT 'x')")
		b := g.load(Table{Name: "t", Operations: Insert | Upsert}).batch()
		b.Insert("t").Int64(1).Null().Null().Null()
		b.Upsert("t").Int64(2).Null().Null().Null()
		b.Upsert("t").Int64(1).Null().Null().Null()
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{{"1", "NULL", "NULL", "NULL"}, {"2", "NULL", "NULL", "NULL"}}, g.rows("SELECT * FROM t ORDER BY id"))

		b = g.load(Table{Name: "t", Columns: []string{"id", "s"}, Operations: Upsert}).batch()
		b.Upsert("t").Int64(3).Null()
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{{"7", "NULL"}}, g.rows("SELECT n, s FROM t WHERE id=3"), "a column that is not written gets its default")
	})
}

func TestT79_HostileNamesAndValues(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		long := strings.Repeat("ü", 64)
		for _, name := range []string{"it's", "a`b", `back\slash`, `dou"ble`, "with space", "sel ect -- #", "漢字", long, "%s", "?", "select"} {
			quoted := quoteName(name)
			g.exec("CREATE TABLE " + quoted + " (" + quoted + " VARCHAR(200) PRIMARY KEY, `n' \\ \"``` INT NOT NULL) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
			c := g.load(Table{Name: name, Operations: Insert | Upsert | Delete, Add: []string{"n' \\ \"`"}})
			b := c.batch()
			b.Insert(name).String(hostile).Int64(1)
			b.Insert(name).String("').drop").Int64(1)
			b.Upsert(name).String(hostile).Int64(41)
			b.Delete(name).String("').drop")
			require.NoError(t, g.write(b), name)
			require.Equal(t, [][]string{{hostile, "42"}}, g.rows("SELECT * FROM "+quoted), name)

			b.Reset()
			b.Insert(name).String("x").Int64(1)
			b.Insert(name).String("y").Int64(1 << 40)
			var row *RowError
			require.ErrorAs(t, g.write(b), &row, name)
			require.Equal(t, RowError{Table: name, Row: 1, Column: "n' \\ \"`", Key: name + "='y'", Code: 1264, Err: row.Err}, *row)
		}
	})
}

// Four-byte characters as value, as key and in a column's name. The servers keep names in utf8mb3: MariaDB refuses
// such a name, MySQL makes it a question mark, and asking for it is an error, not another column.
func TestT79_EmojiInValueAndKey(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		if _, err := g.db.ExecContext(t.Context(), "CREATE TABLE e (`😀` INT)"); s.Flavour == xa.MySQL {
			require.NoError(t, err)
			require.Contains(t, g.problems(Table{Name: "e", Columns: []string{"😀"}})[0], "there is no column 😀: it has ?")
			b := g.load(Table{Name: "e"}).batch()
			b.Insert("e").Int64(1)
			require.NoError(t, g.write(b))
		} else {
			require.Error(t, err)
		}
		g.exec("CREATE TABLE t (`schlüssel ☕` VARCHAR(20) PRIMARY KEY, v TEXT)")
		b := g.load(Table{Name: "t", Operations: Insert | Upsert | Delete}).batch()
		b.Insert("t").String("🚀").String("👩‍👩‍👧")
		b.Upsert("t").String("🚀").String("𝄞")
		b.Insert("t").String("🐟").Null()
		b.Delete("t").String("🐟")
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{{"🚀", "𝄞"}}, g.rows("SELECT * FROM t"))
	})
}

// Changes of one key in one batch act in source order, also when the key itself changes.
func TestT38_T39_ChangesOfOneKeyActInOrder(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9))")
		b := g.load(Table{Name: "t", Operations: Insert | Upsert | Delete}).batch()
		b.Insert("t").Int64(1).String("first")
		b.Upsert("t").Int64(1).String("second")
		b.Delete("t").Int64(1)
		b.Insert("t").Int64(1).String("last")
		b.Insert("t").Int64(2).String("moves")
		b.Delete("t").Int64(2)
		b.Insert("t").Int64(7).String("moves")
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{{"1", "last"}, {"7", "moves"}}, g.rows("SELECT * FROM t ORDER BY id"))
	})
}

func TestT42_KeysOnlyAndAddedColumns(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE links (a INT, b INT, PRIMARY KEY (a, b))")
		g.exec("CREATE TABLE totals (k VARCHAR(9) PRIMARY KEY, n BIGINT NOT NULL, amount DECIMAL(20,2) NOT NULL, note VARCHAR(9))")
		b := g.load(Table{Name: "links", Operations: Upsert | Delete},
			Table{Name: "totals", Operations: Upsert, Add: []string{"N", "amount"}}).batch()
		for range 2 {
			b.Reset()
			b.Upsert("links").Int64(1).Int64(2)
			b.Upsert("links").Int64(1).Int64(2)
			b.Upsert("totals").String("a").Int64(1).Decimal("0.10").String("x")
			b.Upsert("totals").String("b").Int64(-1).Decimal("-0.10").Null()
			b.Upsert("totals").String("a").Int64(2).Decimal("1").String("y")
			require.NoError(t, g.write(b))
		}
		require.Equal(t, [][]string{{"1", "2"}}, g.rows("SELECT * FROM links"))
		require.Equal(t, [][]string{{"a", "6", "2.20", "y"}, {"b", "-2", "-0.20", "NULL"}}, g.rows("SELECT * FROM totals ORDER BY k"))
	})
}

func TestT65_G017_BatchLargerThanAPacketIsSplit(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		columns := strings.Repeat(",c%d INT", 64)
		args := make([]any, 64)
		for i := range args {
			args[i] = i
		}
		g.exec("CREATE TABLE wide (id INT PRIMARY KEY" + fmt.Sprintf(columns, args...) + ")")
		g.exec("CREATE TABLE large (id INT PRIMARY KEY, v LONGTEXT)")
		c := g.load(Table{Name: "wide"}, Table{Name: "large"})
		b := c.batch()
		const rows = 1100 // 65 columns of them are more than 65,535 values
		for i := range rows {
			row := b.Insert("wide").Int64(int64(i))
			for range 64 {
				row = row.Int64(int64(i))
			}
		}
		piece := strings.Repeat("x", g.can.MaxPacket/10)
		for i := range 31 {
			b.Insert("large").Int64(int64(i)).String(piece)
		}
		require.Greater(t, b.Bytes(), 3*g.can.MaxPacket-len(piece))
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{{fmt.Sprint(rows), fmt.Sprint(rows * (rows - 1) / 2)}}, g.rows("SELECT COUNT(*), SUM(c63) FROM wide"))
		require.Equal(t, [][]string{{"31", fmt.Sprint(31 * len(piece))}}, g.rows("SELECT COUNT(*), SUM(LENGTH(v)) FROM large"))
	})
}

// One row may fill a packet up to the slack, and the server takes it.
func TestG015_LargestRowThatIsAllowedIsTaken(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE large (id INT PRIMARY KEY, v LONGTEXT)")
		c := g.load(Table{Name: "large"})
		room := c.maxStatement() - c.tables[0].overhead(Insert) - len("(1,'')")
		b := c.batch()
		b.Insert("large").Int64(1).String(strings.Repeat("x", room+1))
		var row *RowError
		require.ErrorAs(t, g.write(b), &row)
		require.Equal(t, "id=1", row.Key)
		require.Equal(t, "v", row.Column)
		b.Reset()
		b.Insert("large").Int64(1).String(strings.Repeat("x", room))
		require.NoError(t, g.write(b))
		require.Equal(t, [][]string{{fmt.Sprint(room)}}, g.rows("SELECT LENGTH(v) FROM large"))
	})
}

// A TIMESTAMP is the same point in time whatever the zone of the sessions, a DATETIME is the local time there.
func TestTimesFollowTheSessionsZone(t *testing.T) {
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (id INT PRIMARY KEY, stamp TIMESTAMP(6) NULL, local DATETIME(6), day DATE)")
		server, err := xa.Connect(t.Context(), xa.Config{DSN: s.DSN(g.database), TimeZone: "+05:30"})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, server.Close()) })
		east := *g
		east.db, east.zone = server.DB(), time.FixedZone("+05:30", 19800)
		v := time.Date(2026, 7, 1, 20, 0, 0, 123_456_000, time.UTC)
		for i, from := range []*target{g, &east} {
			b := from.load(Table{Name: "t"}).batch()
			b.Insert("t").Int64(int64(i)).Time(v).Time(v).Time(v)
			require.NoError(t, from.write(b))
		}
		require.Equal(t, [][]string{
			{"2026-07-01 20:00:00.123456", "2026-07-01 20:00:00.123456", "2026-07-01"},
			{"2026-07-01 20:00:00.123456", "2026-07-02 01:30:00.123456", "2026-07-02"},
		}, g.rows("SELECT stamp, local, day FROM t ORDER BY id"))
	})
}

// Random texts and bytes, rich in what has a meaning in statements, come back as they were.
func TestRandomValuesComeBack(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	servertest.Each(t, func(t *testing.T, s servertest.Server) {
		random := rand.New(rand.NewPCG(seed, 0))
		pieces := []string{"'", `\`, `"`, "\x00", "\n", "\r", "\t", "\x1a", "%", "_", "`", "--", "/*", "😀", "é", "漢", "x", " ", `\'`, `\0`, `\N`, "NULL", ",", ")", "(", ";"}
		g := newTarget(t, s)
		g.exec("CREATE TABLE t (id INT PRIMARY KEY, v TEXT CHARACTER SET utf8mb4, b BLOB, f DOUBLE)")
		b := g.load(Table{Name: "t"}).batch()
		const rows = 1000
		texts, blobs, floats := make([]string, rows), make([][]byte, rows), make([]float64, rows)
		for i := range rows {
			var text strings.Builder
			for range random.IntN(20) {
				text.WriteString(pieces[random.IntN(len(pieces))])
			}
			texts[i] = text.String() + "."
			blobs[i] = make([]byte, random.IntN(50))
			for n := range blobs[i] {
				blobs[i][n] = byte(random.Uint32())
			}
			for {
				floats[i] = math.Float64frombits(random.Uint64())
				if abs := math.Abs(floats[i]); abs > 0 && abs <= math.MaxFloat64 { // no NaN, and no negative zero, whose sign MariaDB drops
					break
				}
			}
			b.Insert("t").Int64(int64(i)).String(texts[i]).Bytes(blobs[i]).Float64(floats[i])
		}
		require.NoError(t, g.write(b))
		got := g.rows("SELECT v, b, f FROM t ORDER BY id")
		require.Len(t, got, rows)
		for i := range rows {
			f, err := strconv.ParseFloat(got[i][2], 64)
			require.NoError(t, err)
			require.Equal(t, texts[i], got[i][0], "row %d", i)
			require.Equal(t, string(blobs[i]), got[i][1], "row %d", i)
			require.Equal(t, math.Float64bits(floats[i]), math.Float64bits(f), "row %d: %v became %v", i, floats[i], f)
		}
	})
}
