package xa_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/xa"
)

// TestG019_DataSourceNamesThatAreRefused covers T19 too: nothing of a password shows in the message.
func TestG019_DataSourceNamesThatAreRefused(t *testing.T) {
	for dsn, want := range map[string]string{
		"u:s3cret@tcp(h:1)/db?multiStatements=true":               "multiStatements",
		"u:s3cret@tcp(h:1)/db?clientFoundRows=true":               "clientFoundRows",
		"u:s3cret@tcp(h:1)/db?parsetime=true":                     "parseTime",
		"u:s3cret@tcp(h:1)/db?MULTISTATEMENTS=true":               "multiStatements",
		"u:s3cret@tcp(h:1)/db?parseTime=perhaps":                  "option parseTime",
		"u:s3cret@tcp(h:1)/db?timeout=s3cret":                     "option timeout",
		"u:s3cret@tcp(h:1)/db?strict=true":                        "option strict",
		"u:s3cret@tcp(h:1)/db?loc=Europe/Berlin":                  "escape a param value",
		"u:s3cret@tcp(h:1)":                                       "missing the slash",
		"u:s3cret@h:1/db":                                         "user:password@tcp(host:port)",
		"u:s3cret@tcp(h:1/db":                                     "user:password@tcp(host:port)",
		"u:s3cret@unix(s3cret":                                    "missing the slash",
		"u:s3/cret@tcp(h:1)":                                      "missing the slash after the address",
		"u:s3cret/s3cret@unix(/s3cret)":                           "user:password@tcp(host:port)",
		"u:x/s3cret?timeout=s3cret@tcp(h:1)":                      "missing the slash after the address",
		"u:x/s3cret?s3cret=1&loc=s3cret@tcp(h:1)":                 "missing the slash after the address",
		"u:s3cret(s3cret)/s3cret":                                 "cannot be read",
		"u:x@s3cret(s3cret)/s3cret@tcp(h:1)":                      "missing the slash after the address",
		"u:x/s3cret?strict=s3cret":                                "user:password@tcp(host:port)",
		":@:s3cret@":                                              "missing the slash",
		"u:s3cret@tcp(h:1)/db?tls=s3cret":                         "option tls",
		"u:s3cret@tcp(h:1)/db?connectionAttributes=s3cret":        "",
		"u:s3cret@tcp(h:1)/db?collation=s3cret&loc=s3cret":        "",
		"u:s3cret@tcp(h:1)/db?serverPubKey=s3cret":                "",
		"u@s3cret/db":                                             "user:password@tcp(host:port)",
		"u:s3cret@tcp(h:1)/%zz?multiStatements=true&autocommit=1": "",
	} {
		_, err := xa.Connect(t.Context(), xa.Config{DSN: dsn})
		require.Error(t, err, "%s", dsn)
		require.NotContains(t, err.Error(), "s3", "%s", dsn)
		require.ErrorContains(t, err, want, "%s", dsn)
		require.NotContains(t, err.Error(), "\n", "%s", dsn)
	}
}

// TestAVariableThatTheSessionSetsIsRefusedInAnySpelling of the server's: the driver puts the name in front of a SET.
func TestAVariableThatTheSessionSetsIsRefusedInAnySpelling(t *testing.T) {
	for option, want := range map[string]string{
		"autocommit=0":                             "autocommit cannot be set there",
		"AutoCommit=0":                             "autocommit cannot be set there",
		"sql_mode=''":                              "sql_mode cannot be set there",
		"SQL_MODE=''":                              "sql_mode cannot be set there",
		"`sql_mode`=''":                            "sql_mode cannot be set there",
		"@@sql_mode=''":                            "sql_mode cannot be set there",
		"@@`SQL_Mode`=''":                          "sql_mode cannot be set there",
		"@@session.sql_mode=''":                    "sql_mode cannot be set there",
		"@@SESSION.`sql_mode`=''":                  "sql_mode cannot be set there",
		"@@local . sql_mode=''":                    "sql_mode cannot be set there",
		"session sql_mode=''":                      "sql_mode cannot be set there",
		"LOCAL\tsql_mode =''":                      "sql_mode cannot be set there",
		"@@global.sql_mode=''":                     "with the scope global",
		"GLOBAL  max_connections=1":                "with the scope global",
		"@@persist_only.sync_binlog=0":             "with the scope persist_only",
		"sql_mode#=''":                             "not the name of a variable",
		"sql mode=''":                              "not the name of a variable",
		"time_zone=%27%2B01:00%27":                 "Config.TimeZone",
		"tx_isolation=%27SERIALIZABLE%27":          "READ COMMITTED",
		"sql_select_limit=10":                      "it would hide rows",
		"sql_log_bin=0":                            "replicas would miss rows",
		"timestamp=1":                              "timestamp cannot be set there",
		"max_execution_time=1000":                  "Config.StatementTimeout",
		"completion_type=1":                        "completion_type cannot be set there",
		"sql_safe_updates=1&sql_notes=0":           "sql_safe_updates cannot be set there",
		"sql_notes=0":                              "",
		"@mine=1":                                  "",
		"@@session.net_write_timeout=60":           "",
		"validate_password.policy=1":               "",
		"group_concat_max_len=1000&sql_notes=%271": "",
	} {
		err := xa.Config{DSN: "u:s3cret@tcp(h:1)/db?" + option}.Check()
		if want == "" {
			require.NoError(t, err, "%s", option)
			continue
		}
		require.ErrorContains(t, err, want, "%s", option)
		require.NotContains(t, err.Error(), "s3cret", "%s", option)
	}
}

