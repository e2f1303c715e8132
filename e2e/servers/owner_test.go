package servers

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOwnerIsDeadOnlyWhenThatIsCertain(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("without /proc nobody is known to be dead")
	}
	me := self()
	parsed, ok := parseOwner(me.String())
	require.True(t, ok)
	require.Equal(t, me, parsed)
	require.False(t, me.dead(), "this process lives")

	reused := me
	reused.start = "1"
	require.True(t, reused.dead(), "the process id came back")

	rebooted := me
	rebooted.boot = "another"
	require.True(t, rebooted.dead(), "the machine was started again")

	elsewhere := rebooted
	elsewhere.place = "another"
	require.False(t, elsewhere.dead(), "another machine's process ids say nothing here")

	cmd := exec.CommandContext(t.Context(), "true")
	require.NoError(t, cmd.Start())
	child := me
	child.pid = cmd.Process.Pid
	child.start, _ = processStart(child.pid)
	require.NoError(t, cmd.Wait())
	require.True(t, child.dead(), "a process that ended")

	for _, text := range []string{"", "a/b/c", "a/b/x/d", "a/b/1/d/e"} {
		_, ok := parseOwner(text)
		require.False(t, ok, text)
	}
}

func TestLeftoverIsWhatADeadOwnerLeftAndKeptOnlyOnRequest(t *testing.T) {
	alive, dead := aliveAndDead(t)
	for _, which := range []Leftovers{{}, {Kept: true}, {All: true}, {Kept: true, All: true}} {
		require.False(t, which.include(mark{owner: alive, clone: clone()}))
		require.True(t, which.include(mark{owner: dead, clone: clone()}))
		require.False(t, which.include(mark{owner: "nonsense", clone: clone()}))
		require.Equal(t, which.Kept, which.include(mark{owner: alive, clone: clone(), keep: true}))
		require.Equal(t, which.Kept, which.include(mark{owner: dead, clone: clone(), keep: true}))
	}
}

func TestLeftoversOfOtherClonesAreTheirsWhileTheyAreThere(t *testing.T) {
	alive, dead := aliveAndDead(t)
	other := t.TempDir()
	deleted := filepath.Join(other, "deleted")
	for _, kept := range []bool{false, true} {
		own, all := Leftovers{Kept: kept}, Leftovers{Kept: kept, All: true}
		for _, elsewhere := range []string{other, deleted, ""} {
			require.False(t, all.include(mark{owner: alive, clone: elsewhere}))
			require.True(t, all.include(mark{owner: dead, clone: elsewhere}))
			require.Equal(t, kept, all.include(mark{owner: alive, clone: elsewhere, keep: true}))
			require.False(t, own.include(mark{owner: alive, clone: elsewhere}))
			require.False(t, own.include(mark{owner: alive, clone: elsewhere, keep: true}), "%q", elsewhere)
			require.False(t, own.include(mark{owner: dead, clone: elsewhere, keep: true}), "%q", elsewhere)
		}
		require.False(t, own.include(mark{owner: dead, clone: other}))
		require.False(t, own.include(mark{owner: dead}))
		require.True(t, own.include(mark{owner: dead, clone: deleted}), "who else should clear up for it")
	}
}

// Local servers are known by files in their folders.
func TestLeftLocalServersAreRemovedByCloneAndKeep(t *testing.T) {
	_, dead := aliveAndDead(t)
	other := t.TempDir()
	left := func() (dirs map[string]string) {
		t.Setenv("TMPDIR", t.TempDir())
		dirs = map[string]string{}
		for name, m := range map[string]mark{
			"own": {dead, clone(), false}, "own kept": {dead, clone(), true},
			"other": {dead, other, false}, "other kept": {dead, other, true},
		} {
			h := localProcess{dir: filepath.Join(os.TempDir(), strings.Replace(dirPattern, "*", strings.ReplaceAll(name, " ", "-"), 1))}
			require.NoError(t, os.Mkdir(h.dir, 0o700))
			require.NoError(t, os.WriteFile(h.path(fileOwner), []byte(m.owner), 0o600))
			require.NoError(t, os.WriteFile(h.path(fileClone), []byte(m.clone), 0o600))
			if m.keep {
				require.NoError(t, os.WriteFile(h.path(fileKeep), nil, 0o600))
			}
			dirs[name] = h.dir
		}
		return dirs
	}
	for _, c := range []struct {
		which Leftovers
		stay  []string
	}{
		{Leftovers{}, []string{"other", "other kept", "own kept"}},
		{Leftovers{Kept: true}, []string{"other", "other kept"}},
		{Leftovers{All: true}, []string{"other kept", "own kept"}},
		{Leftovers{Kept: true, All: true}, nil},
	} {
		dirs := left()
		var log strings.Builder
		require.NoError(t, removeProcesses(&log, c.which))
		var stay []string
		for _, name := range slices.Sorted(maps.Keys(dirs)) {
			if _, err := os.Stat(dirs[name]); err == nil {
				stay = append(stay, name)
			}
		}
		require.Equal(t, c.stay, stay, "%+v", c.which)
		require.Equal(t, len(dirs)-len(stay), strings.Count(log.String(), "\n"), "a line for each")
	}
}

func aliveAndDead(t *testing.T) (alive, dead string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("without /proc nobody is known to be dead")
	}
	o := self()
	alive = o.String()
	o.start = "1"
	return alive, o.String()
}

func TestNoServerIsOneLineThatSaysWhatToInstall(t *testing.T) {
	err := noServer(MariaDB, errors.New("mariadbd (some version)"), errors.New("first reason\n\n  second reason"))
	require.EqualError(t, err, "no mariadb server can be had: install Docker and start it (scripts/engine.sh does both as root on Debian), "+
		"or install mariadbd (some version), or set XASINK_TEST_DSN_MARIADB; without Docker because: first reason; second reason")
}
