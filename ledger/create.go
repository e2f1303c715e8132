package ledger

import (
	"context"

	"github.com/xasink/xasink/xa"
)

// DDL is what [Ledger.Create] runs where nothing is there yet, for a DBA to run by hand.
func (l Ledger) DDL() []string { panic("stub") }

// Create makes what is missing of the ledger, and nothing else: with all tables there it needs no right to create.
// Then it checks the tables' format and engine, and that the user may do what a sink does with them.
// Errors: ErrNewer; ErrPrivilege with the DDL to run and the GRANT to type.
func (l Ledger) Create(ctx context.Context, q xa.Queryer) error { panic("stub") }