func TestEveryProblemOfADataSourceNameIsTold(t *testing.T) {
	_, err := xa.Connect(t.Context(), xa.Config{DSN: "u:p@tcp(h:1)/?multiStatements=true&clientFoundRows=true&autocommit=0"})
	for _, want := range []string{"multiStatements", "clientFoundRows", "autocommit"} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "\n")
}

// awkward is every punctuation mark of ASCII.
const awkward = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// TestT19_NoErrorShowsAPassword, whether the name can be read or not, whether somebody answers or not.
func TestT19_NoErrorShowsAPassword(t *testing.T) {
	for _, c := range []struct{ dsn, password string }{
		{"root:secret/tail@tcp(127.0.0.1:1)", "secret"},
		{"root:a/b?parseTime=hunter2@tcp(127.0.0.1:1)", "hunter2"},
		{"root:a/b?foo=hunter2@tcp(127.0.0.1:1)/", "hunter2"},
		{"user:p@ss:w@rd@tcp(127.0.0.1:1)/db", "p@ss:w@rd"},
		{":@:secret@", "secret"},
		{":@:secret@/", "secret"},
		{"root:secret@unix(secret", "secret"},
		{"root:secret@unix(/nowhere)/db", "secret"},
		{"root:secret@nosuchnetwork(127.0.0.1:1)/db", "secret"},
		{"root:p@secret(secret)/tail@x", "secret"},
		{"root:secret@tcp(no-such-host.invalid:1)/db", "secret"},
		{"root:" + awkward + "@tcp(127.0.0.1:1)/db", awkward[10:20]},
		{"root:" + awkward + "@tcp(127.0.0.1:1)", awkward[10:20]},
		{"root:" + awkward + "secret" + awkward + "@tcp(127.0.0.1:1)", "secret"},
		{"root:secret" + awkward + "/?secret=secret@unix(/tmp/s)", "secret"},
		{"root:secret@tcp(127.0.0.1:1)/db?readTimeout=1s", "secret"},
	} {
		var printed strings.Builder
		config := xa.Config{DSN: c.dsn, Logger: slog.New(slog.NewTextHandler(&printed, &slog.HandlerOptions{Level: slog.LevelDebug}))}
		_, err := xa.Connect(t.Context(), config)
		require.Error(t, err, "%s", c.dsn)
		for _, text := range []string{err.Error(), fmt.Sprintf("%+v %#v", err, err), printed.String()} {
			require.NotContains(t, text, c.password, "%s", c.dsn)
		}
	}
}

// TestT19_APasswordOfAnyCharacters connects, and shows in nothing that goes wrong then.
func TestT19_APasswordOfAnyCharacters(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		user, _ := real.User(t, privileges(real)...)
		password := "head" + awkward + "tail"
		literal := strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(password)
		servertest.Exec(t, real.DB(t), fmt.Sprintf("ALTER USER `%s`@'%%' IDENTIFIED BY '%s'", user, literal))
		server, err := xa.Connect(t.Context(), xa.Config{DSN: real.UserDSN(user, password, "")})
		require.NoError(t, err)
		for _, form := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			require.NotContains(t, fmt.Sprintf(form, server), "tail", "%s", form)
			require.NotContains(t, fmt.Sprintf(form, *server), "tail", "%s", form)
		}
		require.NoError(t, server.Close())
		for _, wrong := range []string{real.UserDSN(user, password+"!", ""), real.UserDSN(user, password, "nosuchdatabase")} {
			_, err = xa.Connect(t.Context(), xa.Config{DSN: wrong})
			require.Error(t, err)
			require.NotContains(t, fmt.Sprintf("%s %+v %#v", err, err, err), "tail")
		}
	})
}

// TestT19_AConfigDoesNotShowItsDSN however it is printed, logged or encoded.
func TestT19_AConfigDoesNotShowItsDSN(t *testing.T) {
	own := mysql.NewConfig()
	own.User, own.Passwd = "root", "secret"
	connector, err := mysql.NewConnector(own)
	require.NoError(t, err)
	for _, c := range []xa.Config{{DSN: "root:secret@tcp(h:1)/", Job: "orders"}, {Connector: connector, Address: "h:1", Job: "orders"}} {
		outer := struct{ Inner *xa.Config }{&c}
		var printed strings.Builder
		slog.New(slog.NewTextHandler(&printed, nil)).Info("a", "config", c, "pointer", &c, "outer", outer)
		slog.New(slog.NewJSONHandler(&printed, nil)).Info("a", "config", c, "pointer", &c, "outer", outer)
		for _, form := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&printed, form, c)
			fmt.Fprintf(&printed, form, &c)
		}
		encoded, err := json.Marshal(outer)
		require.NoError(t, err)
		printed.Write(encoded)
		require.NotContains(t, printed.String(), "secret")
		require.NotContains(t, printed.String(), fmt.Sprintf("%x", "secret"))
		require.Contains(t, printed.String(), "orders")
	}
}

func TestAReadTimeoutThatCutsLockWaitsOffIsRefused(t *testing.T) {
	_, err := xa.Connect(t.Context(), xa.Config{DSN: "u:s3cret@tcp(127.0.0.1:1)/?readTimeout=5s"})
	require.ErrorContains(t, err, "readTimeout is 5s, and a statement may wait 5s for a lock")
	_, err = xa.Connect(t.Context(), xa.Config{DSN: "u:s3cret@tcp(127.0.0.1:1)/?readTimeout=5s", MetadataLockWait: 2 * time.Second})
	require.ErrorContains(t, err, "no connection")
}
