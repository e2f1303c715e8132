package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ourList is list.txt, read as the program reads it.
func ourList(t *testing.T) list {
	t.Helper()
	text, err := os.ReadFile("list.txt")
	require.NoError(t, err)
	l, err := parse(string(text))
	require.NoError(t, err)
	return l
}

// A change of the code that a mutant is made of is told here, long before somebody runs the mutants.
func TestTheListFitsTheCode(t *testing.T) {
	l := ourList(t)
	require.NoError(t, l.check(filepath.Join("..", "..")))
	require.Greater(t, len(l.mutants), 40)
}

// Every rule and every line of the recovery table that docs/design.md has is broken by a mutant, or told to be missing;
// what else is cited there is there.
func TestEveryContractIsBrokenByAMutant(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "design.md"))
	require.NoError(t, err)
	section := func(heading string) string {
		_, rest, ok := strings.Cut(string(page), "\n## "+heading+"\n")
		require.True(t, ok, "docs/design.md has no %q", heading)
		text, _, _ := strings.Cut(rest, "\n## ")
		return text
	}
	broken := map[string]bool{}
	l := ourList(t)
	for _, c := range l.missing {
		broken[c] = true
	}
	for _, m := range l.mutants {
		broken[m.breaks] = true
	}
	for c := range broken {
		if heading, quoted := strings.CutPrefix(c, `"`); quoted {
			section(strings.TrimSuffix(heading, `"`))
		}
	}
	rules := regexp.MustCompile(`(?m)^(\d+)\. `).FindAllStringSubmatch(section("Rules"), -1)
	require.NotEmpty(t, rules)
	for _, m := range rules {
		require.True(t, broken["rule "+m[1]], "no mutant breaks rule %s", m[1])
	}
	lines := strings.Count(section("The recovery table"), "\n| ") - 1 // the head
	require.Positive(t, lines)
	for n := range lines {
		require.True(t, broken["plan "+strconv.Itoa(n+1)], "no mutant breaks line %d of the recovery table", n+1)
	}
}

func TestAListIsRead(t *testing.T) {
	l, err := parse("# comment\n\nrule 2: OK is believed\nin recovery/commit.go\n# why\n- \theld ||\n- \n- x\n+ \ttrue\ntry ./recovery TestA|B\ntry ./xa\n\n" +
		"\"A heading\": gone\nin a.go\n- x\n\nmissing rule 9: not built\nstate.Claim: more\nin b.go\n- y\n+ z\n")
	require.NoError(t, err)
	require.Equal(t, []string{"rule 9"}, l.missing)
	require.Equal(t, []mutant{
		{
			breaks: "rule 2", title: "OK is believed", line: 3, file: "recovery/commit.go", old: "\theld ||\n\nx", new: "\ttrue",
			tries: []try{{"./recovery", "TestA|B"}, {"./xa", ""}},
		},
		{breaks: `"A heading"`, title: "gone", line: 13, file: "a.go", old: "x"},
		{breaks: "state.Claim", title: "more", line: 18, file: "b.go", old: "y", new: "z"},
	}, l.mutants)
	require.Equal(t, "rule 2: OK is believed", l.mutants[0].String())

	for text, want := range map[string]string{
		"no contract\n":                           "want a contract",
		"rule x: what\n":                          "want a contract",
		"rule 1: what\nfrobnicate\n":              "want in",
		"rule 1: what\nin a.go\n- x\n+ y\n- z\n":  "want in",
		"rule 1: what\nin a.go\nin b.go\n":        "want in",
		"rule 1: what\ntry\n":                     "want in",
		"rule 1: a\nin a.go\n- x\nrule 2: b\n":    "want in",
		"rule 1: a\nin a.go\n- x\n+ y\n\nin b.go": ":6:",
	} {
		_, err := parse(text)
		require.ErrorContains(t, err, want, "%q", text)
	}
}

func TestAListThatDoesNotFitIsRefusedWithEveryProblem(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "a.go"), []byte("package a\n\nvar x = 1\nvar y = 1\n"), 0o600))
	l, err := parse("rule 1: good\nin a.go\n- x = 1\n+ x = 2\n\n" +
		"rule 1: good\nin a.go\n- y = 1\n+ y = 2\n\n" +
		"rule 2: not there\nin a.go\n- z\n+ w\n\n" +
		"rule 3: twice\nin a.go\n- = 1\n+ = 2\n\n" +
		"rule 4: the same\nin a.go\n- x\n+ x\n\n" +
		"rule 5: no file\nin b.go\n- x\n+ y\n\n" +
		"rule 6: a test\nin a_test.go\n- x\n+ y\n\n" +
		"rule 7: no text\nin a.go\n")
	require.NoError(t, err)
	err = l.check(root)
	for _, want := range []string{
		":6: rule 1: good: it is there twice, see line 1", "rule 2: not there: a.go holds its text 0 times", "rule 3: twice: a.go holds its text 2 times",
		"rule 4: the same: want a file", "rule 5: no file: open", "rule 6: a test: a_test.go is no code of the product", "rule 7: no text: want a file",
	} {
		require.ErrorContains(t, err, want)
	}
	require.Len(t, strings.Split(err.Error(), "\n"), 7)
}
