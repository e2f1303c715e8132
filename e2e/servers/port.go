package servers

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// errNoPort is what freePort returns when it found none.
var errNoPort = errors.New("no free TCP port between 20000 and 32000 on 127.0.0.1")

// freePort is a port of 127.0.0.1 that nobody listens on. It lies below the
// range from which Linux takes the ports of outgoing connections (32768 on,
// unless set otherwise), so that it stays free while a killed server is down.
func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	for range 100 {
		port := 20000 + rand.IntN(12000)
		l, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, errNoPort
}
