package servers_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/xasink/xasink/e2e/servers"
)

// insideVariable tells this test program that it runs inside an image of that
// flavour, where there is no engine.
const insideVariable = "SERVERS_TEST_INSIDE"

func flavours() []servers.Flavour {
	if inside := os.Getenv(insideVariable); inside != "" {
		return []servers.Flavour{servers.Flavour(inside)}
	}
	return []servers.Flavour{servers.MySQL, servers.MariaDB}
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	cfg.Logger = &mysql.NopLogger{} // a killed server is no news here
	connector, err := mysql.NewConnector(cfg)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func TestServerKeepsDataAndAddressThroughKillStopAndRestart(t *testing.T) {
	for _, flavour := range flavours() {
		t.Run(string(flavour), func(t *testing.T) {
			s := servers.OwnForTest(t, flavour, "--max-connections=77")
			exerciseLife(t, s)
		})
	}
}

// exerciseLife kills, stops and restarts a server that was started with
// --max-connections=77.
func exerciseLife(t *testing.T, s *servers.Server) {
	t.Helper()
	ctx := t.Context()
	db := open(t, s.DSN())
	require.False(t, s.Given())

	for _, statement := range []string{
		"CREATE DATABASE life",
		"CREATE TABLE life.t (id INT PRIMARY KEY)",
		"INSERT INTO life.t VALUES (1)",
	} {
		_, err := db.ExecContext(ctx, statement)
		require.NoError(t, err)
	}
	xa(t, db, "XA START 'left'", "INSERT INTO life.t VALUES (2)", "XA END 'left'", "XA PREPARE 'left'")

	dsn := s.DSN()
	require.NoError(t, s.Kill(ctx))
	require.Error(t, db.PingContext(ctx), "a killed server must not answer")
	require.NoError(t, s.Kill(ctx), "killing a dead server is no error")
	require.NoError(t, s.Restart(ctx))
	require.Equal(t, dsn, s.DSN())
	require.Equal(t, 1, number(t, db, "SELECT COUNT(*) FROM life.t"))
	_, err := db.ExecContext(ctx, "XA COMMIT 'left'")
	require.NoError(t, err, "a prepared branch outlives SIGKILL")
	require.Equal(t, 2, number(t, db, "SELECT COUNT(*) FROM life.t"))
	require.Equal(t, 77, number(t, db, "SELECT @@max_connections"))

	require.NoError(t, s.Stop(ctx))
	require.Error(t, db.PingContext(ctx), "a stopped server must not answer")
	require.NoError(t, s.Restart(ctx))
	require.Equal(t, 2, number(t, db, "SELECT COUNT(*) FROM life.t"))

	log, err := s.Logs(ctx)
	require.NoError(t, err)
	require.Contains(t, log, "ready for connections")

	require.NoError(t, s.Close())
	require.Error(t, db.PingContext(ctx), "a closed server must not answer")
	require.NoError(t, s.Close(), "closing twice is no error")
}

// xa runs statements on one session.
func xa(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	for _, statement := range statements {
		_, err := conn.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
}

func number(t *testing.T, db *sql.DB, query string) int {
	t.Helper()
	var n int
	require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&n))
	return n
}

func TestServerIdentityIsNewWithEachContainer(t *testing.T) {
	uuid := func() (id string) {
		s := servers.OwnForTest(t, servers.MySQL)
		require.NoError(t, open(t, s.DSN()).QueryRowContext(t.Context(), "SELECT @@server_uuid").Scan(&id))
		return id
	}
	first, second := uuid(), uuid()
	require.NotEqual(t, first, second)
}

func TestGivenServerWinsForItsOwnFlavourOnlyAndIsNotEnded(t *testing.T) {
	ctx := t.Context()
	own := servers.OwnForTest(t, servers.MySQL)
	t.Setenv(servers.MySQL.DSNVariable(), own.DSN())

	s, err := servers.Start(ctx, servers.MySQL, servers.Options{})
	require.NoError(t, err)
	require.True(t, s.Given())
	require.Equal(t, own.DSN(), s.DSN())
	require.ErrorIs(t, s.Kill(ctx), servers.ErrGiven)
	require.ErrorIs(t, s.Stop(ctx), servers.ErrGiven)
	require.ErrorIs(t, s.Restart(ctx), servers.ErrGiven)
	require.NoError(t, s.Close())
	require.NoError(t, open(t, own.DSN()).PingContext(ctx))

	t.Setenv(servers.MariaDB.DSNVariable(), own.DSN())
	_, err = servers.Start(ctx, servers.MariaDB, servers.Options{})
	require.ErrorContains(t, err, "is mysql, wanted is mariadb")
	require.ErrorContains(t, err, servers.MariaDB.DSNVariable())
}

