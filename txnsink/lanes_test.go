package txnsink

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTablesTiedByForeignKeysShareALane(t *testing.T) {
	names := func(lanes [][]*table) [][]string {
		var all [][]string
		for i, lane := range lanes {
			var n []string
			for _, tab := range lane {
				require.Equal(t, i, tab.lane)
				n = append(n, tab.base)
			}
			all = append(all, n)
		}
		return all
	}
	edges := []edge{
		{"db.orders", "db.customers"},
		{"db.lines", "other.articles"}, {"other.articles", "db.makers"}, // articles is not written
		{"db.tree", "db.tree"},
		{"db.orders", "db.hub"}, {"db.log", "db.hub2"}, // neither hub is written, and they are not tied
		{"db.hub", "db.customers"}, {"db.customers", "db.hub"}, // a circle
	}
	var tables []*table
	for _, n := range []string{"log", "makers", "customers", "tree", "orders", "lines", "alone"} {
		tables = append(tables, &table{database: "db", base: n, references: tiedTo("db."+n, edges)})
	}
	require.Equal(t, [][]string{{"log"}, {"makers", "lines"}, {"customers", "orders"}, {"tree"}, {"alone"}}, names(lanesOf(tables)))
	require.Empty(t, lanesOf(nil))
}

func TestTiesAreFoundThroughOtherTables(t *testing.T) {
	edges := []edge{{"a", "b"}, {"c", "b"}, {"c", "d"}, {"x", "y"}}
	require.Equal(t, []string{"b", "c", "d"}, tiedTo("a", edges))
	require.Equal(t, []string{"c", "b", "a"}, tiedTo("d", edges))
	require.Equal(t, []string{"y"}, tiedTo("x", edges))
	require.Empty(t, tiedTo("alone", edges))
}

func TestUsesGoBackToASnapshot(t *testing.T) {
	a, b := flights(), totals()
	var u uses
	u.add(a, Insert, 3)
	u.add(b, Upsert, 2)
	before := u.snapshot()
	u.add(a, Insert, 4)
	u.add(b, Delete, 1)
	require.Equal(t, []use{{a, Insert, 7}, {b, Upsert, 2}, {b, Delete, 1}}, u.all())
	require.Equal(t, int64(10), u.total())
	require.Equal(t, int64(3), u.of(b))
	u.restore(before)
	require.Equal(t, []use{{a, Insert, 3}, {b, Upsert, 2}}, u.all())
	u.add(a, Insert, 1)
	u.restore(before)
	require.Equal(t, int64(5), u.total(), "a snapshot can be restored again")
	u.reset()
	require.Zero(t, u.total())
	require.Equal(t, []use{{a, Insert, 3}, {b, Upsert, 2}}, before.all())
}
