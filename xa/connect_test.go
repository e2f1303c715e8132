package xa_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/xa"
)

func connectFake(t *testing.T, f *fake) (*xa.Server, error) {
	t.Helper()
	server, err := xa.Connect(t.Context(), xa.Config{Connector: f, Address: "fake:3306"})
	if err == nil {
		t.Cleanup(func() { require.NoError(t, server.Close()) })
	}
	return server, err
}

func TestV22_ServersThatAreRefused(t *testing.T) {
	type change func(f *fake)
	set := func(name, value string) change { return func(f *fake) { f.facts[name] = value } }
	is := func(version string) change { return func(f *fake) { f.version = version } }
	for _, c := range []struct {
		name string
		do   []change
		want []string
	}{
		{"a lock wait undoes the branch", []change{set("rollback_on_timeout", "1")}, []string{"innodb_rollback_on_timeout=0"}},
		{"old MySQL with a binary log", []change{is("8.0.29")}, []string{"8.0.29", "8.0.30 or later"}},
		{"MySQL 5.7", []change{is("5.7.44-log"), set("log_bin", "0")}, []string{"5.7.44-log", "too old"}},
		{"old MariaDB", []change{is("10.5.1-MariaDB"), set("log_bin", "0")}, []string{"10.5.1-MariaDB", "10.5.2 or later"}},
		{"no version at all", []change{is("edge")}, []string{`"edge"`, "is not understood"}},
		{"Galera", []change{is("10.11.19-MariaDB"), set("wsrep", "1")}, []string{"wsrep_on", "Galera"}},
		{"statement based binary log", []change{set("format", "STATEMENT")}, []string{"binlog_format=ROW"}},
		{"no XA", []change{set("recover", "unknown")}, []string{"XA RECOVER"}},
		{"several statements in a packet", []change{set("multi", "1")}, []string{"multiStatements"}},
		{"writes that replicas do not see", []change{set("sql_log_bin", "0")}, []string{"sql_log_bin is off"}},
		{"everything at once", []change{set("rollback_on_timeout", "1"), set("recover", "denied"), is("8.0.11")},
			[]string{"innodb_rollback_on_timeout", "XA_RECOVER_ADMIN", "8.0.30"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake("1")
			for _, do := range c.do {
				do(f)
			}
			_, err := connectFake(t, f)
			var refusal *xa.Refusal
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, "fake:3306", refusal.Server)
			for _, want := range append(c.want, "fake:3306") {
				require.ErrorContains(t, err, want)
			}
			require.Zero(t, f.sessions(), "a refused server keeps a connection")
		})
	}
}

func TestServersThatAreTaken(t *testing.T) {
	for version, binlog := range map[string]string{
		"8.0.30": "1", "8.0.0": "0", "8.0.29": "0", "8.4.3-commercial": "1", "9.7.4-2": "1", "8.0.36-28": "1",
		"10.5.2-MariaDB": "0", "11.8.9-MariaDB-0+deb13u1 from Debian": "1",
	} {
		f := newFake("")
		f.version, f.facts["log_bin"] = version, binlog
		server, err := connectFake(t, f)
		require.NoError(t, err, "%s", version)
		want := xa.MySQL
		if strings.Contains(version, "MariaDB") {
			want = xa.MariaDB
		}
		require.Equal(t, want, server.Abilities().Flavour)
		require.Equal(t, version, server.Abilities().Version)
	}
}

func TestG081_PrivilegesThatAreMissing(t *testing.T) {
	f := newFake("1")
	f.facts["recover"], f.facts["user"] = "denied", "o'neil"
	_, err := connectFake(t, f)
	require.ErrorIs(t, err, xa.ErrNoRecoverPrivilege)
	require.ErrorContains(t, err, "GRANT XA_RECOVER_ADMIN ON *.* TO 'o''neil'@'%'")

	f = newFake("0")
	f.facts["process"] = "0"
	_, err = connectFake(t, f)
	require.ErrorContains(t, err, "GRANT PROCESS ON *.* TO 'me'@'%'")

	f = newFake("1")
	f.facts["process"] = "0"
	server, err := connectFake(t, f)
	require.NoError(t, err, "a detached server needs no PROCESS")
	require.False(t, server.Abilities().ProcessRights)
}

func TestWarningsAboutAServer(t *testing.T) {
	f := newFake("")
	f.version = "10.11.19-MariaDB"
	f.facts["sync_binlog"], f.facts["flush"], f.facts["read_only"] = "0", "2", "1"
	server, err := connectFake(t, f)
	require.NoError(t, err)
	all := strings.Join(server.Abilities().Warnings, "\n")
	for _, want := range []string{"sync_binlog is 0", "innodb_flush_log_at_trx_commit is 2", "read-only", "replica"} {
		require.Contains(t, all, want)
	}
	require.True(t, server.Abilities().ReadOnly)
	server.Abilities().Warnings[0] = "changed"
	require.NotEqual(t, "changed", server.Abilities().Warnings[0])

	server, err = connectFake(t, newFake("1"))
	require.NoError(t, err)
	require.Empty(t, server.Abilities().Warnings)
}

func TestT09_AScanThatCannotSeeIsAnError(t *testing.T) {
	f := newFake("1")
	server, err := connectFake(t, f)
	require.NoError(t, err)
	f.mu.Lock()
	f.facts["recover"] = "denied"
	f.mu.Unlock()
	found, err := server.Scan(t.Context(), server.DB())
	require.ErrorIs(t, err, xa.ErrNoRecoverPrivilege)
	require.ErrorContains(t, err, "GRANT XA_RECOVER_ADMIN")
	require.Nil(t, found)
	f.mu.Lock()
	f.facts["recover"] = "garbled"
	f.mu.Unlock()
	_, err = server.Scan(t.Context(), server.DB())
	require.ErrorContains(t, err, "parts of 2 and 3")
}

