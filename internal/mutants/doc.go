// Mutants breaks the contracts of this module one at a time, in a scratch copy, and runs the tests that need no server:
// each breakage has to be caught by one of them.
//
//	make mutants                                  # all of list.txt
//	go run ./internal/mutants -only 'rule 2'      # those whose line fits, from the module's root
//
// For every mutant it says which test caught it and after how long. A mutant whose tests hang is ended after a time
// limit, and counts as caught with that said; one that does not compile is an error of the list, and is caught by nobody.
// The last line is "mutants: N of N caught", and the exit code is 0 only then. Before the first mutant the unchanged copy
// has to pass.
package main