func TestGivenServerThatIsNotThereSaysWhichVariableAndNoPassword(t *testing.T) {
	t.Setenv(servers.MySQL.DSNVariable(), "root:secret@tcp(127.0.0.1:1)/")
	_, err := servers.Start(t.Context(), servers.MySQL, servers.Options{})
	require.ErrorContains(t, err, "XASINK_TEST_DSN at 127.0.0.1:1")
	require.NotContains(t, err.Error(), "secret")

	t.Setenv(servers.MySQL.DSNVariable(), "root:secret@nonsense")
	_, err = servers.Start(t.Context(), servers.MySQL, servers.Options{})
	require.ErrorContains(t, err, "XASINK_TEST_DSN is not a DSN")
	require.NotContains(t, err.Error(), "secret")
}

func TestServerThatEndsDuringItsStartShowsItsLog(t *testing.T) {
	_, err := servers.Start(t.Context(), flavours()[0], servers.Options{Own: true, Args: []string{"--no-such-option"}})
	require.ErrorContains(t, err, "ended during its start")
	require.ErrorContains(t, err, "no-such-option")
}

// leaverVariable makes this test program start a server, print its DSN and die
// without a word, as the owner of a leftover.
const leaverVariable = "SERVERS_TEST_LEAVE"

func TestMain(m *testing.M) {
	if how := os.Getenv(leaverVariable); how != "" {
		leave(how == "keep")
	}
	goleak.VerifyTestMain(m)
}

func leave(keep bool) {
	s, err := servers.Start(context.Background(), flavours()[0], servers.Options{Own: true, Keep: keep})
	if err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	fmt.Printf("%s\n%s\n", s.DSN(), s.RemoveCommand())
	os.Exit(0)
}

// leaver runs leave in another process and returns what it printed.
func leaver(t *testing.T, how string) (dsn, removeCommand string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), leaverVariable+"="+how)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	dsn, removeCommand, ok := strings.Cut(strings.TrimSpace(string(out)), "\n")
	require.True(t, ok, string(out))
	return dsn, removeCommand
}

func TestServerOfADeadProcessIsRemovedByTheNextStartAndAKeptOneIsNot(t *testing.T) {
	ctx := t.Context()
	leftDSN, _ := leaver(t, "leave")
	keptDSN, removeKept := leaver(t, "keep")
	t.Cleanup(func() { _ = exec.Command("sh", "-c", removeKept).Run() }) // also when the test fails before
	left, kept := open(t, leftDSN), open(t, keptDSN)

	servers.OwnForTest(t, flavours()[0])
	require.Error(t, left.PingContext(ctx), "the dead process's server must be gone")
	require.NoError(t, kept.PingContext(ctx), "a kept server stays")
	requireOfThisClone(t, removeKept)

	out, err := exec.CommandContext(ctx, "sh", "-c", removeKept).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Error(t, kept.PingContext(ctx), "its own command removes it")
}

// requireOfThisClone wants the server, known by the command that removes it, marked with this clone of the repository.
func requireOfThisClone(t *testing.T, removeCommand string) {
	t.Helper()
	_, source, _, _ := runtime.Caller(0)
	clone, err := filepath.EvalSymlinks(filepath.Join(filepath.Dir(source), "..", ".."))
	if err != nil { // built elsewhere
		clone = filepath.Join(filepath.Dir(source), "..", "..")
	}
	fields := strings.Fields(removeCommand)
	name := fields[len(fields)-1]
	if fields[0] != "docker" {
		mark, err := os.ReadFile(filepath.Join(name, "clone"))
		require.NoError(t, err)
		require.Equal(t, clone, string(mark))
		return
	}
	label, err := exec.CommandContext(t.Context(), "docker", "inspect", "--format", `{{index .Config.Labels "org.xasink.clone"}}`, name).Output()
	require.NoError(t, err)
	require.Equal(t, clone, strings.TrimSpace(string(label)))
}

func TestWithoutAnEngineTheMachinesOwnServerIsUsed(t *testing.T) {
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", dir+"/servers.test", ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))

	for _, flavour := range flavours() {
		t.Run(string(flavour), func(t *testing.T) {
			s := servers.OwnForTest(t, flavour) // the image is there once it runs
			fields := strings.Fields(s.ShellCommand())
			image, err := exec.CommandContext(t.Context(), "docker", "inspect", "--format", "{{.Image}}", fields[3]).Output()
			require.NoError(t, err)

			out, err := exec.CommandContext(t.Context(), "docker", "run", "--rm", "--network=none",
				"--volume="+dir+":/test:ro", "--env="+insideVariable+"="+string(flavour), "--entrypoint=/test/servers.test",
				strings.TrimSpace(string(image)), "-test.v", "-test.run=^TestServer(Keeps|ThatEnds|OfADead)").CombinedOutput()
			require.NoError(t, err, string(out))
			require.Contains(t, string(out), "in "+os.TempDir(), "a local server was started")
			require.Equal(t, 3, strings.Count("\n"+string(out), "\n--- PASS"), string(out))
		})
	}
}
