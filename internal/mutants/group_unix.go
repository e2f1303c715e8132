//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// asGroup makes c, before its start, the head of a group, with which its children end: tests that the go command runs.
// end ends them all; so does the context of c.
func asGroup(c *exec.Cmd) (end func()) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.Cancel = kill
	return func() { _ = kill() }
}
