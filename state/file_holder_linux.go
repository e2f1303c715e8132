package state

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// holder describes the process that holds a lock on the file; empty when that cannot be found out. /proc/locks
// (proc(5)) has a line for each lock, with the process and, as major:minor:inode, the file. On some file systems that
// device is another than stat's; the inode decides, and that the process has the very file open where that can be seen.
func holder(file os.FileInfo) string {
	stat, ok := file.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return ""
	}
	inode := ":" + strconv.FormatUint(stat.Ino, 10)
	for line := range strings.Lines(string(locks)) {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[1] != "FLOCK" || !strings.HasSuffix(fields[5], inode) {
			continue
		}
		pid, err := strconv.Atoi(fields[4])
		if err != nil || pid <= 0 || !hasOpen(pid, file) {
			continue
		}
		command, err := os.ReadFile(filepath.Join("/proc", fields[4], "comm"))
		if err != nil {
			continue
		}
		return describe(pid, strings.TrimSpace(string(command)))
	}
	return ""
}

// hasOpen tells whether process pid has the file open, and answers true where that may not be looked at.
func hasOpen(pid int, file os.FileInfo) bool {
	directory := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	open, err := os.ReadDir(directory)
	if err != nil {
		return errors.Is(err, os.ErrPermission)
	}
	for _, entry := range open {
		if info, err := os.Stat(filepath.Join(directory, entry.Name())); err == nil && os.SameFile(info, file) {
			return true
		}
	}
	return false
}
