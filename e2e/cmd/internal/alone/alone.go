// Package alone runs a command of this module, in its own test program, where neither Docker nor a server can be found.
package alone

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// variable tells a test program that it is the command.
const variable = "XASINK_ALONE"

// Main is the whole of a TestMain: the command where Run started this program, and the tests otherwise.
func Main(m *testing.M, command func()) {
	if os.Getenv(variable) != "" {
		command()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Run runs the command. Where this machine has a server in a folder that is looked at always, the test is skipped.
func Run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	for _, folder := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec"} {
		for _, program := range []string{"mysqld", "mariadbd"} {
			if _, err := os.Stat(filepath.Join(folder, program)); err == nil {
				t.Skipf("this machine has a server, %s/%s", folder, program)
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = []string{variable + "=1", "PATH=" + t.TempDir(), "HOME=" + t.TempDir(), "DOCKER_HOST=nowhere:1"}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}
