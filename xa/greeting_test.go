package xa_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/xa"
)

// speaker listens, says first to whoever comes, and hangs up at once or when the other side does.
func speaker(t *testing.T, first []byte, hangUp bool) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write(first)
			if !hangUp {
				_, _ = io.Copy(io.Discard, c)
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

// packet is one of the MySQL protocol.
func packet(body string) []byte {
	return append([]byte{byte(len(body)), byte(len(body) >> 8), 0, 0}, body...)
}

// refusalPacket is how a server refuses a connection before it knows who comes.
func refusalPacket(number uint16, state, message string) []byte {
	return packet("\xff" + string([]byte{byte(number), byte(number >> 8)}) + "#" + state + message)
}

// greetingWithoutTLS is a server's handshake, version 10, whose capabilities lack TLS.
func greetingWithoutTLS() []byte {
	return packet("\x0a8.4.0\x00" + "\x07\x00\x00\x00" + "12345678\x00" + "\xff\xf7" + "\x2d" + "\x02\x00" + "\xff\xff" + "\x15" +
		strings.Repeat("\x00", 10) + "123456789012\x00" + "mysql_native_password\x00")
}

// TestWhoAnswersIsNotTheServer, or refuses to be: each is one line that says what to do.
func TestWhoAnswersIsNotTheServer(t *testing.T) {
	silent := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(silent.Close)
	const notMySQL = "that MySQL or MariaDB is what listens there: the port of a web server"
	for name, c := range map[string]struct {
		address, option string
		want            []string
	}{
		"a web server": {silent.Listener.Addr().String(), "", []string{"no answer within 500ms", notMySQL}},
		"a web server that speaks": {speaker(t, []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), true), "",
			[]string{"no connection", notMySQL}},
		"SSH":          {speaker(t, []byte("SSH-2.0-OpenSSH_9.2p1\r\n"), false), "", []string{"no answer within 500ms", notMySQL}},
		"it hangs up":  {speaker(t, nil, true), "", []string{"no connection", notMySQL}},
		"old protocol": {speaker(t, packet("\x095.0\x00\x00\x00\x00\x00\x00\x00\x00\x00"), true), "", []string{"protocol version", notMySQL}},
		"nobody":       {"127.0.0.1:1", "", []string{"connection refused", notMySQL}},
		"too many connections": {speaker(t, refusalPacket(1040, "08004", "Too many connections"), true), "",
			[]string{"1040", "max_connections is used up: raise it, or use fewer sessions"}},
		"the host is blocked": {speaker(t, refusalPacket(1129, "HY000", "Host '10.0.0.7' is blocked because of many connection errors"), true), "",
			[]string{"1129", "10.0.0.7", "TRUNCATE TABLE performance_schema.host_cache", "max_connect_errors"}},
		"the host is unknown": {speaker(t, refusalPacket(1130, "HY000", "Host '10.0.0.7' is not allowed to connect"), true), "",
			[]string{"1130", "create the user for this host"}},
		"TLS only": {speaker(t, refusalPacket(3159, "08004", "Connections using insecure transport are prohibited"), true), "",
			[]string{"3159", "add tls=true to the DSN"}},
		"no TLS": {speaker(t, greetingWithoutTLS(), false), "tls=true",
			[]string{"server does not support TLS", "turn TLS on at the server, or leave tls out of the data source name"}},
		"no such network": {"", "", []string{"a network that is neither tcp nor unix", "use tcp(host:port)"}},
	} {
		t.Run(name, func(t *testing.T) {
			dsn := "root:s3cret@tcp(" + c.address + ")/?" + c.option
			if c.address == "" {
				dsn = "root:s3cret@nowhere(there)/"
			}
			_, err := xa.Connect(t.Context(), xa.Config{DSN: dsn, VerbTimeout: 500 * time.Millisecond})
			var e *xa.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, xa.VerbConnect, e.Verb)
			require.Equal(t, xa.Refused, e.Outcome)
			require.Equal(t, c.address, e.Server)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), "s3cret")
			require.NotContains(t, err.Error(), "nowhere")
		})
	}
}

// panicking connects as the driver does to MySQL's X protocol, whose greeting is shorter than any of the MySQL
// protocol. (The driver itself would leave a goroutine behind.)
type panicking struct {
	driver.Connector
	with func()
}

func (p panicking) Connect(context.Context) (driver.Conn, error) {
	p.with()
	return nil, nil
}

func TestAGreetingAtWhichTheDriverPanics(t *testing.T) {
	short, at := []byte{0x0b, 0x08, 0x05, 0x1a, 0}, 9
	_, err := xa.Connect(t.Context(), xa.Config{Connector: panicking{with: func() { _ = short[at : at+8] }}, Address: "h:33060"})
	require.ErrorContains(t, err, "connect on h:33060: refused: ")
	require.ErrorContains(t, err, "does not speak the MySQL protocol")
	require.ErrorContains(t, err, "X protocol, 33060, is not the right one")
	require.NotContains(t, err.Error(), "\n")
	require.PanicsWithValue(t, "mine", func() {
		_, _ = xa.Connect(t.Context(), xa.Config{Connector: panicking{with: func() { panic("mine") }}})
	}, "a panic of a connector of the user's own is the user's")
}

// TestAUserWhoMayNotConnectLikeThis: each is one line that says what to do.
func TestAUserWhoMayNotConnectLikeThis(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		admin := real.DB(t)
		for name, c := range map[string]struct {
			change string
			want   []string
		}{
			"one connection": {"WITH MAX_USER_CONNECTIONS 1", []string{"1226", "a limit of this user is used up: raise it"}},
			"TLS only":       {"REQUIRE SSL", []string{"1045", "whether it has to come with TLS (tls=true)"}},
			"locked":         {"ACCOUNT LOCK", []string{"unlock this user (ALTER USER … ACCOUNT UNLOCK)"}},
		} {
			t.Run(name, func(t *testing.T) {
				user, password := real.User(t, privileges(real)...)
				servertest.Exec(t, admin, fmt.Sprintf("ALTER USER `%s`@'%%' %s", user, c.change))
				config := xa.Config{DSN: real.UserDSN(user, password, "")}
				if name == "one connection" {
					server, err := xa.Connect(t.Context(), config)
					require.NoError(t, err)
					defer func() { require.NoError(t, server.Close()) }()
					held, err := server.DB().Conn(t.Context())
					require.NoError(t, err)
					defer func() { _ = held.Close() }()
				}
				_, err := xa.Connect(t.Context(), config)
				for _, want := range c.want {
					require.ErrorContains(t, err, want)
				}
				require.NotContains(t, err.Error(), "\n")
				require.NotContains(t, err.Error(), password)
			})
		}
	})
}

// TestACertificateThatNobodyTrusts: the one that MySQL makes for itself is signed by nobody whom this host knows.
func TestACertificateThatNobodyTrusts(t *testing.T) {
	real := servertest.Get(t, xa.MySQL)
	_, err := xa.Connect(t.Context(), xa.Config{DSN: withOption(real.DSN(""), "tls=true")})
	require.ErrorContains(t, err, "certificate")
	require.ErrorContains(t, err, "mysql.RegisterTLSConfig")
	require.NotContains(t, err.Error(), "\n")
}
