package flights

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/e2e/servers"
)

const fewFlights = `id,departed_at,delay_min,distance_mi,origin,destination
1,2001/01/01 00:47,66,1750,DTW,LAS
2,2001/01/01 01:10,-95,2399,HNL,SFO
3,2001/01/01 01:10,0,100,LAS,DTW
`

// Whatever is wrong with the tables is seen, and what is right is not called wrong.
func TestInspectSeesEveryDifference(t *testing.T) {
	s := servers.ForTest(t, servers.MySQL)
	input := filepath.Join(t.TempDir(), "few.csv")
	require.NoError(t, os.WriteFile(input, []byte(fewFlights), 0o600))
	sums := Sums{Departures: 3, Arrivals: 3, Delay: -29, Distance: 4249}
	right := Result{Source: 3, Target: 3, Right: 3, SourceSums: sums, TargetSums: sums, Airports: 4}
	for _, c := range []struct {
		name  string
		spoil string
		want  func(r *Result)
	}{
		{"nothing wrong", "DO 0", func(*Result) {}},
		{"a row missing", "DELETE FROM flights WHERE id = 2", func(r *Result) { r.Target, r.Right, r.Missing = 2, 2, 1 }},
		{
			"a row doubled", "INSERT INTO flights (id, departed_at, delay_min, distance_mi, origin, destination) VALUES (1, '2001-01-01 00:47', 66, 1750, 'DTW', 'LAS')",
			func(r *Result) { r.Target, r.Right, r.Doubled = 4, 2, 1 },
		},
		{"a value changed", "UPDATE flights SET delay_min = 67 WHERE id = 1", func(r *Result) { r.Right, r.Missing, r.Alien = 2, 1, 1 }},
		{
			"a row of nobody", "INSERT INTO flights (id, departed_at, delay_min, distance_mi, origin, destination) VALUES (9, '2001-01-01 00:47', 66, 1750, 'DTW', 'LAS')",
			func(r *Result) { r.Target, r.Alien = 4, 1 },
		},
		{"a total doubled", "UPDATE airport_totals SET departures = 2 WHERE airport = 'HNL'", func(r *Result) { r.Totals = 1; r.TargetSums.Departures++ }},
		{"a total missing", "DELETE FROM airport_totals WHERE airport = 'SFO'", func(r *Result) { r.Totals = 1; r.TargetSums.Arrivals-- }},
		{"a total of nobody", "INSERT INTO airport_totals VALUES ('XXX', 0, 0, 0, 0)", func(r *Result) { r.Totals = 1 }},
		{
			"totals exchanged", "UPDATE airport_totals SET delay_min = 66 - delay_min WHERE airport IN ('DTW', 'LAS')",
			func(r *Result) { r.Totals = 2 },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			stand := loaded(t, s, input)
			_, err := stand.DB.ExecContext(t.Context(), c.spoil)
			require.NoError(t, err)
			want := right
			c.want(&want)
			got, err := Inspect(t.Context(), stand.DB, stand.Job.Name, input)
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Equal(t, c.name == "nothing wrong", got.Exact())
		})
	}
}

func TestInspectSeesBranchesThatAreLeft(t *testing.T) {
	s := servers.ForTest(t, servers.MySQL)
	input := filepath.Join(t.TempDir(), "few.csv")
	require.NoError(t, os.WriteFile(input, []byte(fewFlights), 0o600))
	stand := loaded(t, s, input)
	conn, err := stand.DB.Conn(t.Context())
	require.NoError(t, err)
	x := xid(stand.Job.Name)
	for _, q := range []string{"XA START " + x, "INSERT INTO airport_totals VALUES ('XXX', 0, 0, 0, 0)", "XA END " + x, "XA PREPARE " + x} {
		_, err := conn.ExecContext(t.Context(), q)
		require.NoError(t, err)
	}
	require.NoError(t, conn.Close())
	got, err := Inspect(t.Context(), stand.DB, stand.Job.Name, input)
	require.NoError(t, err)
	require.Len(t, got.Left, 1)
	require.False(t, got.Exact())
	require.NoError(t, RollBack(t.Context(), stand.DB, stand.Job.Name))
	got, err = Inspect(t.Context(), stand.DB, stand.Job.Name, input)
	require.NoError(t, err)
	require.True(t, got.Exact())
}

// loaded is a stand whose tables hold the few flights, put there by plain SQL.
func loaded(t *testing.T, s *servers.Server, input string) *Stand {
	t.Helper()
	stand, err := NewStand(t.Context(), s.DSN(), "xasink_inspect")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stand.Clear()) })
	stand.Job.Input = input
	for _, q := range []string{
		"INSERT INTO flights (id, departed_at, delay_min, distance_mi, origin, destination) VALUES " +
			"(1, '2001-01-01 00:47', 66, 1750, 'DTW', 'LAS'), (2, '2001-01-01 01:10', -95, 2399, 'HNL', 'SFO'), (3, '2001-01-01 01:10', 0, 100, 'LAS', 'DTW')",
		"INSERT INTO airport_totals VALUES ('DTW', 1, 1, 66, 1750), ('LAS', 1, 1, 0, 100), ('HNL', 1, 0, -95, 2399), ('SFO', 0, 1, 0, 0)",
	} {
		_, err := stand.DB.ExecContext(t.Context(), q)
		require.NoError(t, err)
	}
	return stand
}

// xid is a branch of a job, written by hand.
func xid(job string) string {
	pad := func(s string) string { return s + strings.Repeat("=", 64-len(s)) }
	return "'" + pad("xasink1:"+job) + "','" + pad("e1.w2.s1") + "',2147483647"
}
