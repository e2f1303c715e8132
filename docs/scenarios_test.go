package docs_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "fill the names of tests into scenarios.md")

const scenarios = "scenarios.md"

var (
	testFunc   = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)\(`)
	leadingIDs = regexp.MustCompile(`^(?:Test|Fuzz)((?:[A-Z][0-9]+_)+)`)
	oneID      = regexp.MustCompile(`[A-Z][0-9]+`)
	quoted     = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9_]+)`")
)

// line is one row of the table: id, what it asks, tests, and why or when where there is none.
type line struct {
	number int
	cells  []string
	tests  []string
}

// TestScenarios: table and tests name each other.
func TestScenarios(t *testing.T) {
	tests := testsOfTheTree(t)
	text, err := os.ReadFile(scenarios)
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	table := readTable(t, lines)

	for name := range tests {
		for _, id := range idsOf(name) {
			row, known := table[id]
			require.True(t, known, "%s has an id that %s does not list: %s", name, scenarios, id)
			if *rewrite && !slices.Contains(row.tests, name) {
				row.tests = append(row.tests, name)
			}
			require.Contains(t, row.tests, name, "row %s of %s does not name this test: run it with -rewrite", id, scenarios)
		}
	}
	for id, row := range table {
		if *rewrite {
			row.tests = slices.DeleteFunc(row.tests, func(name string) bool { return !tests[name] })
			slices.Sort(row.tests)
			lines[row.number] = row.String()
		}
		for _, name := range row.tests {
			require.True(t, tests[name], "row %s names a test that does not exist: %s", id, name)
		}
	}
	if *rewrite {
		require.NoError(t, os.WriteFile(scenarios, []byte(strings.Join(lines, "\n")), 0o600))
	}
	var bare []string
	for id, row := range table {
		if len(row.tests) == 0 && row.cells[3] == "" {
			bare = append(bare, id)
		}
	}
	slices.Sort(bare)
	require.Empty(t, bare, "rows with neither a test nor a reason")
}

func (l *line) String() string {
	names := make([]string, len(l.tests))
	for i, name := range l.tests {
		names[i] = "`" + name + "`"
	}
	return fmt.Sprintf("| %s | %s | %s | %s |", l.cells[0], l.cells[1], strings.Join(names, " "), l.cells[3])
}

// idsOf gives the ids that a test's name begins with: TestF05_F07_Close… has F05 and F07.
func idsOf(name string) []string {
	m := leadingIDs.FindStringSubmatch(name)
	if m == nil {
		return nil
	}
	return oneID.FindAllString(m[1], -1)
}

func readTable(t *testing.T, lines []string) map[string]*line {
	t.Helper()
	table := map[string]*line{}
	for i, text := range lines {
		if !strings.HasPrefix(text, "| ") || strings.HasPrefix(text, "| id ") {
			continue
		}
		cells := strings.Split(strings.Trim(text, "|"), "|")
		require.Len(t, cells, 4, "line %d of %s", i+1, scenarios)
		for k := range cells {
			cells[k] = strings.TrimSpace(cells[k])
		}
		id := cells[0]
		require.Regexp(t, `^[A-Z][0-9]+$`, id)
		require.NotContains(t, table, id, "twice in the table")
		row := &line{number: i, cells: cells}
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			row.tests = append(row.tests, m[1])
		}
		table[id] = row
	}
	require.Greater(t, len(table), 300)
	return table
}

// testsOfTheTree is every test function of this repository, other modules in it included.
func testsOfTheTree(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range testFunc.FindAllStringSubmatch(string(source), -1) {
			tests[m[1]] = true
		}
		return nil
	}))
	return tests
}
