package ledger_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/xa"
)

func TestDatabaseNameIsChecked(t *testing.T) {
	for name, want := range map[string]string{
		"":                      "empty",
		strings.Repeat("x", 65): "65 characters",
		"a\x00b":                "NUL",
		"trailing ":             "space",
		"\xff":                  "UTF-8",
		"MySQL":                 "the server's own",
	} {
		_, err := ledger.New(name)
		require.ErrorContains(t, err, want)
	}
	for _, name := range []string{ledger.DefaultDatabase, strings.Repeat("é", 64), "we`ird", "x' OR 1 -- "[:11]} {
		l, err := ledger.New(name)
		if strings.HasSuffix(name, " ") {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, name, l.Database())
	}
}

func TestDDLQuotesTheDatabase(t *testing.T) {
	l, err := ledger.New("a`b; DROP DATABASE c")
	require.NoError(t, err)
	for _, ddl := range l.DDL() {
		require.Contains(t, ddl, "`a``b; DROP DATABASE c`")
	}
	require.Len(t, l.DDL(), 3)
}

// hostile names of tables stay inside one literal: no quote, no backslash and no newline of theirs is in the text.
func TestProofSQLIsSafeForAnyTableName(t *testing.T) {
	l, err := ledger.New("xasink")
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "table")
		text, err := l.ProofSQL(ledger.Proof{
			ID:     xa.ID{Job: "orders", Epoch: 1, Lane: 2, Seq: 3},
			Tables: []ledger.TableUse{{Table: name, Kind: "insert", Rows: 1}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(text, "'") != 6 || strings.ContainsAny(text, "\\\n\"?") {
			t.Fatalf("not safe: %s", text)
		}
	})
}

func TestProofSQLRefusesWhatIsNoBranch(t *testing.T) {
	l, err := ledger.New("xasink")
	require.NoError(t, err)
	for _, id := range []xa.ID{
		{Job: "Orders", Epoch: 1, Seq: 1}, {Job: "a'b", Epoch: 1, Seq: 1}, {Job: "a", Seq: 1}, {Job: "a", Epoch: 1},
	} {
		_, err := l.ProofSQL(ledger.Proof{ID: id})
		require.Error(t, err)
	}
}

func TestFaultsActAroundEachEffect(t *testing.T) {
	l, err := ledger.New("xasink")
	require.NoError(t, err)
	in := fault.FailAt(fault.Before(fault.LedgerRead), 0, nil)
	_, err = l.WithFaults(in).Proofs(context.Background(), nil, "orders")
	var injected *fault.Error
	require.ErrorAs(t, err, &injected)
	require.Equal(t, fault.Before(fault.LedgerRead), injected.Point)
}
