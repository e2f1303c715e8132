package fault_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
)

func TestEveryPointHasATextFormOfItsOwn(t *testing.T) {
	ops := fault.Ops()
	require.Len(t, ops, 21)
	seen := map[string]fault.Point{}
	for _, p := range fault.Points() {
		text := p.String()
		require.Regexp(t, `^(before|after):[a-z]+(-[a-z]+)*$`, text)
		require.NotContains(t, seen, text)
		seen[text] = p
		back, err := fault.ParsePoint(text)
		require.NoError(t, err)
		require.Equal(t, p, back)
	}
	require.Len(t, seen, 2*len(ops))
	require.Equal(t, "before:xa-prepare", fault.Before(fault.Prepare).String())
	require.Equal(t, "after:decision-write", fault.After(fault.DecisionWrite).String())
}

func TestWhatIsNoPointIsRefused(t *testing.T) {
	for _, s := range []string{"", "xa-prepare", "before:", "before:nothing", "during:xa-prepare", "BEFORE:xa-prepare", "before:xa-prepare "} {
		_, err := fault.ParsePoint(s)
		require.ErrorContains(t, err, "fault point", "%q", s)
	}
	_, err := fault.ParsePoint("before:xa-prepar")
	require.ErrorContains(t, err, "xa-prepare", "the effects that there are should be listed")
	require.Equal(t, "op(200)", fault.Op(200).String())
	require.Equal(t, "op(0)", fault.OpInvalid.String())
}

func TestFailAtTheNthTimeOnly(t *testing.T) {
	boom := errors.New("boom")
	in := fault.FailAt(fault.After(fault.Commit), 2, boom)
	ctx := t.Context()
	require.NoError(t, in.At(ctx, fault.After(fault.Commit)))
	require.NoError(t, in.At(ctx, fault.Before(fault.Commit)), "another side of the same effect")
	require.NoError(t, in.At(ctx, fault.After(fault.Prepare)))
	require.ErrorIs(t, in.At(ctx, fault.After(fault.Commit)), boom)
	require.NoError(t, in.At(ctx, fault.After(fault.Commit)))
}

func TestFailAtAlwaysNamesThePoint(t *testing.T) {
	in := fault.FailAt(fault.Before(fault.Claim), 0, nil)
	for range 3 {
		err := in.At(t.Context(), fault.Before(fault.Claim))
		var injected *fault.Error
		require.ErrorAs(t, err, &injected)
		require.Equal(t, fault.Before(fault.Claim), injected.Point)
		require.ErrorContains(t, err, "before:claim")
	}
}

func TestSeveralInjectorsAreAskedInTurn(t *testing.T) {
	var counted fault.Recorder
	in := fault.All(&counted, fault.FailAt(fault.Before(fault.Start), 0, nil))
	require.Error(t, in.At(t.Context(), fault.Before(fault.Start)))
	require.NoError(t, in.At(t.Context(), fault.After(fault.Start)))
	require.Equal(t, 1, counted.Count(fault.Before(fault.Start)))
	require.Equal(t, 1, counted.Count(fault.After(fault.Start)))

	var behind fault.Recorder
	in = fault.All(fault.FailAt(fault.Before(fault.Start), 0, nil), &behind)
	require.Error(t, in.At(t.Context(), fault.Before(fault.Start)))
	require.Zero(t, behind.Count(fault.Before(fault.Start)), "an injector behind the one that answered was asked")
}

func TestRecorderCountsFromManyGoroutines(t *testing.T) {
	var r fault.Recorder
	require.Empty(t, r.Reached())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				require.NoError(t, r.At(t.Context(), fault.Before(fault.Batch)))
			}
		})
	}
	all.Wait()
	require.NoError(t, r.At(t.Context(), fault.After(fault.SourceRead)))
	require.NoError(t, r.At(t.Context(), fault.Point{Op: 250}))
	require.Equal(t, 800, r.Count(fault.Before(fault.Batch)))
	require.Zero(t, r.Count(fault.Point{Op: 250}))
	require.Equal(t, []fault.Point{fault.Before(fault.Batch), fault.After(fault.SourceRead)}, r.Reached())
	require.Equal(t, "recorded(before:batch=800 after:source-read=1)", r.String())
}

const killVariable = "FAULT_TEST_KILL"

// TestKillAtEndsTheProcess runs this test again as a process of its own, which has to die at its second point.
func TestKillAtEndsTheProcess(t *testing.T) {
	if os.Getenv(killVariable) != "" {
		in := fault.KillAt(fault.After(fault.Prepare), 2)
		_ = in.At(context.Background(), fault.After(fault.Prepare))
		_, _ = os.Stdout.WriteString("first\n")
		_ = in.At(context.Background(), fault.After(fault.Prepare))
		_, _ = os.Stdout.WriteString("second\n")
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(ctx, self, "-test.run=^TestKillAtEndsTheProcess$")
	cmd.Env = append(os.Environ(), killVariable+"=1")
	out, err := cmd.Output()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.NoError(t, ctx.Err(), "the process was ended by the test's own time limit")
	status, ok := exit.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.True(t, status.Signaled() && status.Signal() == syscall.SIGKILL, "%s", exit)
	require.Equal(t, "first", strings.TrimSpace(string(out)))
}
