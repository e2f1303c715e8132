// Package coltype reads the types of columns as a server writes them, "decimal(12,2) unsigned".
package coltype

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Type is a column's type in parts.
type Type struct {
	Text     string   // as it was given, in lower case but for members
	Name     string   // DATA_TYPE of information_schema.COLUMNS: "decimal"
	Args     []int    // numbers in parentheses; a default of the type's is filled in
	Members  []string // of enum and set
	Unsigned bool
}

// aliases are other names of types (MySQL 8.4 manual 13.9, "Using Data Types from Other Database Engines", and 13.1).
var aliases = map[string]string{
	"integer": "int", "dec": "decimal", "numeric": "decimal", "fixed": "decimal", "real": "double",
	"bool": "tinyint", "boolean": "tinyint",
}

// defaults are what a type means without its numbers (MySQL 8.4 manual 13.1 to 13.3).
var defaults = map[string][]int{
	"decimal": {10, 0}, "char": {1}, "binary": {1}, "bit": {1}, "datetime": {0}, "timestamp": {0}, "time": {0},
}

// arguments is how many numbers a type takes; types that are not here take any number, which means nothing then.
var arguments = map[string]int{"decimal": 2, "char": 1, "varchar": 1, "binary": 1, "varbinary": 1, "bit": 1,
	"datetime": 1, "timestamp": 1, "time": 1}

// Parse reads NAME, NAME(N), NAME(N,M), NAME('a','b'), each with words behind it. It does not judge whether a server
// has a type of the name.
func Parse(text string) (Type, error) {
	text = strings.TrimSpace(text)
	end := strings.IndexAny(text, "( ")
	if end < 0 {
		end = len(text)
	}
	t := Type{Name: strings.ToLower(text[:end])}
	if to, ok := aliases[t.Name]; ok {
		t.Name = to
	}
	if t.Name == "" {
		return Type{}, fmt.Errorf("type %q has no name", text)
	}
	inner, words, err := parentheses(text[end:])
	if err != nil {
		return Type{}, fmt.Errorf("type %q: %w", text, err)
	}
	t.Text = strings.ToLower(text[:end]) + inner + strings.ToLower(words)
	t.Unsigned = slices.Contains(strings.Fields(strings.ToLower(words)), "unsigned")
	inner = strings.TrimSuffix(strings.TrimPrefix(inner, "("), ")")
	if t.Name == "enum" || t.Name == "set" {
		if t.Members, err = members(inner); err != nil {
			return Type{}, fmt.Errorf("type %q: %w", text, err)
		}
		return t, nil
	}
	if t.Args, err = numbers(inner); err != nil {
		return Type{}, fmt.Errorf("type %q: %w", text, err)
	}
	return t, t.complete()
}

// parentheses splits what follows the name: "(…)" or nothing, and the words behind it.
func parentheses(s string) (inner, words string, err error) {
	if !strings.HasPrefix(s, "(") {
		return "", s, nil
	}
	quoted := false
	for i := range len(s) {
		switch {
		case s[i] == '\'': // a doubled quote ends and begins
			quoted = !quoted
		case s[i] == ')' && !quoted:
			return s[:i+1], s[i+1:], nil
		}
	}
	return "", "", fmt.Errorf("a parenthesis is not closed")
}

func numbers(s string) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	var list []int
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(part), 10, 31)
		if err != nil {
			return nil, fmt.Errorf("%q is no number", part)
		}
		list = append(list, int(n))
	}
	return list, nil
}

// members reads 'a','b'; a quote in a member is doubled.
func members(s string) ([]string, error) {
	var list []string
	for rest := strings.TrimSpace(s); ; {
		if !strings.HasPrefix(rest, "'") {
			return nil, fmt.Errorf("members are written as 'a','b'")
		}
		rest = rest[1:]
		var m strings.Builder
		for {
			text, behind, closed := strings.Cut(rest, "'")
			if !closed {
				return nil, fmt.Errorf("the quote of a member is not closed")
			}
			m.WriteString(text)
			rest = behind
			if !strings.HasPrefix(rest, "'") {
				break
			}
			m.WriteByte('\'')
			rest = rest[1:]
		}
		list = append(list, m.String())
		if rest = strings.TrimSpace(rest); rest == "" {
			return list, nil
		}
		if !strings.HasPrefix(rest, ",") {
			return nil, fmt.Errorf("members are written as 'a','b'")
		}
		rest = strings.TrimSpace(rest[1:])
	}
}

// complete fills in defaults and checks how many numbers there are.
func (t *Type) complete() error {
	want, checked := arguments[t.Name]
	if !checked {
		return nil
	}
	if len(t.Args) > want {
		return fmt.Errorf("type %q: %s takes at most %d numbers", t.Text, t.Name, want)
	}
	if have := len(t.Args); have < want {
		d := defaults[t.Name]
		if len(d) < want {
			return fmt.Errorf("type %q: %s needs its length", t.Text, t.Name)
		}
		t.Args = append(t.Args, d[have:]...)
	}
	switch {
	case t.Name == "decimal" && (t.Args[0] < 1 || t.Args[0] > 65 || t.Args[1] > 38 || t.Args[1] > t.Args[0]):
		return fmt.Errorf("type %q: a decimal has 1 to 65 digits, at most 38 and not more than all of them behind the point", t.Text)
	case (t.Name == "datetime" || t.Name == "timestamp" || t.Name == "time") && t.Args[0] > 6:
		return fmt.Errorf("type %q: at most 6 digits of a second are kept", t.Text)
	case t.Name == "bit" && (t.Args[0] < 1 || t.Args[0] > 64):
		return fmt.Errorf("type %q: a BIT column has 1 to 64 bits", t.Text)
	}
	return nil
}
