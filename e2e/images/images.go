// Package images builds the database images of tests and demo from Debian's
// packages, where the public ones can be had neither locally nor from a
// registry. The work is done by build.sh of this folder, which can be run by
// hand too.
package images

import (
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

//go:embed build.sh *-entrypoint.sh *.cnf
var files embed.FS

// Build makes the image tagged image for flavour ("mysql" or "mariadb") and
// returns when the engine has it; one that is there already is left alone. Its
// progress, a line a step, goes to log. It takes about a minute, needs root and
// a running engine, and runs once at a time on a machine. When ctx ends the step
// at hand is still waited for, at most a minute, and then cleared away.
func Build(ctx context.Context, flavour, image string, log io.Writer) error {
	dir, err := os.MkdirTemp("", "xasink-images-")
	if err != nil {
		return fmt.Errorf("build image %s: %w", image, err)
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, files); err != nil {
		return fmt.Errorf("build image %s: unpack the script: %w", image, err)
	}
	cmd := exec.CommandContext(ctx, "bash", filepath.Join(dir, "build.sh"), flavour, image)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build image %s from Debian's packages: %w (the lines before say why)", image, err)
	}
	return nil
}
