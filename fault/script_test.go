package fault_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
)

// scripts that are well-formed, one for each thing that a script can say.
var scripts = []string{
	"kill@after:xa-prepare#2", "kill@before:connect", "fail@after:decision-write#1", "fail@before:source-read",
	"fail@before:xa-start#3,kill@after:xa-commit#12", "delay=1.5s@before:ledger-row", "delay=2m0s@after:batch#7",
	"kill@#40", "delay=1ns@#1,fail@#2", "fail@before:batch,fail@before:batch",
}

func TestScriptsPrintAsTheyWereRead(t *testing.T) {
	for _, script := range scripts {
		in, err := fault.Parse(script)
		require.NoError(t, err)
		require.Equal(t, script, in.String())
	}
	in, err := fault.Parse("")
	require.NoError(t, err)
	require.Nil(t, in)
	require.NoError(t, fault.At(t.Context(), in, fault.Before(fault.Connect)))
}

func TestScriptsActAsTheySay(t *testing.T) {
	in, err := fault.Parse("fail@before:xa-start#2,fail@after:xa-end")
	require.NoError(t, err)
	require.NoError(t, in.At(t.Context(), fault.Before(fault.Start)))
	require.Error(t, in.At(t.Context(), fault.Before(fault.Start)))
	require.NoError(t, in.At(t.Context(), fault.Before(fault.Start)))
	require.Error(t, in.At(t.Context(), fault.After(fault.End)))
	require.Error(t, in.At(t.Context(), fault.After(fault.End)))
}

func TestEachEntryOfAScriptCountsByItself(t *testing.T) {
	in, err := fault.Parse("fail@before:xa-end#1,fail@before:xa-end#2,fail@#4")
	require.NoError(t, err)
	var failed []bool
	for range 5 {
		failed = append(failed, in.At(t.Context(), fault.Before(fault.End)) != nil)
	}
	require.Equal(t, []bool{true, true, false, true, false}, failed)
}

func TestAPlaceWithoutAPointCountsThemAll(t *testing.T) {
	in, err := fault.Parse("fail@#3")
	require.NoError(t, err)
	require.NoError(t, in.At(t.Context(), fault.Before(fault.Start)))
	require.NoError(t, in.At(t.Context(), fault.After(fault.Start)))
	err = in.At(t.Context(), fault.Before(fault.Batch))
	var injected *fault.Error
	require.ErrorAs(t, err, &injected)
	require.Equal(t, fault.Before(fault.Batch), injected.Point, "the point that it happened at")
	require.NoError(t, in.At(t.Context(), fault.After(fault.Batch)))
}

func TestADelayHoldsTheCallerAndNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, err := fault.Parse("delay=1m30s@before:xa-commit#2")
		require.NoError(t, err)
		start := time.Now()
		require.NoError(t, in.At(t.Context(), fault.Before(fault.Commit)))
		require.NoError(t, in.At(t.Context(), fault.After(fault.Commit)))
		require.Zero(t, time.Since(start))
		require.NoError(t, in.At(t.Context(), fault.Before(fault.Commit)))
		require.Equal(t, 90*time.Second, time.Since(start))
	})
}

func TestADelayEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the job ends")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		start := time.Now()
		require.ErrorIs(t, fault.DelayAt(fault.Before(fault.Commit), 0, time.Hour).At(ctx, fault.Before(fault.Commit)), cause)
		require.Equal(t, time.Second, time.Since(start))
	})
}

func TestBadScriptsAreRefused(t *testing.T) {
	for script, want := range map[string]string{
		"kill":                                     "want ACTION@PLACE",
		"stop@before:connect":                      `no action is called "stop"; there are kill, fail, delay`,
		"kill@connect":                             "want before:EFFECT or after:EFFECT",
		"kill@":                                    "want before:EFFECT or after:EFFECT",
		"kill@#":                                   `"" does not count from 1`,
		"kill@before:connect#0":                    `"0" does not count from 1`,
		"kill@before:connect#-1":                   `"-1" does not count from 1`,
		"kill@before:connect#x":                    `"x" does not count from 1`,
		"kill@before:connect#01":                   `"01" does not count from 1`,
		"kill@before:connect#+1":                   `"+1" does not count from 1`,
		"kill@before:connect#":                     `"" does not count from 1`,
		"kill@before:connect#1#2":                  `"1#2" does not count from 1`,
		"kill@before:connect,":                     `"": want ACTION@PLACE`,
		",":                                        `"": want ACTION@PLACE`,
		"kill@before:connect, fail@#1":             `no action is called " fail"`,
		"kill=1@before:connect":                    "the action kill has no value",
		"kill=@before:connect":                     "the action kill has no value",
		"delay@before:connect":                     `"" is no duration above 0`,
		"delay=0s@before:connect":                  `"0s" is no duration above 0`,
		"delay=-1s@before:connect":                 `"-1s" is no duration above 0`,
		"delay=soon@before:connect":                `"soon" is no duration above 0`,
		"delay=2m@before:connect":                  `"2m" is written 2m0s`,
		"kill@before:connect#99999999999999999999": "does not count from 1",
	} {
		in, err := fault.Parse(script)
		require.ErrorContains(t, err, want, "%q", script)
		require.ErrorContains(t, err, "fault script", "%q", script)
		require.Nil(t, in)
	}
}

func TestABadScriptIsToldAllThatIsWrong(t *testing.T) {
	_, err := fault.Parse("kill@after:xa-end,stop@before:conect#0,fail@before:batch#x,delay=never@during:batch")
	for _, want := range []string{`"stop"`, `"conect"`, `"0"`, `"x"`, `"never"`, `"during:batch"`} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, strings.SplitN(err.Error(), "\n", 2)[1], "after:xa-end", "what is right is not blamed")
}

func TestEntriesWithActionsOfOnesOwn(t *testing.T) {
	entries, err := fault.ParseEntries("reboot@#4,delay=1s@before:batch", "reboot", "delay")
	require.NoError(t, err)
	require.Equal(t, []fault.Entry{
		{Action: "reboot", Place: fault.Place{Nth: 4}},
		{Action: "delay", Delay: time.Second, Place: fault.Place{Point: fault.Before(fault.Batch)}},
	}, entries)
	_, err = fault.ParseEntries("kill@#4", "reboot")
	require.ErrorContains(t, err, `no action is called "kill"; there are reboot`)
}

// FuzzParse: whatever is accepted prints as it was written, and is read from that again.
func FuzzParse(f *testing.F) {
	for _, script := range scripts {
		f.Add(script)
	}
	f.Add("kill@before:connect#01,delay=90s@#0")
	f.Fuzz(func(t *testing.T, script string) {
		in, err := fault.Parse(script)
		if err != nil {
			require.Nil(t, in)
			require.ErrorContains(t, err, "fault script")
			return
		}
		if script == "" {
			require.Nil(t, in)
			return
		}
		require.Equal(t, script, in.String())
		for part := range strings.SplitSeq(script, ",") {
			entries, err := fault.ParseEntries(part, "kill", "fail", "delay")
			require.NoError(t, err, "an entry of a script that was accepted")
			require.Len(t, entries, 1)
			require.Equal(t, part, entries[0].String())
			place, err := fault.ParsePlace(entries[0].Place.String())
			require.NoError(t, err)
			require.Equal(t, entries[0].Place, place)
		}
	})
}
