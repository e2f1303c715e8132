package facts_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/e2e/facts"
	"github.com/xasink/xasink/e2e/servers"
)

// eachLab runs fn on a server of each flavour.
func eachLab(t *testing.T, fn func(t *testing.T, l *facts.Lab)) {
	t.Helper()
	for _, flavour := range []servers.Flavour{servers.MySQL, servers.MariaDB} {
		t.Run(string(flavour), func(t *testing.T) {
			l, err := facts.Open(t.Context(), servers.ForTest(t, flavour))
			require.NoError(t, err)
			defer func() { require.NoError(t, l.Close(context.WithoutCancel(t.Context()))) }()
			fn(t, l)
		})
	}
}

// What docs/facts.md says of branches whose COMMIT is being executed.
func TestABranchIsListedUntilItsRowsAreVisible(t *testing.T) {
	eachLab(t, func(t *testing.T, l *facts.Lab) {
		for _, other := range []bool{false, true} {
			seen, err := l.MeasureListed(t.Context(), 30, 1, other)
			require.NoError(t, err)
			require.Equal(t, 30, seen.Commits)
			require.Zero(t, seen.GoneInvisible, "%+v", seen)
			require.Positive(t, seen.GoneVisible, "%+v", seen)
		}
	})
}

// What it says of KILL.
func TestAUserEndsItsOwnSessionsAndNoOthers(t *testing.T) {
	eachLab(t, func(t *testing.T, l *facts.Lab) {
		k, err := l.MeasureKill(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"OK", "OK", "OK"}, []string{k.Own, k.OwnQuery, k.OwnWithBranch})
		require.Equal(t, "invalid connection", k.OwnGone)
		require.Contains(t, k.OwnWithBranchDone, "OK")
		require.Contains(t, k.Others, "1095")
		require.False(t, k.OthersListed)
	})
}

// What it says of names of GET_LOCK.
func TestNamesOfLocks(t *testing.T) {
	eachLab(t, func(t *testing.T, l *facts.Lab) {
		n, err := l.MeasureNamed(t.Context())
		require.NoError(t, err)
		mysql := l.Flavour == servers.MySQL
		require.Equal(t, mysql, n.Capitals)
		require.False(t, n.Accents)
		require.False(t, n.Spaces)
		if mysql {
			require.Equal(t, 64, n.Longest)
		} else {
			require.Equal(t, 192, n.Longest)
		}
	})
}
