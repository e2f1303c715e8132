// Package scripts_test runs the scripts of this folder where nothing of what they need is there.
package scripts_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// engine runs engine.sh as a plain user without Docker, on a machine with the given programs, each of which prints its
// version.
func engine(t *testing.T, programs map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	for _, folder := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec"} {
		for _, program := range []string{"mysqld", "mariadbd"} {
			if _, err := os.Stat(filepath.Join(folder, program)); err == nil {
				t.Skipf("this machine has a server, %s/%s", folder, program)
			}
		}
	}
	path := t.TempDir()
	script := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(path, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	}
	for _, tool := range []string{"bash", "sh", "dirname", "sed", "timeout"} {
		found, err := exec.LookPath(tool)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(found, filepath.Join(path, tool)))
	}
	script("id", "echo 1000")
	for name, version := range programs {
		script(name, "echo '"+version+"'")
	}
	environment := []string{"PATH=" + path}
	for len(args) > 0 && strings.Contains(args[0], "=") && !strings.HasPrefix(args[0], "-") {
		environment, args = append(environment, args[0]), args[1:]
	}
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{"./engine.sh"}, args...)...)
	cmd.Env = environment
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestAPlainUserWithoutDockerIsToldInOneLineWhatToInstall(t *testing.T) {
	mysql, mariadb := "mysqld  Ver 9.7.4 for Linux on x86_64", "mariadbd  Ver 11.8.9-MariaDB for debian-linux-gnu on x86_64"
	const docker = "engine: none answers you: install Docker and join group docker, or run this as root, or install "
	for name, c := range map[string]struct {
		programs map[string]string
		args     []string
		want     string // "": the servers can be had
	}{
		"nothing":               {nil, nil, "mysqld, or set XASINK_TEST_DSN; and mariadbd, or set XASINK_TEST_DSN_MARIADB"},
		"nothing for MySQL":     {nil, []string{"--mysql"}, "mysqld, or set XASINK_TEST_DSN"},
		"nothing for MariaDB":   {nil, []string{"--mariadb"}, "mariadbd, or set XASINK_TEST_DSN_MARIADB"},
		"one of two":            {map[string]string{"mysqld": mysql}, nil, "mariadbd, or set XASINK_TEST_DSN_MARIADB"},
		"the other":             {map[string]string{"mariadbd": mariadb}, nil, "mysqld, or set XASINK_TEST_DSN"},
		"a mysqld of MariaDB's": {map[string]string{"mysqld": mariadb}, []string{"--mysql"}, "mysqld, or set XASINK_TEST_DSN"},
		"MariaDB's, as wanted":  {map[string]string{"mysqld": mariadb}, []string{"--mariadb"}, ""},
		"MySQL, as wanted":      {map[string]string{"mysqld": mysql}, []string{"--mysql"}, ""},
		"both":                  {map[string]string{"mysqld": mysql, "mariadbd": mariadb}, nil, ""},
		"given":                 {nil, []string{"XASINK_TEST_DSN=a", "XASINK_TEST_DSN_MARIADB=b"}, ""},
		"one given":             {nil, []string{"XASINK_TEST_DSN=a"}, "mariadbd, or set XASINK_TEST_DSN_MARIADB"},
		"the one given":         {nil, []string{"XASINK_TEST_DSN_MARIADB=b", "--mariadb"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := engine(t, c.programs, c.args...)
			if c.want == "" {
				require.Zero(t, code, stderr)
				require.Equal(t, "engine: none; the servers are those of the environment and of this machine\n", stdout)
				require.Empty(t, stderr)
				return
			}
			require.Equal(t, 1, code)
			require.Empty(t, stdout)
			require.Equal(t, docker+c.want+"\n", stderr)
		})
	}
}
