package xa_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/xa"
)

// TestL12_AUserWhoMayNotSeePreparedBranches (T09, G081).
func TestL12_AUserWhoMayNotSeePreparedBranches(t *testing.T) {
	real := servertest.Get(t, xa.MySQL)
	user, password := real.User(t)
	_, err := xa.Connect(t.Context(), xa.Config{DSN: real.UserDSN(user, password, "")})
	require.ErrorIs(t, err, xa.ErrNoRecoverPrivilege)
	require.ErrorContains(t, err, fmt.Sprintf("GRANT XA_RECOVER_ADMIN ON *.* TO '%s'@'%%'", user))
	require.NotContains(t, err.Error(), password)
}

// TestAUserWithoutProcess is refused where the server is attached.
func TestAUserWithoutProcess(t *testing.T) {
	real := servertest.Get(t, xa.MariaDB)
	user, password := real.User(t)
	_, err := xa.Connect(t.Context(), xa.Config{DSN: real.UserDSN(user, password, "")})
	require.ErrorContains(t, err, fmt.Sprintf("GRANT PROCESS ON *.* TO '%s'@'%%'", user))
}

// TestOpeningThatFails: each cause is one clear message that shows the address and what to do, and never a password.
func TestOpeningThatFails(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		user, password := real.User(t, privileges(real)...)
		unreachable := user + ":" + password + "@tcp(127.0.0.1:1)/"
		for name, c := range map[string]struct {
			dsn  string
			want []string
		}{
			"wrong password":   {real.UserDSN(user, "wr0ng"+password, ""), []string{"1045", "check user and password"}},
			"no such database": {real.UserDSN(user, password, "no_such_database"), []string{"no_such_database"}},
			"unreachable":      {unreachable, []string{"127.0.0.1:1", "no connection", "check that the server runs"}},
			"unknown option":   {withOption(real.UserDSN(user, password, ""), "autcommit=1"), []string{"1193", "autcommit", "neither the driver's nor a variable"}},
			"unknown zone":     {real.UserDSN(user, password, ""), []string{"1298", "use an offset such as +00:00"}},
		} {
			t.Run(name, func(t *testing.T) {
				var printed strings.Builder
				config := xa.Config{DSN: c.dsn, Logger: slog.New(slog.NewTextHandler(&printed, nil))}
				if name == "unknown zone" {
					config.TimeZone = "No/Such'Zone"
				}
				_, err := xa.Connect(t.Context(), config)
				var e *xa.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, xa.VerbConnect, e.Verb)
				require.Equal(t, xa.Refused, e.Outcome)
				for _, want := range c.want {
					require.ErrorContains(t, err, want)
				}
				require.NotContains(t, err.Error(), password)
				require.NotContains(t, printed.String(), password)
			})
		}
	})
}

// withOption is dsn with one more option.
func withOption(dsn, option string) string {
	if strings.Contains(dsn, "?") {
		return dsn + "&" + option
	}
	return dsn + "?" + option
}

func TestConnectHonoursItsContext(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := xa.Connect(ctx, xa.Config{DSN: real.DSN("")})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, xa.Refused, xa.OutcomeOf(err))
	})
}
