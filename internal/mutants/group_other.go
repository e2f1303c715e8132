//go:build !unix

package main

import "os/exec"

// asGroup gives what ends c, after its start. What c has started goes on to its end.
func asGroup(c *exec.Cmd) (end func()) { return func() { _ = c.Process.Kill() } }
