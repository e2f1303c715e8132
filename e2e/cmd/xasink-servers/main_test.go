package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/e2e/cmd/internal/alone"
	"github.com/xasink/xasink/e2e/servers"
)

func TestMain(m *testing.M) { alone.Main(m, main) }

// given sets the environment to servers of this test, so that run starts none.
func given(t *testing.T) (mysql, mariadb string) {
	t.Helper()
	for _, flavour := range []servers.Flavour{servers.MySQL, servers.MariaDB} {
		s := servers.ForTest(t, flavour)
		t.Setenv(flavour.DSNVariable(), s.DSN())
	}
	return os.Getenv(servers.MySQL.DSNVariable()), os.Getenv(servers.MariaDB.DSNVariable())
}

func TestCommandSeesBothServersAndItsExitCodeIsReturned(t *testing.T) {
	mysql, mariadb := given(t)
	var stdout, stderr bytes.Buffer
	code := run([]string{"--", "sh", "-c", `echo "$XASINK_TEST_DSN" "$XASINK_TEST_DSN_MARIADB"; exit 7`}, &stdout, &stderr)
	require.Equal(t, 7, code, stderr.String())
	require.Equal(t, mysql+" "+mariadb+"\n", stdout.String())

	require.Equal(t, 128+9, run([]string{"--", "sh", "-c", "kill -9 $$"}, &stdout, &stderr))
	require.Equal(t, 1, run([]string{"--", "/no/such/command"}, &stdout, &stderr))
}

func TestExportsAreForTheShell(t *testing.T) {
	mysql, mariadb := given(t)
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(nil, &stdout, &stderr), stderr.String())
	require.Equal(t, "export XASINK_TEST_DSN='"+mysql+"'\nexport XASINK_TEST_DSN_MARIADB='"+mariadb+"'\n", stdout.String())

	stdout.Reset()
	require.Zero(t, run([]string{"--mariadb"}, &stdout, &stderr), stderr.String())
	require.Equal(t, "export XASINK_TEST_DSN_MARIADB='"+mariadb+"'\n", stdout.String())

	require.Equal(t, `'a'\''b'`, shellQuoted("a'b"))
}

func TestServersStartedForACommandEndWithIt(t *testing.T) {
	t.Setenv(servers.MariaDB.DSNVariable(), "")
	var stdout, stderr bytes.Buffer
	code := run([]string{"--mariadb", "--", "sh", "-c", `printf %s "$XASINK_TEST_DSN_MARIADB"`}, &stdout, &stderr)
	require.Zero(t, code, stderr.String())
	require.Contains(t, stdout.String(), "@tcp(127.0.0.1:")

	t.Setenv(servers.MariaDB.DSNVariable(), stdout.String())
	_, err := servers.Start(context.Background(), servers.MariaDB, servers.Options{})
	require.ErrorContains(t, err, "refused")
}

func TestWrongUsageIsExitCodeTwoBeforeAnythingStarts(t *testing.T) {
	for _, args := range [][]string{
		{"--no-such-flag"}, {"--stop", "--mysql"}, {"--stop", "--sweep"}, {"--sweep", "--", "true"}, {"--all"}, {"--all", "--mysql"},
		{"--"}, {"--mysql", "--"}, {"--mariadb", "--", ""}, {"--stop", "--"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 2, run(args, &stdout, &stderr), "%q", args)
		require.Empty(t, stdout.String())
		require.Equal(t, 1, strings.Count(stderr.String(), "\n"), "one line, and nothing was started: %s", &stderr)
		require.Contains(t, stderr.String(), "xasink-servers: wrong usage, see --help")
	}
}

func TestOnlyTheCloneIsSweptUnlessAllIsAskedFor(t *testing.T) {
	for _, c := range []struct {
		args []string
		want servers.Leftovers
	}{
		{[]string{"--sweep"}, servers.Leftovers{}}, {[]string{"--sweep", "--all"}, servers.Leftovers{All: true}},
		{[]string{"--stop"}, servers.Leftovers{Kept: true}}, {[]string{"--all", "--stop"}, servers.Leftovers{Kept: true, All: true}},
	} {
		o, err := parse(c.args)
		require.NoError(t, err)
		require.Equal(t, &c.want, o.remove, "%q", c.args)
	}
	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"--sweep"}, &stdout, &stderr), stderr.String())
	require.Empty(t, stdout.String())
}

// Every variable of ours that the programs of this module read is in the help, and every flag.
func TestHelpNamesFlagsAndVariables(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Zero(t, run([]string{"-h"}, &stdout, &stderr))
	require.Empty(t, stderr.String(), "who asks for help gets it on standard output")
	require.Contains(t, stdout.String(), "usage: xasink-servers")
	for _, flag := range []string{"--mysql", "--mariadb", "--stop", "--sweep", "--all"} {
		require.Contains(t, stdout.String(), "\n  "+flag+" ", flag)
	}
	variable := regexp.MustCompile(`"(XASINK_TEST_[A-Z_]+)"`)
	sources, err := filepath.Glob("../../servers/*.go")
	require.NoError(t, err)
	read := map[string]bool{"DOCKER_HOST": true}
	for _, path := range sources {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range variable.FindAllStringSubmatch(string(source), -1) {
			read[m[1]] = true
		}
	}
	require.Len(t, read, 5, "%v", read)
	for name := range read {
		require.Contains(t, stdout.String(), "  "+name+" ", name)
	}
}

// Where no server can be had, all that is said is one line that tells what to install.
func TestWithoutAServerOneLineSaysWhatToInstall(t *testing.T) {
	for _, c := range []struct {
		args []string
		name string
	}{
		{nil, "mysqld"}, {[]string{"--mysql", "--", "true"}, "mysqld"}, {[]string{"--mariadb"}, "mariadbd"},
	} {
		code, stdout, stderr := alone.Run(t, c.args...)
		require.Equal(t, 1, code)
		require.Empty(t, stdout)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		require.Contains(t, stderr, "install Docker")
		require.Contains(t, stderr, "install "+c.name)
	}
}