func TestKillSessionEndsOnlyOurOwn(t *testing.T) {
	f := newFake("1")
	server, p := f.open(t)
	s := take(t, p)
	f.mu.Lock()
	f.facts["user"] = "another"
	f.mu.Unlock()
	err := server.KillSession(t.Context(), s.ConnectionID())
	require.ErrorContains(t, err, "not ours to end")
	require.ErrorContains(t, err, `"another"`)
	alive, err := server.SessionAlive(t.Context(), s.ConnectionID())
	require.NoError(t, err)
	require.True(t, alive)
	require.Empty(t, f.statements())
	require.NoError(t, server.KillSession(t.Context(), 4711), "gone already is a success")
	require.Empty(t, f.statements())
}

// TestLimboIsReadAgain while there seems to be some, since the two lists are not of one moment.
func TestLimboIsReadAgain(t *testing.T) {
	for _, c := range []struct {
		readings []int
		want     int
		fails    bool
	}{
		{readings: []int{0}},
		{readings: []int{2, 0}},
		{readings: []int{-1, 1, 0}},
		{readings: []int{1, 3, 2, 1}, want: 1},
		{readings: []int{-1, -1, -1, -1}, fails: true},
	} {
		f := newFake("0")
		server, err := connectFake(t, f)
		require.NoError(t, err)
		f.mu.Lock()
		f.limbo = c.readings
		f.mu.Unlock()
		detached, prepared, err := server.Limbo(t.Context())
		require.Equal(t, c.fails, err != nil, "%v: %v", c.readings, err)
		require.Equal(t, c.want, detached, "%v", c.readings)
		require.Zero(t, prepared)
		f.mu.Lock()
		require.Empty(t, f.limbo, "%v", c.readings)
		f.mu.Unlock()
	}
}

// TestAProcessListThatWasCutOffProvesNothing: a session that is missing in it is not gone.
func TestAProcessListThatWasCutOffProvesNothing(t *testing.T) {
	f := newFake("1")
	server, p := f.open(t)
	s := take(t, p)
	set := func(name, value string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.facts[name] = value
	}
	set("wide", "1")
	alive, err := server.SessionAlive(t.Context(), s.ConnectionID())
	require.NoError(t, err)
	require.True(t, alive)
	alive, err = server.SessionAlive(t.Context(), 4711)
	require.NoError(t, err)
	require.False(t, alive)
	set("cut", "1")
	_, err = server.SessionAlive(t.Context(), 4711)
	require.ErrorContains(t, err, "looking for session 4711")
	set("wide", "0")
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	good := func() xa.Config { return xa.Config{Connector: newFake("1")} }
	for want, change := range map[string]func(*xa.Config){
		"LockWait is 1.5s":         func(c *xa.Config) { c.LockWait = 1500 * time.Millisecond },
		"LockWait is -1s":          func(c *xa.Config) { c.LockWait = -time.Second },
		"MetadataLockWait is 10ms": func(c *xa.Config) { c.MetadataLockWait = 10 * time.Millisecond },
		"VerbTimeout is -1s":       func(c *xa.Config) { c.VerbTimeout = -time.Second },
		"StatementTimeout is -1s":  func(c *xa.Config) { c.StatementTimeout = -time.Second },
		"either DSN or Connector":  func(c *xa.Config) { c.DSN = "u@tcp(h:1)/" },
		`job name "A"`:             func(c *xa.Config) { c.Job = "A" },
		`run "a,b"`:                func(c *xa.Config) { c.Run = "a,b" },
	} {
		c := good()
		change(&c)
		_, err := xa.Connect(t.Context(), c)
		require.ErrorContains(t, err, want)
	}
	_, err := xa.Connect(t.Context(), xa.Config{})
	require.ErrorContains(t, err, "either DSN or Connector")
}

func TestMarkNames(t *testing.T) {
	require.Equal(t, "xasink1/1c168adb00d208e4/2/5", xa.Mark{Job: "orders", Lane: 2, N: 5}.Name())
	long := xa.Mark{Job: strings.Repeat("x", 40), Lane: 4294967295, N: 4294967295}
	require.LessOrEqual(t, len(long.Name()), 64)
	require.NotEqual(t, xa.Mark{Job: "a", Lane: 1}.Name(), xa.Mark{Job: "b", Lane: 1}.Name())
	require.NotEqual(t, xa.Mark{Job: "a", Lane: 1, N: 2}.Name(), xa.Mark{Job: "a", Lane: 2, N: 1}.Name())
	require.Equal(t, "orders/w2.m5", xa.Mark{Job: "orders", Lane: 2, N: 5}.String())
}

func TestT57_DriverErrorsStayReachable(t *testing.T) {
	cause := errors.New("cause")
	e := &xa.Error{Verb: xa.VerbCommit, Outcome: xa.InDoubt, Number: 1397, Err: cause}
	require.ErrorIs(t, e, cause)
	require.ErrorIs(t, e, xa.ErrUnknownID)
	require.NotErrorIs(t, e, xa.ErrLockWait)
	require.ErrorIs(t, &xa.Error{Verb: xa.VerbRecover, Number: 1401}, xa.ErrNoRecoverPrivilege)
	require.NotErrorIs(t, &xa.Error{Verb: xa.VerbCommit, Number: 1401}, xa.ErrNoRecoverPrivilege)
}
