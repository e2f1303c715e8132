// Package facts measures on real servers what this project relies on and what is not in their manuals. Its results are
// in docs/facts.md; command measure prints them anew.
package facts
