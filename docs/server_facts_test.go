package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const serverFacts = "server-facts.md"

var (
	factHeading = regexp.MustCompile(`(?m)^#+ (Head|Metadata locks|\d+(?:\.\d+)?[a-z]?)\b`)
	// A fact's number or name, and the ways to go on to another one.
	factName = `(?:head|metadata locks|\d+(?:\.\d+)?[a-z]?)\b`
	citation = regexp.MustCompile(`server-facts(?:\.md)?,? (` + factName + `(?:(?:, | and |, and )` + factName + `)*)`)
	oneFact  = regexp.MustCompile(factName)
	mention  = regexp.MustCompile(`server-facts(?:\.md)?`)
	link     = regexp.MustCompile("^(?:\\]\\(|[)#`])") // of a document, or the page's name in code type
	comment  = regexp.MustCompile(`\n\s*//[ \t]*`)
)

// Every fact about servers that a comment or a document cites is told in server-facts.md under that number.
func TestCitedServerFactsAreTold(t *testing.T) {
	told := factsTold(read(t, serverFacts))
	files, cited := 0, 0
	for path, text := range citingFiles(t) {
		missing, n := missingFacts(text, told)
		require.Empty(t, missing, "%s cites what %s does not tell", path, serverFacts)
		if n > 0 {
			files, cited = files+1, cited+n
		}
	}
	require.Greater(t, cited, 40, "in %d files", files)
}

// The test above sees what is missing.
func TestACitationOfAFactThatIsNotToldIsFound(t *testing.T) {
	page := read(t, serverFacts)
	for fact := range factsTold(page) {
		heading := regexp.MustCompile(`(?mi)^#+ ` + regexp.QuoteMeta(fact) + `\b`)
		without := factsTold(heading.ReplaceAllString(page, "# no number"))
		require.NotContains(t, without, fact)
		for _, text := range []string{
			"see server-facts." + "md, " + fact + ".", "(server-facts " + fact + ")", "server-facts." + "md, 99x and " + fact + " too",
			"// as in server-facts,\n\t// " + fact + ": so", "server-facts." + "md, 99x, and\n// " + fact,
		} {
			missing, _ := missingFacts(text, without)
			require.Contains(t, missing, fact, "%s", text)
		}
	}
	missing, n := missingFacts("// see server-facts, of course", factsTold(page))
	require.Equal(t, []string{"(no number)"}, missing)
	require.Zero(t, n)
}

func factsTold(page string) map[string]bool {
	told := map[string]bool{}
	for _, m := range factHeading.FindAllStringSubmatch(page, -1) {
		told[strings.ToLower(m[1])] = true
	}
	return told
}

// missingFacts are the facts that text cites and that are not told, and how many it cites. A mention without a number is
// reported too, where it is not to the page as a whole.
func missingFacts(text string, told map[string]bool) (missing []string, cited int) {
	text = comment.ReplaceAllString(text, " ")
	for _, at := range mention.FindAllStringIndex(text, -1) {
		rest := text[at[0]:]
		if m := citation.FindStringSubmatchIndex(rest); m != nil && m[0] == 0 {
			for _, fact := range oneFact.FindAllString(rest[m[2]:m[3]], -1) {
				cited++
				if !told[fact] {
					missing = append(missing, fact)
				}
			}
			continue
		}
		if !link.MatchString(text[at[1]:]) {
			missing = append(missing, "(no number)")
		}
	}
	return missing, cited
}

// citingFiles are the Go files of this repository, other modules in it included, and its documents.
func citingFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch ext := filepath.Ext(path); {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || ext != ".go" && ext != ".md":
			return nil
		case d.Name() == serverFacts || d.Name() == "server_facts_test.go":
			return nil // what is cited, and this file
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	}))
	return files
}
