package main

import "strings"

// shellQuoted is s in single quotes of the shell.
func shellQuoted(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
