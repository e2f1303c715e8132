package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	ruleCited    = regexp.MustCompile(`(?i)\brules? (\d+(?:(?:, | and |, and | to )\d+)*)\b`)
	ruleTold     = regexp.MustCompile(`(?m)^(\d+)\. `)
	number       = regexp.MustCompile(`\d+`)
	headingCited = regexp.MustCompile(`docs/design\.md, "?([A-Z][^."):;,]*)`)
	headingTold  = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// Every rule that a comment cites by its number, and every heading, is in design.md.
func TestCitedRulesAndHeadingsOfTheDesignAreThere(t *testing.T) {
	page := read(t, "design.md")
	_, rules, ok := strings.Cut(page, "\n## Rules\n")
	require.True(t, ok)
	rules, _, _ = strings.Cut(rules, "\n## ")
	told := map[string]bool{}
	for _, m := range ruleTold.FindAllStringSubmatch(rules, -1) {
		require.False(t, told[m[1]], "rule %s is there twice", m[1])
		told[m[1]] = true
	}
	var headings []string
	for _, m := range headingTold.FindAllStringSubmatch(page, -1) {
		headings = append(headings, m[1])
	}
	cited := 0
	for path, text := range citingFiles(t) {
		text = comment.ReplaceAllString(text, " ")
		for _, m := range ruleCited.FindAllStringSubmatch(text, -1) {
			for _, n := range number.FindAllString(m[1], -1) {
				cited++
				require.True(t, told[n], "%s cites rule %s, which design.md does not have: %s", path, n, m[0])
			}
		}
		for _, m := range headingCited.FindAllStringSubmatch(text, -1) {
			cited++
			require.Contains(t, headings, strings.TrimSpace(m[1]), "%s cites a heading that design.md does not have", path)
		}
	}
	require.Greater(t, cited, 10)
}
