package main

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// small is a module with one function, a test of it that also hangs and never fails in turn, and a simulation.
var small = map[string]string{
	"go.mod": "module " + module + "\n\ngo 1.26\n",
	"sum/sum.go": "package sum\n\nfunc Add(a, b int) int { return a + b }\n\nfunc Down(n int) int {\n\tfor n > 0 {\n\t\tn--\n\t}\n\treturn n\n}\n\n" +
		"func Unseen() int { return 1 }\n\nfunc Far() int { return 3 }\n",
	"sum/sum_test.go": "package sum\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tt.Run(\"two\", func(t *testing.T) {\n\t\tif Add(1, 2) != 3 {\n\t\t\tt.Fatal(\"wrong sum\")\n\t\t}\n\t})\n}\n\n" +
		"func TestDown(t *testing.T) {\n\tif Down(3) != 0 {\n\t\tt.Fatal(\"not down\")\n\t}\n}\n",
	"internal/sim/sim_test.go": "package sim\n\nimport (\n\t\"flag\"\n\t\"os\"\n\t\"testing\"\n\n\t\"" + module + "/sum\"\n)\n\nvar seed = flag.Uint64(\"sim.seed\", 0, \"\")\n\n" +
		"func TestSim(t *testing.T) {\n\tif *seed != 1 || os.Getenv(\"XASINK_TEST_DSN\") != \"\" {\n\t\tt.Fatal(\"not as asked\", *seed)\n\t}\n\tif sum.Far() != 3 {\n\t\tt.Fatal(\"simulated\")\n\t}\n}\n",
	"internal/mutants/own_test.go": "package mutants\n\nimport \"testing\"\n\nfunc TestOwn(t *testing.T) { t.Fatal(\"must not be run\") }\n",
	".hidden/x.go":                 "package broken",
	"left.test":                    "binary",
}

func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return root
}

func TestMutantsAreJudgedByTheFirstTestThatFails(t *testing.T) {
	t.Setenv("XASINK_TEST_DSN", "somewhere")
	root := lay(t, small)
	c, err := copyModule(root, filepath.Join(t.TempDir(), "copy"))
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(c.dir, ".hidden", "x.go"))
	require.NoFileExists(t, filepath.Join(c.dir, "left.test"))
	g := tester{limit: 20 * time.Second}
	require.NoError(t, g.unchanged(t.Context(), c))

	judged := func(g tester, old, new string, tries ...try) verdict {
		v, err := g.mutant(t.Context(), c, mutant{file: "sum/sum.go", old: old, new: new, tries: tries})
		require.NoError(t, err)
		content, err := os.ReadFile(filepath.Join(c.dir, "sum", "sum.go"))
		require.NoError(t, err)
		require.Equal(t, small["sum/sum.go"], string(content), "the copy is as it was")
		return v
	}
	v := judged(g, "a + b", "a - b")
	require.Equal(t, []any{failed, "sum TestAdd/two", true}, []any{v.outcome, v.by, v.caught()})
	require.Contains(t, v.detail, "wrong sum")

	v = judged(g, "return 3", "return 4", try{"./sum", "TestDown"})
	require.Equal(t, []any{failed, "internal/sim TestSim"}, []any{v.outcome, v.by})

	v = judged(g, "return 1", "return 2")
	require.Equal(t, []any{passed, false}, []any{v.outcome, v.caught()}, "nobody looks at it")

	v = judged(g, "a + b", "a + c")
	require.Equal(t, []any{unbuilt, false}, []any{v.outcome, v.caught()})
	require.Contains(t, v.detail, "undefined: c")

	v = judged(tester{limit: time.Second}, "n--", "n -= 0")
	require.Equal(t, []any{hung, "sum TestDown", true}, []any{v.outcome, v.by, v.caught()})

	require.ErrorContains(t, g.unchanged(t.Context(), tree{lay(t, map[string]string{
		"go.mod": small["go.mod"], "sum/sum.go": "package sum\n", "sum/sum_test.go": "package sum\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Fatal(\"bad\") }\n",
	})}), "sum TestBad")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.mutant(ctx, c, mutant{file: "sum/sum.go", old: "a + b", new: "a - b"})
	require.ErrorIs(t, err, context.Canceled)
	_, err = g.mutant(t.Context(), c, mutant{file: "sum/sum.go", old: "nowhere", new: "x"})
	require.ErrorContains(t, err, "does not hold its text once")
}

func TestAPackageThatFailsWithoutATestIsCaughtAsAWhole(t *testing.T) {
	v, err := read(bufio.NewReader(strings.NewReader(
		`{"Action":"output","Package":"` + module + `/xa","Output":"found unexpected goroutines"}` + "\n" +
			`{"Action":"fail","Package":"` + module + `/xa"}` + "\n")))
	require.NoError(t, err)
	require.Equal(t, verdict{failed, "xa as a whole", "found unexpected goroutines"}, v)

	_, err = read(bufio.NewReader(strings.NewReader("what is this\n")))
	require.ErrorContains(t, err, "what is this")
}

// The last line tells how many were caught, and only all of them are good.
func TestTheSumIsTheLastLine(t *testing.T) {
	root := lay(t, small)
	c, err := copyModule(root, filepath.Join(t.TempDir(), "copy"))
	require.NoError(t, err)
	g := tester{limit: 20 * time.Second}
	good := mutant{breaks: "rule 1", title: "good", file: "sum/sum.go", old: "a + b", new: "a - b"}
	for _, story := range []struct {
		mutants []mutant
		want    []string
		err     error
	}{
		{[]mutant{good}, []string{"caught after", "mutants: 1 of 1 caught"}, nil},
		{
			[]mutant{good, {breaks: "rule 2", title: "free", line: 7, file: "sum/sum.go", old: "return 1", new: "return 2"}},
			[]string{"SURVIVED", "rule 2: free (sum/sum.go, internal/mutants/list.txt:7)", "mutants: 1 of 2 caught"}, errNotAll,
		},
		{
			[]mutant{{breaks: "rule 3", title: "typo", file: "sum/sum.go", old: "a + b", new: "a + c"}},
			[]string{"NOT COMPILED", "undefined: c", "mutants: 0 of 1 caught"}, errNotAll,
		},
	} {
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		require.NoError(t, err)
		require.ErrorIs(t, judge(t.Context(), newScreen(out), g, []tree{c}, story.mutants, false), story.err)
		require.NoError(t, out.Close())
		text, err := os.ReadFile(out.Name())
		require.NoError(t, err)
		for _, want := range story.want {
			require.Contains(t, string(text), want)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		require.Equal(t, story.want[len(story.want)-1], lines[len(lines)-1])
		require.NotContains(t, string(text), "\r", "a pipe gets no progress")
	}
}
