package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/xa"
)

// pruneStep is how many rows one DELETE names.
const pruneStep = 500

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
func (l Ledger) Prune(ctx context.Context, q xa.Queryer, job string, store uuid.UUID, epoch uint64, spans []Span) (deleted int64, err error) {
	doing := fmt.Sprintf("prune proof rows of job %s in %s", job, l.table(branchesTable))
	if _, many := q.(*sql.DB); many {
		return 0, errors.New(doing + ": needs one session, a *sql.DB may use several")
	}
	if err := xa.CheckJob(job); err != nil {
		return 0, err
	}
	for _, s := range spans {
		if s.Epoch == 0 || s.From == 0 || s.To < s.From {
			return 0, fmt.Errorf("%s: span e%d.w%d.s%d to s%d is none", doing, s.Epoch, s.Lane, s.From, s.To)
		}
	}
	if len(spans) == 0 {
		return 0, nil
	}
	err = l.effect(ctx, fault.LedgerPrune, func(ctx context.Context) error {
		if _, err := q.ExecContext(ctx, "START TRANSACTION"); err != nil {
			return err
		}
		if deleted, err = l.prune(ctx, q, job, store, epoch, spans); err == nil {
			_, err = q.ExecContext(ctx, "COMMIT")
			return err
		}
		// Where the session is lost the server rolls back by itself.
		if _, undo := q.ExecContext(ctx, "ROLLBACK"); undo != nil {
			return errors.Join(err, fmt.Errorf("ROLLBACK: %w", undo))
		}
		return err
	})
	if err != nil {
		return 0, l.explain(ctx, q, doing, err)
	}
	return deleted, nil
}

func (l Ledger) prune(ctx context.Context, q xa.Queryer, job string, store uuid.UUID, epoch uint64, spans []Span) (int64, error) {
	if err := l.checkClaim(ctx, q, job, store, epoch, " LOCK IN SHARE MODE"); err != nil {
		return 0, err
	}
	var deleted int64
	for _, s := range spans {
		for from := s.From; ; {
			seqs, err := l.seqs(ctx, q, job, s, from)
			if err != nil {
				return 0, err
			}
			if len(seqs) == 0 {
				break
			}
			n, err := l.deleteSeqs(ctx, q, job, s, seqs)
			if err != nil {
				return 0, err
			}
			deleted += n
			last := seqs[len(seqs)-1]
			if last == s.To {
				break
			}
			from = last + 1
		}
	}
	return deleted, nil
}

// seqs are the next rows of s, at most pruneStep, read without a lock.
func (l Ledger) seqs(ctx context.Context, q xa.Queryer, job string, s Span, from uint64) (seqs []uint64, err error) {
	rows, err := q.QueryContext(ctx, fmt.Sprintf("SELECT `seq` FROM %s WHERE `job` = '%s' AND `epoch` = %d AND `lane` = %d "+
		"AND `seq` BETWEEN %d AND %d ORDER BY `seq` LIMIT %d",
		l.table(branchesTable), job, s.Epoch, s.Lane, from, s.To, pruneStep))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var seq uint64
		if err := rows.Scan(&seq); err != nil {
			return nil, err
		}
		seqs = append(seqs, seq)
	}
	return seqs, rows.Err()
}

// deleteSeqs names each row by its whole key and forces the primary key, so that InnoDB locks these rows and no
// neighbour: the next row may belong to a prepared branch and stay locked for long.
func (l Ledger) deleteSeqs(ctx context.Context, q xa.Queryer, job string, s Span, seqs []uint64) (int64, error) {
	names := make([]string, len(seqs))
	for i, seq := range seqs {
		names[i] = strconv.FormatUint(seq, 10)
	}
	table := l.table(branchesTable)
	result, err := q.ExecContext(ctx, fmt.Sprintf("DELETE %s FROM %s FORCE INDEX (PRIMARY) WHERE `job` = '%s' "+
		"AND `epoch` = %d AND `lane` = %d AND `seq` IN (%s)", table, table, job, s.Epoch, s.Lane, strings.Join(names, ",")))
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
