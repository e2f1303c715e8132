package servers

import (
	"os/exec"
	"runtime"
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
	if runtime.GOOS != "linux" {
		t.Skip("without /proc nobody is known to be dead")
	}
	alive := self()
	dead := alive
	dead.start = "1"
	for _, kept := range []bool{false, true} {
		require.False(t, leftover(alive.String(), false, kept))
		require.True(t, leftover(dead.String(), false, kept))
		require.False(t, leftover("nonsense", false, kept))
		require.Equal(t, kept, leftover(alive.String(), true, kept))
		require.Equal(t, kept, leftover(dead.String(), true, kept))
	}
}
