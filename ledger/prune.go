package ledger

import (
	"context"

	"github.com/google/uuid"

	"github.com/xasink/xasink/xa"
)

// Span is a run of branches of one lane and epoch, From to To inclusive. Not every seq in it need have a proof row.
type Span struct {
	Epoch    uint64
	Lane     uint32
	From, To uint64
}

// Prune deletes the proof rows of the given spans and returns how many there were. q must be one session (*sql.Conn,
// *xa.Session), outside any transaction; a *sql.DB is refused. All deletes of one call are one local transaction that
// first reads the job row with a shared lock and compares it with the claim, so that no row is deleted once a newer
// owner has raised it. Rows are deleted by name only; which may go is the caller's duty (recovery.Prunable).
//
// After an error nothing is deleted, unless the error came with the COMMIT: then all is, or nothing. Either is
// harmless: the same Prune may be repeated. Errors: ErrFenced, ErrPrivilege, ErrAbsent.
func (l Ledger) Prune(ctx context.Context, q xa.Queryer, job string, store uuid.UUID, epoch uint64, spans []Span) (int64, error) {
	panic("stub")
}
