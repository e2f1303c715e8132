package badinput_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/e2e/demo/flights"
	"github.com/xasink/xasink/e2e/demo/flights/flightstest"
	"github.com/xasink/xasink/e2e/servers"
)

func TestMain(m *testing.M) { flightstest.Main(m) }

// rig is a job that something is done to.
type rig struct {
	*flights.Stand
	flavour servers.Flavour
	user    string // of the job, where it is not the administrator
}

const password = "a-password-that-must-not-show"

// breakage is one thing that can go wrong.
type breakage struct {
	name string
	// when tells how far the job is by then.
	when moment
	only servers.Flavour // "" for both
	// spoil breaks it and gives what mends it. With a nil mend the job is given up: only the error counts.
	spoil func(t *testing.T, r *rig) (mend func())
	// wants are in the error; {database}, {job}, {state} and {user} stand for the rig's own.
	wants []string
}

type moment uint8

const (
	fresh   moment = iota // nothing was ever started
	decided               // branches are prepared and decided, and not committed
	stopped               // some rows are committed, and nothing is prepared
)

// check runs one breakage on a server.
func (b breakage) check(t *testing.T, s *servers.Server) {
	r := newRig(t, s)
	switch b.when {
	case fresh:
	case decided:
		flightstest.Live(t, r.Stand, "kill@after:decision-write#3")
	case stopped:
		flightstest.Live(t, r.Stand, fmt.Sprintf("kill@before:xa-prepare#%d", flightstest.Branches(r.flavour)+1))
	}
	mend := b.spoil(t, r)
	end, err := flights.Launch(t.Context(), r.Job, nil)
	require.NoError(t, err)
	require.Equal(t, 1, end.Code, "%+v", end)
	require.False(t, end.Finished)
	for _, want := range b.wants {
		want = strings.NewReplacer("{database}", r.Database, "{job}", r.Job.Name, "{state}", r.Job.State, "{user}", r.user).Replace(want)
		require.Contains(t, end.Message, want)
	}
	require.NotContains(t, end.Message, password)
	require.NotContains(t, end.Message, "xasink@tcp", "the administrator's password")
	t.Logf("the error: %s", end.Message)

	if mend == nil {
		return
	}
	mend()
	flightstest.Finish(t, r.Stand)
}

func newRig(t *testing.T, s *servers.Server) *rig {
	t.Helper()
	return &rig{Stand: flightstest.NewStand(t, s, "xasink_bad", flightstest.ShortFile(t)), flavour: s.Flavour}
}

func (r *rig) exec(t *testing.T, query string) {
	t.Helper()
	_, err := r.DB.ExecContext(t.Context(), query)
	require.NoError(t, err, query)
}

// reopen changes the job's data source name.
func (r *rig) reopen(t *testing.T, change func(*mysql.Config)) {
	t.Helper()
	config, err := mysql.ParseDSN(r.Job.DSN)
	require.NoError(t, err)
	change(config)
	r.Job.DSN = config.FormatDSN()
}

// as makes the job run as a user who has all that it needs but what is left out, and gives what grants that as well.
func (r *rig) as(t *testing.T, leftOut string) (mend func()) {
	t.Helper()
	r.user = strings.Replace(r.Database, "xasink_bad", "bad", 1)
	account := "'" + r.user + "'@'%'"
	r.exec(t, "CREATE USER "+account+" IDENTIFIED BY '"+password+"'")
	db := r.DB
	t.Cleanup(func() { dropUser(t, db, account) })
	needed := map[string]string{
		"INSERT flights":        "INSERT ON `" + r.Database + "`.flights",
		"SELECT airport_totals": "SELECT ON `" + r.Database + "`.airport_totals",
		"INSERT airport_totals": "INSERT ON `" + r.Database + "`.airport_totals",
		"UPDATE airport_totals": "UPDATE ON `" + r.Database + "`.airport_totals",
		"CREATE ledger":         "CREATE ON `" + r.Job.Ledger + "`.*",
		"SELECT ledger":         "SELECT ON `" + r.Job.Ledger + "`.*",
		"INSERT ledger":         "INSERT ON `" + r.Job.Ledger + "`.*",
		"UPDATE ledger":         "UPDATE ON `" + r.Job.Ledger + "`.*",
		"DELETE ledger":         "DELETE ON `" + r.Job.Ledger + "`.*",
	}
	if r.flavour == servers.MySQL {
		needed["XA_RECOVER_ADMIN"] = "XA_RECOVER_ADMIN ON *.*"
	} else {
		needed["PROCESS"] = "PROCESS ON *.*"
	}
	require.Contains(t, needed, leftOut)
	for name, privilege := range needed {
		if name != leftOut {
			r.exec(t, "GRANT "+privilege+" TO "+account)
		}
	}
	r.reopen(t, func(c *mysql.Config) { c.User, c.Passwd = r.user, password })
	return func() { r.exec(t, "GRANT "+needed[leftOut]+" TO "+account) }
}

func dropUser(t *testing.T, db *sql.DB, account string) {
	_, err := db.ExecContext(context.WithoutCancel(t.Context()), "DROP USER "+account)
	require.NoError(t, err)
}
