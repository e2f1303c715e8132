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
	if s.harmless(statement) {
		return nil
	}
	_, marks := statement.(*syntax.Savepoint)
	switch {
	case t.deadlock && marks:
		return nil
	case inActive(statement) && s.doomed():
		return errBranchDeadlock()
	case t.state == active && inActive(statement):
		return nil
	}
	return errState(s.word())
}

// harmless are the statements that every state takes.
func (s *session) harmless(statement syntax.Statement) bool {
	switch x := statement.(type) {
	case *syntax.Recover, *syntax.Kill, *syntax.Do, *syntax.Use, *syntax.SetNames, *syntax.Set, *syntax.SetTransaction,
		*syntax.UnlockTables:
		return true
	case *syntax.Show:
		// MySQL makes a query of its own tables of most of them.
		return s.server.kind.mariadb || x.What == "PROCESSLIST" || s.transaction.state == active
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
