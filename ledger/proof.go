package ledger

import (
	"context"

	"github.com/google/uuid"

	"github.com/xasink/xasink/xa"
)

// TableUse is what a branch did to one table. Kind is the operation in the user's words: insert, upsert, delete, mixed.
type TableUse struct {
	Table string `json:"table"`
	Kind  string `json:"kind"`
	Rows  uint64 `json:"rows"`
}

// Proof is a proof row. Where it can be read, its branch is committed.
type Proof struct {
	ID         xa.ID
	Run        uuid.UUID
	Decision   uint64     // newest accepted decision known when the row was written: information, never used to decide
	Tables     []TableUse // what the branch did
	Replayable bool       // all of its tables are declared replayable
}

// ProofSQL is the statement that writes p inside its own branch: a plain INSERT, so that a second branch of the same
// name fails instead of hiding. It takes no arguments and depends on no sql_mode.
func (l Ledger) ProofSQL(p Proof) (string, error) { panic("stub") }

// Proofs reads all proof rows of job, ordered as xa.ID.Compare. It is one consistent read. ErrAbsent where there is no
// ledger: without one nothing can be concluded from the absence of a row.
func (l Ledger) Proofs(ctx context.Context, q xa.Queryer, job string) ([]Proof, error) { panic("stub") }

// Proven tells whether the proof row of id is there. ErrAbsent as for Proofs.
func (l Ledger) Proven(ctx context.Context, q xa.Queryer, id xa.ID) (bool, error) { panic("stub") }
