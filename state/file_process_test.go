package state_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/state"
)

// The test binary runs itself again as another process, which plays one part.
const (
	partVariable = "STATE_TEST_PART"
	pathVariable = "STATE_TEST_PATH"
	argVariable  = "STATE_TEST_ARG"
)

// play does what part names with the state file, and tells what it has done, a line each.
func play(part string) int {
	path, arg := os.Getenv(pathVariable), os.Getenv(argVariable)
	var err error
	switch part {
	case "hold":
		err = playHold(path)
	case "commit":
		err = playCommit(path, quiet())
	case "commit until killed":
		options := quiet()
		at := fault.Point{Op: fault.DecisionWrite, After: strings.HasPrefix(arg, "after")}
		options.Faults = fault.KillAt(at, 5)
		err = playCommit(path, options)
	case "outgrow":
		err = playOutgrow(path)
	case "make until killed":
		_, err = state.OpenFile(path, job, quiet().WithStep(func(step string) {
			if step == arg {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}))
	default:
		err = fmt.Errorf("no part %q", part)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// playHold holds the file until standard input ends.
func playHold(path string) error {
	f, err := state.OpenFile(path, job, quiet())
	if err != nil {
		return err
	}
	fmt.Println("held")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return f.Close()
}

// playCommit writes decisions without end, and tells the number of each after Commit returned.
func playCommit(path string, options state.FileOptions) error {
	ctx := context.Background()
	f, err := state.OpenFile(path, job, options)
	if err != nil {
		return err
	}
	c, err := f.Claim(ctx, job, state.ClaimRequest{})
	if err != nil {
		return err
	}
	for {
		d := following(f.ID(), c)
		if err := c.Commit(ctx, d); err != nil {
			return err
		}
		fmt.Println(d.Number)
	}
}

// playOutgrow writes a decision for which the file must grow while the system does not let it, and then does.
func playOutgrow(path string) error {
	ctx := context.Background()
	f, err := state.OpenFile(path, job, quiet())
	if err != nil {
		return err
	}
	c, err := f.Claim(ctx, job, state.ClaimRequest{})
	if err != nil {
		return err
	}
	d := following(f.ID(), c)
	for i := range 100 {
		d.Positions = append(d.Positions, state.Position{
			Source: fmt.Sprintf("file%02d", i), Data: make([]byte, state.MaxPosition),
		})
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	full := syscall.Rlimit{Cur: uint64(info.Size()), Max: limit.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		return err
	}
	for range 3 {
		err = c.Commit(ctx, d)
		if !errors.Is(err, state.ErrInDoubt) || c.Last() != nil {
			return fmt.Errorf("in doubt was expected, and nothing new as last: %w", err)
		}
	}
	fmt.Println(err)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if err := c.Commit(ctx, d); err != nil {
		return err
	}
	fmt.Println(c.Last().Number)
	return f.Close()
}

// process is a part being played.
type process struct {
	*exec.Cmd
	lines *bufio.Scanner
	end   func()
}

func start(t *testing.T, part, path, arg string) process {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), partVariable+"="+part, pathVariable+"="+path, argVariable+"="+arg)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := process{Cmd: cmd, lines: bufio.NewScanner(out), end: func() { _ = in.Close() }}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return p
}

// waitKilled waits until the process is dead, and makes sure that it was killed. It gives the last line.
func (p process) waitKilled(t *testing.T) string {
	t.Helper()
	last := ""
	for p.lines.Scan() {
		last = p.lines.Text()
	}
	err := p.Wait()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal())
	return last
}

func TestSecondProcessIsToldWhoHoldsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	other := start(t, "hold", path, "")
	require.True(t, other.lines.Scan())

	options := quiet()
	options.LockTimeout = 100 * time.Millisecond
	begin := time.Now()
	_, err := state.OpenFile(path, job, options)
	require.ErrorIs(t, err, state.ErrLocked)
	require.GreaterOrEqual(t, time.Since(begin), options.LockTimeout)
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, "give this job a file of its own")
	if runtime.GOOS == "linux" {
		require.ErrorContains(t, err, fmt.Sprintf("process %d (%.15s) holds it", other.Process.Pid, filepath.Base(other.Path)))
	}

	options.LockTimeout = time.Minute
	opened := make(chan error)
	go func() {
		f, err := state.OpenFile(path, job, options)
		if err == nil {
			err = f.Close()
		}
		opened <- err
	}()
	other.end()
	require.NoError(t, <-opened, "it is waited for")
}

func TestFileIsNotOpenedTwiceByOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	f := openFile(t, path)
	_, err := state.OpenFile(path, job, quiet())
	require.ErrorIs(t, err, state.ErrLocked)
	if runtime.GOOS == "linux" {
		require.ErrorContains(t, err, fmt.Sprintf("this process itself (%d) has it open", os.Getpid()))
	}
	require.NoError(t, f.Close())
	openFile(t, path)
}

// TestWriteThatTheSystemRefusesIsInDoubtUntilItIsRepeated: as with a full disk.
func TestWriteThatTheSystemRefusesIsInDoubtUntilItIsRepeated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	p := start(t, "outgrow", path, "")
	require.True(t, p.lines.Scan())
	require.Contains(t, p.lines.Text(), "file too large")
	require.Contains(t, p.lines.Text(), path)
	require.True(t, p.lines.Scan())
	require.Equal(t, "1", p.lines.Text())
	require.NoError(t, p.Wait())
	f := openFile(t, path)
	require.Equal(t, uint64(1), peek(t, f).Last.Number)
	require.Len(t, peek(t, f).Last.Positions, 101)
}

func TestG067_DecisionIsReadableAfterAKillAtItsCommit(t *testing.T) {
	for arg, want := range map[string]uint64{"before": 4, "after": 5} {
		path := filepath.Join(t.TempDir(), "s")
		last := start(t, "commit until killed", path, arg).waitKilled(t)
		require.Equal(t, "4", last)
		f := openFile(t, path)
		require.Equal(t, want, peek(t, f).Last.Number, "killed %s the write", arg)
		require.Equal(t, want+1, commitNext(t, f, claimOf(t, f)).Number)
	}
}

func TestG067_DecisionIsReadableAfterAKillAtAnyMoment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	done := uint64(0)
	for range 8 {
		p := start(t, "commit", path, "")
		for range 3 {
			require.True(t, p.lines.Scan())
		}
		require.NoError(t, p.Process.Kill())
		last := p.lines.Text()
		if later := p.waitKilled(t); later != "" {
			last = later
		}
		committed, err := strconv.ParseUint(last, 10, 64)
		require.NoError(t, err)
		require.Greater(t, committed, done)

		f := openFile(t, path)
		done = peek(t, f).Last.Number
		require.GreaterOrEqual(t, done, committed, "a decision whose Commit returned is there")
		require.LessOrEqual(t, done, committed+1)
		require.NoError(t, f.Close())
	}
}

func TestCrashWhileTheFileIsMadeLeavesNoneOrAWholeOne(t *testing.T) {
	for _, step := range []struct {
		name  string
		whole bool
		left  int
	}{
		{"before", false, 0},
		{"empty", false, 1},
		{"made", false, 1},
		{"in place", true, 1},
		{"tidied", true, 0},
		{"after", true, 0},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "s")
		for range 2 {
			start(t, "make until killed", path, step.name).waitKilled(t)
			if step.whole {
				break // The next one finds it, and comes to no step.
			}
		}
		left, err := filepath.Glob(filepath.Join(dir, ".s.*.new"))
		require.NoError(t, err)
		if step.whole {
			require.FileExists(t, path, step.name)
			require.Len(t, left, step.left, step.name)
		} else {
			require.NoFileExists(t, path, step.name)
			require.Len(t, left, 2*step.left, step.name)
		}
		f := openFile(t, path)
		require.Equal(t, state.Info{}, peek(t, f), step.name)
		d := commitNext(t, f, claimOf(t, f))
		require.NoError(t, f.Close())
		require.Equal(t, &d, peek(t, openFile(t, path)).Last, "what a crash left does no harm")
	}
}
