package fault_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
)

// TestFreeWhenOff: without an injector a point costs no allocation, and neither does it with a script that is about
// other points, or about another time.
func TestFreeWhenOff(t *testing.T) {
	ctx := t.Context()
	elsewhere, err := fault.Parse("kill@after:xa-commit#1,fail@before:batch#1000000,delay=1s@#1000000")
	require.NoError(t, err)
	for _, in := range []fault.Injector{nil, elsewhere} {
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			if err := fault.At(ctx, in, fault.Before(fault.Batch)); err != nil {
				t.Error(err)
			}
		}), "%v", in)
	}
}

func BenchmarkOff(b *testing.B) {
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if err := fault.At(ctx, nil, fault.Before(fault.Batch)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScript(b *testing.B) {
	ctx := b.Context()
	in, err := fault.Parse("kill@after:xa-commit#1,fail@before:xa-end#7")
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if err := fault.At(ctx, in, fault.Before(fault.Batch)); err != nil {
			b.Fatal(err)
		}
	}
}
