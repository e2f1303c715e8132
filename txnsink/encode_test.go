package txnsink

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStatementsAreRunsOfOneTableAndOperationInSourceOrder(t *testing.T) {
	b := fake(flights(), totals()).batch()
	b.Insert("flights").Int64(1).String("it's").Float64(-0.5)
	b.Upsert("totals").String("JFK").Int64(2026).Int64(1).Null()
	b.Insert("flights").Int64(2).Null().Null()
	b.Upsert("totals").String("LAX").Int64(2026).Int64(2).String(`\`)
	b.Delete("totals").String("JFK").Int64(2026)
	b.Delete("totals").String("LAX").Int64(2026)
	b.Upsert("totals").String("JFK").Int64(2026).Int64(3).Null()
	require.NoError(t, b.validate())
	const upsert = " ON DUPLICATE KEY UPDATE `n`=`n`+VALUES(`n`),`note`=VALUES(`note`)"
	require.Equal(t, []string{
		"INSERT INTO `db`.`flights` (`id`,`carrier`,`delay`) VALUES (1,'it\\'s',-5e-01),(2,NULL,NULL)",
		"INSERT INTO `db`.`totals` (`airport`,`year`,`n`,`note`) VALUES ('JFK',2026,1,NULL),('LAX',2026,2,'\\\\')" + upsert,
		"DELETE FROM `db`.`totals` WHERE (`airport`='JFK' AND `year`=2026) OR (`airport`='LAX' AND `year`=2026)",
		"INSERT INTO `db`.`totals` (`airport`,`year`,`n`,`note`) VALUES ('JFK',2026,3,NULL)" + upsert,
	}, texts(t, b))
}

func TestT42_UpsertIntoATableOfKeysOnlyChangesNothing(t *testing.T) {
	b := fake(fakeTable("links", Upsert|Delete, 2, nil, integer("a"), integer("b"))).batch()
	b.Upsert("links").Int64(1).Int64(2)
	require.NoError(t, b.validate())
	require.Equal(t, []string{"INSERT INTO `db`.`links` (`a`,`b`) VALUES (1,2) ON DUPLICATE KEY UPDATE `a`=`a`"}, texts(t, b))
}

func TestNamesAreQuoted(t *testing.T) {
	tab := fakeTable("t", Insert|Upsert|Delete, 1, nil, integer("a`b"), text("c'd \\ \"e\""))
	tab.quoted = quoteName("d`b") + "." + quoteName("t")
	tab.prepare(nil)
	b := fake(tab).batch()
	b.Upsert("t").Int64(1).Null()
	b.Delete("t").Int64(1)
	require.NoError(t, b.validate())
	require.Equal(t, []string{
		"INSERT INTO `d``b`.`t` (`a``b`,`c'd \\ \"e\"`) VALUES (1,NULL) ON DUPLICATE KEY UPDATE `c'd \\ \"e\"`=VALUES(`c'd \\ \"e\"`)",
		"DELETE FROM `d``b`.`t` WHERE `a``b` IN ((1))",
	}, texts(t, b))
}

func TestT64_TenThousandRowsAreTenStatements(t *testing.T) {
	c := fake(flights())
	b := c.batch()
	for i := range 10_000 {
		b.Insert("flights").Int64(int64(i)).String("AA").Null()
	}
	require.NoError(t, b.validate())
	require.Len(t, texts(t, b), 10)
	next, n := 0, 0
	require.NoError(t, newEncoder(c, 3000).statements(b, 0, func(s statement) error {
		n++
		for _, i := range s.rows {
			require.Equal(t, next, i)
			next++
		}
		require.NoError(t, s.checkAffected(int64(len(s.rows))))
		return nil
	}))
	require.Equal(t, 4, n)
	require.Equal(t, 10_000, next)
}

func TestT65_G014_StatementsAreCutBelowThePacketAndOneMiB(t *testing.T) {
	for _, packet := range []int{8192, 64 << 20} {
		c := fake(flights(), totals())
		c.maxPacket = packet
		limit := min(packet, 1<<20)
		b := c.batch()
		sent := 0
		for i := range 3*limit/500 + 1 {
			b.Insert("flights").Int64(int64(i)).String(strings.Repeat("x", 480+i%37)).Null()
			b.Upsert("totals").String(strconv.Itoa(i)).Int64(1).Int64(1).String(strings.Repeat("y", 400+i%99))
			sent += 2
		}
		require.NoError(t, b.validate())
		seen := map[int]bool{}
		for lane := range c.lanes {
			var lengths []int
			require.NoError(t, newEncoder(c, 100_000).statements(b, lane, func(s statement) error {
				lengths = append(lengths, len(s.sql))
				for _, i := range s.rows {
					require.False(t, seen[i])
					seen[i] = true
				}
				return nil
			}))
			require.Greater(t, len(lengths), 1)
			for _, n := range lengths {
				require.LessOrEqual(t, n, limit)
			}
			for _, n := range lengths[:len(lengths)-1] {
				require.Greater(t, n, limit-1200, "statements are filled")
			}
		}
		require.Len(t, seen, sent)
	}
}

func TestRowOfMoreThanOneMiBGoesAlone(t *testing.T) {
	b := fake(flights()).batch()
	b.Insert("flights").Int64(1).String("small").Null()
	b.Insert("flights").Int64(2).String(strings.Repeat("x", 2<<20)).Null()
	b.Insert("flights").Int64(3).String("small").Null()
	require.NoError(t, b.validate())
	got := texts(t, b)
	require.Len(t, got, 3)
	require.Greater(t, len(got[1]), 2<<20)
}

func TestDeletesStayBelowMariaDBsConversionOfLists(t *testing.T) {
	b := fake(totals(), fakeTable("single", Delete, 1, nil, integer("id"))).batch()
	for i := range 1500 {
		b.Delete("totals").String("x").Int64(int64(i))
		b.Delete("single").Int64(int64(i))
	}
	require.NoError(t, b.validate())
	var counts []string
	for lane := range b.catalog.lanes {
		require.NoError(t, newEncoder(b.catalog, 0).statements(b, lane, func(s statement) error {
			counts = append(counts, fmt.Sprint(s.table.name, " ", len(s.rows)))
			return nil
		}))
	}
	require.Equal(t, []string{"totals 499", "totals 499", "totals 499", "totals 3", "single 999", "single 501"}, counts)
}

func TestStatementsStopAtTheFirstError(t *testing.T) {
	b := fake(totals()).batch()
	b.Delete("totals").String("x").Int64(1)
	b.Upsert("totals").String("x").Int64(1).Int64(1).Null()
	b.Delete("totals").String("x").Int64(1)
	require.NoError(t, b.validate())
	e, n := newEncoder(b.catalog, 0), 0
	stop := func(s statement) error {
		if n++; n == 2 {
			return errStop
		}
		return nil
	}
	require.Equal(t, errStop, e.statements(b, 0, stop))
	require.Equal(t, 2, n)
	require.Len(t, texts(t, b), 3, "the same batch can be sent again")
}

func TestStatementsOfALaneWithoutRowsAreNone(t *testing.T) {
	b := fake(flights(), totals()).batch()
	b.Insert("flights").Int64(1).Null().Null()
	require.NoError(t, b.validate())
	require.NoError(t, newEncoder(b.catalog, 0).statements(b, 1, func(statement) error { return errStop }))
	require.NoError(t, newEncoder(b.catalog, 0).statements(b.catalog.batch(), 0, func(statement) error { return errStop }))
}

func TestAffectedRowsThatCannotBeAreErrors(t *testing.T) {
	s := statement{table: flights(), rows: make([]int, 3)}
	for _, c := range []struct {
		op      Operation
		n       int64
		allowed bool
	}{
		{Insert, 3, true}, {Insert, 2, false}, {Insert, 4, false}, {Insert, 0, false},
		{Upsert, 0, true}, {Upsert, 3, true}, {Upsert, 6, true}, {Upsert, 7, false}, {Upsert, -1, false},
		{Delete, 0, true}, {Delete, 3, true}, {Delete, 4, false},
	} {
		s.op = c.op
		if c.allowed {
			require.NoError(t, s.checkAffected(c.n), "%s %d", c.op, c.n)
			continue
		}
		require.ErrorContains(t, s.checkAffected(c.n), "table flights", "%s %d", c.op, c.n)
	}
}

// CHAR loses trailing spaces and BINARY gets trailing zeros when they are stored: a delete compares with that.
func TestKeysOfDeletesAreAsTheyAreStored(t *testing.T) {
	b := fake(fakeTable("t", Insert|Delete, 2, nil,
		column{name: "c", class: classText, fixed: true}, column{name: "b", class: classBinary, length: 4})).batch()
	b.Insert("t").String("a  ").Bytes([]byte("xy"))
	b.Delete("t").String("a  ").Bytes([]byte("xy"))
	b.Delete("t").Bytes([]byte("a ")).String("wxyz")
	require.NoError(t, b.validate())
	require.Equal(t, []string{
		"INSERT INTO `db`.`t` (`c`,`b`) VALUES ('a  ',_binary'xy')",
		"DELETE FROM `db`.`t` WHERE (`c`='a' AND `b`=_binary'xy\\0\\0') OR (`c`='a' AND `b`=_binary'wxyz')",
	}, texts(t, b))
}
