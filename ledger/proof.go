package ledger

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/xasink/xasink/fault"
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

const branchesFields = "`job`, `epoch`, `lane`, `seq`, `run`, `decision`, `tables`, `replayable`, `format`"

// ProofSQL is the statement that writes p inside its own branch: a plain INSERT, so that a second branch of the same
// name fails instead of hiding. It takes no arguments and depends on no sql_mode.
func (l Ledger) ProofSQL(p Proof) (string, error) {
	if err := xa.CheckJob(p.ID.Job); err != nil {
		return "", fmt.Errorf("proof row of branch %s: %w", p.ID, err)
	}
	if p.ID.Epoch == 0 || p.ID.Seq == 0 {
		return "", fmt.Errorf("proof row of branch %s: epoch and seq count from 1", p.ID)
	}
	tables := p.Tables
	if tables == nil {
		tables = []TableUse{}
	}
	text, err := json.Marshal(tables)
	if err != nil {
		return "", fmt.Errorf("proof row of branch %s: %w", p.ID, err)
	}
	replayable := 0
	if p.Replayable {
		replayable = 1
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES ('%s', %d, %d, %d, '%s', %d, %s, %d, %d)",
		l.table(branchesTable), branchesFields, p.ID.Job, p.ID.Epoch, p.ID.Lane, p.ID.Seq, p.Run, p.Decision,
		hexText(string(text)), replayable, FormatVersion), nil
}

// hexText is s as a literal of utf8mb4 text that no sql_mode and no character of s can change the meaning of.
func hexText(s string) string { return "_utf8mb4 X'" + hex.EncodeToString([]byte(s)) + "'" }

// Proofs reads all proof rows of job, ordered as xa.ID.Compare. It is one consistent read. ErrAbsent where there is no
// ledger: without one nothing can be concluded from the absence of a row.
func (l Ledger) Proofs(ctx context.Context, q xa.Queryer, job string) (proofs []Proof, err error) {
	if err := xa.CheckJob(job); err != nil {
		return nil, err
	}
	err = l.effect(ctx, fault.LedgerRead, func(ctx context.Context) (err error) {
		proofs, err = l.readProofs(ctx, q, job)
		return err
	})
	if err != nil {
		return nil, l.explain(ctx, q, fmt.Sprintf("read the proof rows of job %s in %s", job, l.table(branchesTable)), err)
	}
	return proofs, nil
}

func (l Ledger) readProofs(ctx context.Context, q xa.Queryer, job string) (proofs []Proof, err error) {
	rows, err := q.QueryContext(ctx, "SELECT `epoch`, `lane`, `seq`, `run`, `decision`, `tables`, `replayable`, `format` FROM "+
		l.table(branchesTable)+" WHERE `job` = '"+job+"' ORDER BY `lane`, `epoch`, `seq`")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		p, err := scanProof(rows, job)
		if err != nil {
			return nil, err
		}
		proofs = append(proofs, p)
	}
	return proofs, rows.Err()
}

func scanProof(rows *sql.Rows, job string) (Proof, error) {
	var run string
	var tables []byte
	var format uint16
	p := Proof{ID: xa.ID{Job: job}}
	err := rows.Scan(&p.ID.Epoch, &p.ID.Lane, &p.ID.Seq, &run, &p.Decision, &tables, &p.Replayable, &format)
	if err != nil {
		return Proof{}, err
	}
	if format > FormatVersion {
		return Proof{}, fmt.Errorf("row of branch %s has format %d, this version of xasink knows formats up to %d: use the "+
			"newer version of xasink: %w", p.ID, format, FormatVersion, ErrNewer)
	}
	if p.Run, err = uuid.Parse(run); err != nil {
		return Proof{}, fmt.Errorf("row of branch %s: run id %q: %w", p.ID, run, err)
	}
	if err := json.Unmarshal(tables, &p.Tables); err != nil {
		return Proof{}, fmt.Errorf("row of branch %s: its tables: %w", p.ID, err)
	}
	return p, nil
}

// Proven tells whether the proof row of id is there. ErrAbsent as for Proofs.
func (l Ledger) Proven(ctx context.Context, q xa.Queryer, id xa.ID) (proven bool, err error) {
	if err := xa.CheckJob(id.Job); err != nil {
		return false, err
	}
	err = l.effect(ctx, fault.LedgerRead, func(ctx context.Context) (err error) {
		proven, err = l.readProven(ctx, q, id)
		return err
	})
	if err != nil {
		return false, l.explain(ctx, q, fmt.Sprintf("read the proof row of branch %s in %s", id, l.table(branchesTable)), err)
	}
	return proven, nil
}

func (l Ledger) readProven(ctx context.Context, q xa.Queryer, id xa.ID) (proven bool, err error) {
	rows, err := q.QueryContext(ctx, fmt.Sprintf("SELECT 1 FROM %s WHERE `job` = '%s' AND `epoch` = %d AND `lane` = %d AND `seq` = %d",
		l.table(branchesTable), id.Job, id.Epoch, id.Lane, id.Seq))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	proven = rows.Next()
	return proven, rows.Err()
}
