package servers

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// owner names the process that a server belongs to, in a way that a later
// process can decide whether it still lives: a process id alone comes back.
type owner struct {
	place string // machine and process namespace: elsewhere a process id says nothing
	boot  string
	pid   int
	start string // of the process, in clock ticks since boot
}

// self is this process.
func self() owner {
	pid := os.Getpid()
	start, _ := processStart(pid)
	return owner{place: thisPlace(), boot: bootID(), pid: pid, start: start}
}

func (o owner) String() string {
	return fmt.Sprintf("%s/%s/%d/%s", o.place, o.boot, o.pid, o.start)
}

// parseOwner is the inverse of String.
func parseOwner(s string) (owner, bool) {
	parts := strings.Split(s, "/")
	if len(parts) != 4 {
		return owner{}, false
	}
	pid, err := strconv.Atoi(parts[2])
	return owner{place: parts[0], boot: parts[1], pid: pid, start: parts[3]}, err == nil
}

// dead tells that the owner certainly lives no more. Where that cannot be known
// (another machine or namespace, a system without /proc) it is false.
func (o owner) dead() bool {
	if o.place != thisPlace() || o.boot == "" || bootID() == "" {
		return false
	}
	if o.boot != bootID() {
		return true
	}
	start, alive := processStart(o.pid)
	return !alive || start != o.start
}

func thisPlace() string {
	host, _ := os.Hostname()
	machine, _ := os.ReadFile("/etc/machine-id")
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s", host, machine, namespace))
	return fmt.Sprintf("%x", sum[:8])
}

func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}

// processStart is when a process started, and whether it is there; a zombie is
// not. Source: proc_pid_stat(5), fields 3 and 22, counted behind the name in
// parentheses, which may hold anything.
func processStart(pid int) (start string, alive bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 || fields[0] == "Z" {
		return "", false
	}
	return fields[19], true
}
