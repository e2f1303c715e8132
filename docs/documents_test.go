package docs_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/xa"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// between is the code block of a document between two of its markers.
func between(t *testing.T, document, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(document, "<!-- "+name+" begin -->\n```sql\n")
	require.True(t, ok, "the document has no block %q", name)
	block, _, ok := strings.Cut(rest, "```\n<!-- "+name+" end -->")
	require.True(t, ok, "the block %q has no end", name)
	return block
}

// The DDL that a DBA copies from the document is what the ledger runs.
func TestOperationsShowsTheLedgersDDL(t *testing.T) {
	l, err := ledger.New(ledger.DefaultDatabase)
	require.NoError(t, err)
	require.Equal(t, strings.Join(l.DDL(), ";\n")+";\n", between(t, read(t, "operations.md"), "ddl"))
}

// The GRANTs of the README are enough to insert, upsert and delete, and none of them is too much.
func TestPrivilegesOfTheReadmeAreEnoughAndNoneIsTooMuch(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		block := between(t, read(t, "../README.md"), "privileges "+t.Name()[strings.LastIndexByte(t.Name(), '/')+1:])
		admin := server.DB(t)
		shop, book := server.Database(t), server.Database(t)
		for _, table := range []string{"visits", "orders"} {
			servertest.Exec(t, admin, "CREATE TABLE `"+shop+"`."+table+" (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)")
		}
		var grants []string
		for _, g := range regexp.MustCompile(`(?m)^GRANT (.*) TO 'sink'@'%';$`).FindAllStringSubmatch(block, -1) {
			grants = append(grants, strings.NewReplacer("`shop`", "`"+shop+"`", "`xasink`", "`"+book+"`").Replace(g[1]))
		}
		require.Len(t, grants, 4)
		require.NoError(t, runWith(t, server, shop, book, grants))

		for i, grant := range grants {
			what, on, _ := strings.Cut(grant, " ON ")
			for _, privilege := range strings.Split(what, ", ") {
				if privilege == "CREATE" {
					continue // the tables are there by now
				}
				less := append([]string{}, grants...)
				less[i] = strings.ReplaceAll(grant, privilege+", ", "")
				if less[i] == grant {
					less[i] = strings.ReplaceAll(grant, ", "+privilege, "")
				}
				if less[i] == grant {
					less = append(less[:i:i], less[i+1:]...)
				}
				require.Error(t, runWith(t, server, shop, book, less), "without %s on %s", privilege, on)
			}
		}
	})
}

// runWith runs a small job as a user who has the given rights only.
func runWith(t *testing.T, server servertest.Server, shop, book string, grants []string) error {
	t.Helper()
	user, password := server.User(t, grants...)
	job := server.Job(t)
	store, err := state.OpenFile(filepath.Join(t.TempDir(), "state"), job, state.FileOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	sink, err := txnsink.Open(t.Context(), txnsink.Config{
		Job: job, DSN: server.UserDSN(user, password, shop), Store: store, LedgerDatabase: book, Start: start,
		Tables: []txnsink.Table{
			{Name: "visits"},
			{Name: "orders", Operations: txnsink.Upsert | txnsink.Delete, Add: []string{"n"}},
		},
	})
	if err != nil {
		return err
	}
	defer func() { require.NoError(t, sink.Close()) }()
	admin := server.DB(t)
	servertest.Exec(t, admin, "TRUNCATE TABLE `"+shop+"`.visits")
	b := sink.Batch()
	b.Insert("visits").Int64(1).Int64(1)
	b.Upsert("orders").Int64(1).Int64(1)
	b.Upsert("orders").Int64(1).Int64(1)
	b.Delete("orders").Int64(1)
	if err := sink.Write(t.Context(), b, []byte("1")); err != nil {
		return err
	}
	return sink.Finish(t.Context())
}

func start(context.Context) ([]byte, error) { return []byte("0"), nil }

// Every path that a document links to is there.
func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	documents, err := filepath.Glob("*.md")
	require.NoError(t, err)
	for _, document := range append(documents, "../README.md", "../CONTRIBUTING.md", "../CHANGELOG.md") {
		for _, m := range link.FindAllStringSubmatch(read(t, document), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(document), m[1]))
			require.NoError(t, err, "%s links to %s", document, m[1])
		}
	}
}

// The name in the README is what a server shows.
func TestReadmeShowsANameAsItIs(t *testing.T) {
	x := xa.ID{Job: "orders", Epoch: 7, Lane: 2, Seq: 15}.XID()
	readme := read(t, "../README.md")
	require.Contains(t, readme, "gtrid     "+x.GTRID+"\n")
	require.Contains(t, readme, "bqual     "+x.BQUAL+"\n")
}
