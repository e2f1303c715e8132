package servers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// ForTest gives a test a server of a flavour, that of the environment where one
// is set. Others may use it at the same time: the test makes its own database
// and drops it. The test fails when no server can be had.
func ForTest(t testing.TB, flavour Flavour) *Server {
	t.Helper()
	return start(t, flavour, Options{})
}

// OwnForTest gives a test a server that nobody else uses, started with args:
// for tests that kill it or need a setting. It is removed after the test.
func OwnForTest(t testing.TB, flavour Flavour, args ...string) *Server {
	t.Helper()
	return start(t, flavour, Options{Own: true, Args: args})
}

func start(t testing.TB, flavour Flavour, opts Options) *Server {
	t.Helper()
	opts.Log = t.Output()
	s, err := Start(t.Context(), flavour, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
