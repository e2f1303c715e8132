//go:build !linux

package servers

import "syscall"

// ownGroup puts a server into a process group of its own, so that a Ctrl-C on
// the terminal reaches only the program that owns it.
func ownGroup(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
