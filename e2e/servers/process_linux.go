package servers

import "syscall"

// ownGroup puts a server into a process group of its own, so that a Ctrl-C on
// the terminal reaches only the program that owns it. If tied, the server dies
// with that program, however it ends.
func ownGroup(tied bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if tied {
		attr.Pdeathsig = syscall.SIGKILL
	}
	return attr
}
