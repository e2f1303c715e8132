package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/e2e/cmd/internal/alone"
)

func TestMain(m *testing.M) { alone.Main(m, main) }

func TestHelpAndMakeNameEveryFlag(t *testing.T) {
	code, stdout, stderr := alone.Run(t, "--help")
	require.Zero(t, code)
	require.Empty(t, stderr)
	require.Contains(t, stdout, "usage: demo")
	for _, variable := range []string{"XASINK_TEST_DSN", "XASINK_TEST_DSN_MARIADB", "XASINK_TEST_MYSQL_IMAGE", "XASINK_TEST_MARIADB_IMAGE"} {
		require.Contains(t, stdout, "  "+variable+" ")
	}
	makefile, err := os.ReadFile("../../../Makefile")
	require.NoError(t, err)
	target := regexp.MustCompile(`(?m)^demo: .*$`).FindString(string(makefile))
	flags := regexp.MustCompile(`(?m)^  (--[a-z]+)`).FindAllStringSubmatch(stdout, -1)
	require.Len(t, flags, 2)
	for _, flag := range flags {
		require.Contains(t, target, flag[1], "make help tells of it")
	}
}

func TestWrongUsageIsExitCodeTwo(t *testing.T) {
	for _, args := range [][]string{{"--no-such-flag"}, {"more"}} {
		code, stdout, stderr := alone.Run(t, args...)
		require.Equal(t, 2, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "demo: wrong usage, see --help: ")
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}

// Where no server can be had, all that is said is one line that tells what to install.
func TestWithoutAServerOneLineSaysWhatToInstall(t *testing.T) {
	for flag, name := range map[string]string{"--keep": "mysqld", "--mariadb": "mariadbd"} {
		code, stdout, stderr := alone.Run(t, flag)
		require.Equal(t, 1, code)
		require.Equal(t, 1, strings.Count(stdout+stderr, "\n"), "%s%s", stdout, stderr)
		require.Contains(t, stderr, "install Docker")
		require.Contains(t, stderr, "install "+name)
	}
}
