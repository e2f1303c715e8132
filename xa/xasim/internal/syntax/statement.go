package syntax

import "sync"

// Statement is one statement.
type Statement interface{ statement() }

// TableName names a table; Database is "" where the session's is meant.
type TableName struct{ Database, Name string }

// The statements that read and write rows.
type (
	// Select is a query. From is empty for one without tables.
	Select struct {
		Distinct bool
		Fields   []Field
		From     []Source
		Where    Expr
		Group    []Expr
		Order    []Order
		Limit    Expr // nil: none
		Offset   Expr
		Lock     LockMode
		// Plans is for whoever executes the statement, which may be executed many times.
		Plans sync.Map
	}
	// Field is an expression with its name, or all columns (Star), of Table where one is named.
	Field struct {
		X     Expr
		As    string // the alias, "" if there is none
		Text  string // as it was written
		Star  bool
		Table string
	}
	// Source is a table or a query, joined with those before it on On.
	Source struct {
		Table TableName
		Query *Select
		As    string
		On    Expr
		Left  bool
	}
	// Order is one part of ORDER BY.
	Order struct {
		X    Expr
		Desc bool
	}
	// Insert is INSERT or REPLACE. Rows or Query has what is inserted.
	Insert struct {
		Replace, Ignore bool
		Table           TableName
		Columns         []string // nil: all
		Rows            [][]Expr
		Query           *Select
		Update          []Assignment // ON DUPLICATE KEY UPDATE
	}
	// Assignment is Column = X.
	Assignment struct {
		Column string
		X      Expr
	}
	// Update is UPDATE of one table.
	Update struct {
		Table TableName
		Set   []Assignment
		Where Expr
	}
	// Delete is DELETE from one table.
	Delete struct {
		Table TableName
		Where Expr
	}
	// Explain asks for the plan of a statement.
	Explain struct{ Of Statement }
	// Do evaluates expressions.
	Do struct{ X []Expr }
)

// LockMode is what a query locks.
type LockMode uint8

// The modes.
const (
	NoLock LockMode = iota
	ShareLock
	UpdateLock
	UpdateSkipLocked
	UpdateNoWait
)

// The statements that make and change tables.
type (
	// CreateDatabase is CREATE DATABASE.
	CreateDatabase struct {
		Name         string
		IfNotExists  bool
		Charset, Col string
	}
	// DropDatabase is DROP DATABASE.
	DropDatabase struct {
		Name     string
		IfExists bool
	}
	// CreateTable is CREATE TABLE.
	CreateTable struct {
		Table              TableName
		IfNotExists        bool
		Temporary          bool
		Columns            []ColumnDef
		Keys               []KeyDef
		Engine             string
		Charset, Collation string
		Comment            string
	}
	// ColumnDef is a column.
	ColumnDef struct {
		Name          string
		Type          TypeDef
		NotNull       bool
		Default       Expr // nil: none
		OnUpdate      Expr
		AutoIncrement bool
		Primary       bool
		Unique        bool
		Comment       string
	}
	// TypeDef is a type as it was written.
	TypeDef struct {
		Name               string // in small letters
		Args               []int
		Members            []string
		Unsigned           bool
		Charset, Collation string
	}
	// KeyDef is a key.
	KeyDef struct {
		Name            string
		Columns         []string
		Primary, Unique bool
	}
	// DropTable is DROP TABLE.
	DropTable struct {
		Tables   []TableName
		IfExists bool
	}
	// TruncateTable is TRUNCATE TABLE.
	TruncateTable struct{ Table TableName }
	// AlterTable is ALTER TABLE … ADD COLUMN …, … or COMMENT.
	AlterTable struct {
		Table   TableName
		Add     []AddColumn
		Comment *string
	}
	// AddColumn is one column to add, First or behind After, "" for the end.
	AddColumn struct {
		Column ColumnDef
		First  bool
		After  string
	}
)

// The statements that are about transactions and sessions.
type (
	// Begin is BEGIN or START TRANSACTION.
	Begin struct{}
	// Commit is COMMIT.
	Commit struct{}
	// Rollback is ROLLBACK, to a savepoint where one is named.
	Rollback struct{ To string }
	// Savepoint is SAVEPOINT.
	Savepoint struct{ Name string }
	// Release is RELEASE SAVEPOINT.
	Release struct{ Name string }
	// XA is any XA statement but XA RECOVER.
	XA struct {
		Verb     string // START, END, PREPARE, COMMIT, ROLLBACK
		XID      XID
		OnePhase bool
		Resume   bool
		Join     bool
		Suspend  bool
	}
	// XID is the name of a branch as it was written.
	XID struct {
		GTRID, BQUAL string
		Format       uint64
	}
	// Recover is XA RECOVER.
	Recover struct {
		Convert bool   // CONVERT XID
		Format  string // FORMAT='…', in capitals
	}
	// Set is SET of variables.
	Set struct{ Variables []SetVariable }
	// SetVariable is one of them. Scope is SESSION or GLOBAL, "" for the session's.
	SetVariable struct {
		Scope, Name string
		X           Expr
	}
	// SetNames is SET NAMES.
	SetNames struct{ Charset string }
	// SetTransaction is SET TRANSACTION. Level and Access are "" where not given.
	SetTransaction struct{ Scope, Level, Access string }
	// Kill is KILL.
	Kill struct {
		Query bool
		ID    Expr
	}
	// Use is USE.
	Use struct{ Database string }
	// Flush is FLUSH.
	Flush struct{ What string }
	// LockTables is LOCK TABLES.
	LockTables struct {
		Tables []TableName
		Write  []bool
	}
	// UnlockTables is UNLOCK TABLES.
	UnlockTables struct{}
	// Show is SHOW What.
	Show struct {
		What string // in capitals: PROCESSLIST, STATUS, TABLE STATUS, VARIABLES, TABLES, DATABASES, WARNINGS
		Full bool
		From string
		Like string
	}
	// Other is a statement that is only looked at to see whether it is allowed in a branch.
	Other struct{ What string }
)

func (*Select) statement()         {}
func (*Insert) statement()         {}
func (*Update) statement()         {}
func (*Delete) statement()         {}
func (*Explain) statement()        {}
func (*Do) statement()             {}
func (*CreateDatabase) statement() {}
func (*DropDatabase) statement()   {}
func (*CreateTable) statement()    {}
func (*DropTable) statement()      {}
func (*TruncateTable) statement()  {}
func (*AlterTable) statement()     {}
func (*Begin) statement()          {}
func (*Commit) statement()         {}
func (*Rollback) statement()       {}
func (*Savepoint) statement()      {}
func (*Release) statement()        {}
func (*XA) statement()             {}
func (*Recover) statement()        {}
func (*Set) statement()            {}
func (*SetNames) statement()       {}
func (*SetTransaction) statement() {}
func (*Kill) statement()           {}
func (*Use) statement()            {}
func (*Flush) statement()          {}
func (*LockTables) statement()     {}
func (*UnlockTables) statement()   {}
func (*Show) statement()           {}
func (*Other) statement()          {}
