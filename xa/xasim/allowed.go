package xasim

import "github.com/xasink/xasink/xa/xasim/internal/syntax"

// allowed is what the state of the session's branch says to a statement, before it is executed.
func (s *session) allowed(statement syntax.Statement) error {
	t := s.transaction
	if t == nil || t.state == plain {
		return nil
	}
	if _, ok := statement.(*syntax.XA); ok {
		return nil // it looks itself
	}
	if free(statement) {
		return nil
	}
	switch t.state {
	case active:
		if t.deadlock {
			return errBranchDeadlock()
		}
		if inActive(statement) {
			return nil
		}
		return errState(wordActive)
	default:
		return errState(s.word())
	}
}

// free are the statements that every state takes.
func free(statement syntax.Statement) bool {
	switch x := statement.(type) {
	case *syntax.Recover, *syntax.Show, *syntax.Kill, *syntax.Do, *syntax.Use, *syntax.SetNames, *syntax.Set, *syntax.SetTransaction:
		return true
	case *syntax.Select:
		return len(x.From) == 0
	}
	return false
}

// inActive are those that a branch takes before its XA END.
func inActive(statement syntax.Statement) bool {
	switch x := statement.(type) {
	case *syntax.Select, *syntax.Insert, *syntax.Update, *syntax.Delete, *syntax.Explain, *syntax.Savepoint, *syntax.Release:
		return true
	case *syntax.Rollback:
		return x.To != ""
	}
	return false
}
