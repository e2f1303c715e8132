package xa

import (
	"context"
	"database/sql"
)

func Connect(ctx context.Context, c Config) (*Server, error)                { panic("stub") }
func (s *Server) Abilities() Abilities                                      { panic("stub") }
func (s *Server) Address() string                                           { panic("stub") }
func (s *Server) DB() *sql.DB                                               { panic("stub") }
func (s *Server) Close() error                                              { panic("stub") }
func (s *Server) Identify(ctx context.Context, q Queryer) (Identity, error) { panic("stub") }
func (s *Server) Settled(ctx context.Context) error                         { panic("stub") }
func (s *Server) Scan(ctx context.Context, q Queryer) ([]XID, error)        { panic("stub") }
func (s *Server) KillSession(ctx context.Context, id uint64) error          { panic("stub") }
func (s *Server) SessionAlive(ctx context.Context, id uint64) (bool, error) { panic("stub") }
func (s *Server) MarkHolder(ctx context.Context, q Queryer, m Mark) (id uint64, held bool, err error) {
	panic("stub")
}
func (s *Server) Holders(ctx context.Context, job string, lanes, perLane uint32) ([]MarkHolder, error) {
	panic("stub")
}
func (s *Server) Limbo(ctx context.Context) (detached, prepared int, err error) { panic("stub") }

type Mark struct {
	Job  string
	Lane uint32
	N    uint32
}

func (m Mark) Name() string { panic("stub") }

type MarkHolder struct {
	Mark    Mark
	Session uint64
}

type PoolConfig struct {
	Job          string
	MaxSessions  int
	MarksPerLane uint32
	Admit        func(ctx context.Context, s *Session) error
}

type Pool struct{}

func NewPool(server *Server, c PoolConfig) *Pool                        { panic("stub") }
func (p *Pool) Take(ctx context.Context, lane uint32) (*Session, error) { panic("stub") }
func (p *Pool) Return(s *Session)                                       { panic("stub") }
func (p *Pool) Discard(ctx context.Context, s *Session) error           { panic("stub") }
func (p *Pool) Close(ctx context.Context) error                         { panic("stub") }
func (p *Pool) Sessions() int                                           { panic("stub") }

type Session struct{}

func (s *Session) Start(ctx context.Context, id ID) error                             { panic("stub") }
func (s *Session) Exec(ctx context.Context, query string) (affected int64, err error) { panic("stub") }
func (s *Session) LedgerExec(ctx context.Context, query string) (affected int64, err error) {
	panic("stub")
}
func (s *Session) Savepoint(ctx context.Context) error       { panic("stub") }
func (s *Session) RollbackTo(ctx context.Context) error      { panic("stub") }
func (s *Session) End(ctx context.Context) error             { panic("stub") }
func (s *Session) Prepare(ctx context.Context) error         { panic("stub") }
func (s *Session) Commit(ctx context.Context, x XID) error   { panic("stub") }
func (s *Session) Rollback(ctx context.Context, x XID) error { panic("stub") }
func (s *Session) Abort(ctx context.Context) error           { panic("stub") }
func (s *Session) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	panic("stub")
}
func (s *Session) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	panic("stub")
}
func (s *Session) State() State         { panic("stub") }
func (s *Session) Branch() (ID, bool)   { panic("stub") }
func (s *Session) ConnectionID() uint64 { panic("stub") }
func (s *Session) Mark() Mark           { panic("stub") }
func (s *Session) Server() *Server      { panic("stub") }
