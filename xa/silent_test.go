package xa_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/xa"
)

// Somebody listens at the address, takes the connection, and never says a word.
func TestConnectToASilentServerEnds(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	begin := time.Now()
	_, err = xa.Connect(t.Context(), xa.Config{DSN: "root:secret@tcp(" + l.Addr().String() + ")/", VerbTimeout: 200 * time.Millisecond})
	require.ErrorContains(t, err, l.Addr().String())
	require.NotContains(t, err.Error(), "secret")
	require.Less(t, time.Since(begin), 10*time.Second)
}
