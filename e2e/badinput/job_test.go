package badinput_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/e2e/demo/flights/flightstest"
	"github.com/xasink/xasink/e2e/servers"
	"github.com/xasink/xasink/state"
)

var breakages = []breakage{
	{
		name: "wrong password", when: decided,
		spoil: func(t *testing.T, r *rig) func() {
			right := r.Job.DSN
			r.reopen(t, func(c *mysql.Config) { c.Passwd = password })
			return func() { r.Job.DSN = right }
		},
		wants: []string{"1045", "check user and password of the DSN"},
	},
	{
		name: "no such database", when: decided,
		spoil: func(t *testing.T, r *rig) func() {
			right := r.Job.DSN
			r.reopen(t, func(c *mysql.Config) { c.DBName = "no_such_database" })
			return func() { r.Job.DSN = right }
		},
		wants: []string{"no_such_database", "create this database, or correct its name"},
	},
	{
		name: "missing table", when: stopped,
		spoil: func(t *testing.T, r *rig) func() {
			r.exec(t, "RENAME TABLE airport_totals TO elsewhere")
			return func() { r.exec(t, "RENAME TABLE elsewhere TO airport_totals") }
		},
		wants: []string{"table airport_totals: there is no such table in database {database}: create it, or correct the name"},
	},
	{
		name: "missing XA_RECOVER_ADMIN", when: decided, only: servers.MySQL,
		spoil: func(t *testing.T, r *rig) func() { return r.as(t, "XA_RECOVER_ADMIN") },
		wants: []string{"GRANT XA_RECOVER_ADMIN ON *.* TO '{user}'@'%'"},
	},
	{
		name: "missing PROCESS", when: decided, only: servers.MariaDB,
		spoil: func(t *testing.T, r *rig) func() { return r.as(t, "PROCESS") },
		wants: []string{"GRANT PROCESS ON *.* TO '{user}'@'%'"},
	},
	{
		name: "missing CREATE for the ledger", when: fresh,
		spoil: func(t *testing.T, r *rig) func() { return r.as(t, "CREATE ledger") },
		wants: []string{"CREATE DATABASE IF NOT EXISTS `{database}_ledger`", "GRANT SELECT, INSERT, UPDATE, DELETE ON `{database}_ledger`.* TO '{user}'@'%'"},
	},
	{
		name: "missing INSERT on the ledger", when: decided,
		spoil: func(t *testing.T, r *rig) func() { return r.as(t, "INSERT ledger") },
		wants: []string{"GRANT SELECT, INSERT, UPDATE, DELETE ON `{database}_ledger`.* TO '{user}'@'%'"},
	},
	{
		name: "missing DELETE on the ledger", when: decided,
		spoil: func(t *testing.T, r *rig) func() { return r.as(t, "DELETE ledger") },
		wants: []string{"GRANT SELECT, INSERT, UPDATE, DELETE ON `{database}_ledger`.* TO '{user}'@'%'"},
	},
	{
		name: "missing INSERT on a target", when: decided,
		spoil: func(t *testing.T, r *rig) func() { return r.as(t, "INSERT flights") },
		wants: []string{"table flights: ", "GRANT INSERT ON `{database}`.`flights` TO '{user}'@'%'"},
	},
	{
		name: "missing UPDATE on a target", when: decided,
		spoil: func(t *testing.T, r *rig) func() { return r.as(t, "UPDATE airport_totals") },
		wants: []string{"table airport_totals: ", "GRANT SELECT, INSERT, UPDATE ON `{database}`.`airport_totals` TO '{user}'@'%'"},
	},
	{
		name: "MyISAM table", when: stopped,
		spoil: func(t *testing.T, r *rig) func() {
			r.exec(t, "ALTER TABLE flights ENGINE=MyISAM")
			return func() { r.exec(t, "ALTER TABLE flights ENGINE=InnoDB") }
		},
		wants: []string{"table flights: its engine is MyISAM", "ALTER TABLE `{database}`.`flights` ENGINE=InnoDB"},
	},
	{
		name: "unknown column", when: stopped,
		spoil: func(t *testing.T, r *rig) func() {
			r.exec(t, "ALTER TABLE flights RENAME COLUMN delay_min TO late_by, MODIFY distance_mi INT NOT NULL")
			return func() { r.exec(t, "ALTER TABLE flights RENAME COLUMN late_by TO delay_min") }
		},
		wants: []string{"table flights: there is no column delay_min: it has "},
	},
	{
		name: "value too long", when: stopped,
		spoil: func(t *testing.T, r *rig) func() {
			r.exec(t, "ALTER TABLE flights ADD COLUMN was CHAR(3) NULL, ALGORITHM=COPY")
			r.exec(t, "UPDATE flights SET was = origin, origin = 'XX'")
			r.exec(t, "ALTER TABLE flights MODIFY origin CHAR(2) NOT NULL")
			return func() {
				r.exec(t, "ALTER TABLE flights MODIFY origin CHAR(3) NOT NULL")
				r.exec(t, "UPDATE flights SET origin = was")
			}
		},
		wants: []string{"table flights", "origin", "1406"},
	},
	{
		name: "value out of range", when: fresh,
		spoil: func(t *testing.T, r *rig) func() {
			r.exec(t, "ALTER TABLE airport_totals MODIFY distance_mi SMALLINT NOT NULL")
			return func() { r.exec(t, "ALTER TABLE airport_totals MODIFY distance_mi BIGINT NOT NULL") }
		},
		wants: []string{"table airport_totals", "airport=", "distance_mi", "1264"},
	},
	{
		name: "second process on the same state file", when: decided,
		spoil: func(t *testing.T, r *rig) func() {
			store, err := state.OpenFile(r.Job.State, r.Job.Name, state.FileOptions{})
			require.NoError(t, err)
			return func() { require.NoError(t, store.Close()) }
		},
		wants: []string{"another process holds the state file", "{state}", processID()},
	},
	{
		name: "the same job from a second installation", when: decided,
		spoil: func(t *testing.T, r *rig) func() {
			first := r.Job.State
			r.Job.State = filepath.Join(t.TempDir(), "second")
			return func() { r.Job.State = first }
		},
		wants: []string{"another store owns the job", "give one of the two another job name", "recovery.Adopt", "recovery.Reset"},
	},
	{
		name: "job name with capitals", when: fresh,
		spoil: func(_ *testing.T, r *rig) func() { return r.named("Orders") },
		wants: []string{`job name "Orders": character 1 ('O') is not allowed: want 1 to 40 characters of a-z 0-9 . _ -`},
	},
	{
		name: "job name with quotes", when: fresh,
		spoil: func(_ *testing.T, r *rig) func() { return r.named("o'rders`") },
		wants: []string{`character 2 ('\'') is not allowed`},
	},
	{
		name: "job name of 41 characters", when: fresh,
		spoil: func(_ *testing.T, r *rig) func() { return r.named(strings.Repeat("x", 41)) },
		wants: []string{"has 41 characters: want 1 to 40"},
	},
	{
		name: "input that is not there", when: decided,
		spoil: func(_ *testing.T, r *rig) func() {
			right := r.Job.Input
			r.Job.Input += ".missing"
			return func() { r.Job.Input = right }
		},
		wants: []string{"the file to read cannot be opened", ".missing"},
	},
}

func (r *rig) named(name string) func() {
	right := r.Job.Name
	r.Job.Name = name
	return func() { r.Job.Name = right }
}

// Whatever is wrong around a job is one clear error, and nothing is lost by it.
func TestG081_T43_T45_WhatIsWrongAroundAJobIsOneClearError(t *testing.T) {
	flightstest.EachFlavour(t, func(t *testing.T, s *servers.Server) {
		for _, b := range append(breakages, stateBreakages...) {
			if b.only != "" && b.only != s.Flavour {
				continue
			}
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				b.check(t, s)
			})
		}
	})
}
