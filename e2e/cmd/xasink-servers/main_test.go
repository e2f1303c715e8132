package main

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/e2e/servers"
)

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

func TestWrongUsageIsExitCodeTwo(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, 2, run([]string{"--no-such-flag"}, &stdout, &stderr))
	require.Equal(t, 2, run([]string{"--stop", "--mysql"}, &stdout, &stderr))
	require.Equal(t, 2, run([]string{"--sweep", "--", "true"}, &stdout, &stderr))
	require.Zero(t, run([]string{"--sweep"}, &stdout, &stderr), stderr.String())
	require.Zero(t, run([]string{"-h"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "usage: xasink-servers")
}
