package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/xa"
)

// commentPrefix begins the comment of each table; the format's number follows. The comment is made with the table, in
// one statement, and travels with it in a dump.
const commentPrefix = "xasink ledger, format "

// DDL is what [Ledger.Create] runs where nothing is there yet, for a DBA to run by hand.
func (l Ledger) DDL() []string {
	return []string{l.databaseDDL(), l.tableDDL(jobsTable), l.tableDDL(branchesTable)}
}

func (l Ledger) databaseDDL() string {
	return "CREATE DATABASE IF NOT EXISTS " + quote(l.database) + " DEFAULT CHARACTER SET utf8mb4"
}

func (l Ledger) tableDDL(name string) string {
	columns := jobsColumns
	if name == branchesTable {
		columns = branchesColumns
	}
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (\n%s\n) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COMMENT='%s%d'",
		l.table(name), columns, commentPrefix, FormatVersion)
}

const jobsColumns = "  `job` VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,\n" +
	"  `store` CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,\n" +
	"  `epoch` BIGINT UNSIGNED NOT NULL,\n" +
	"  `run` CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,\n" +
	"  `lanes` INT UNSIGNED NOT NULL,\n" +
	"  `marks` INT UNSIGNED NOT NULL,\n" +
	"  `server` VARCHAR(4096) NOT NULL,\n" +
	"  `server_started` DATETIME(6) NOT NULL,\n" +
	"  `format` SMALLINT UNSIGNED NOT NULL,\n" +
	"  `created_at` TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),\n" +
	"  `raised_at` TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),\n" +
	"  PRIMARY KEY (`job`)"

const branchesColumns = "  `job` VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,\n" +
	"  `epoch` BIGINT UNSIGNED NOT NULL,\n" +
	"  `lane` INT UNSIGNED NOT NULL,\n" +
	"  `seq` BIGINT UNSIGNED NOT NULL,\n" +
	"  `run` CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,\n" +
	"  `decision` BIGINT UNSIGNED NOT NULL,\n" +
	"  `tables` MEDIUMTEXT NOT NULL,\n" +
	"  `replayable` BOOLEAN NOT NULL,\n" +
	"  `format` SMALLINT UNSIGNED NOT NULL,\n" +
	"  `created_at` TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),\n" +
	"  PRIMARY KEY (`job`, `epoch`, `lane`, `seq`)"

// Create makes what is missing of the ledger, and nothing else: with all tables there it needs no right to create.
// Then it checks the tables' format and engine, and that the user may do what a sink does with them. It may be
// repeated, and several may run it at once.
// Errors: ErrNewer; ErrPrivilege with the DDL to run and the GRANT to type.
func (l Ledger) Create(ctx context.Context, q xa.Queryer) error {
	return l.effect(ctx, fault.LedgerCreate, func(ctx context.Context) error { return l.create(ctx, q) })
}

func (l Ledger) create(ctx context.Context, q xa.Queryer) error {
	for _, name := range []string{"", jobsTable, branchesTable} {
		if err := l.createOne(ctx, q, name); err != nil {
			return err
		}
	}
	return l.checkRights(ctx, q)
}

// createOne makes one table, or with the empty name the database, where it is missing, and checks it where it is there.
func (l Ledger) createOne(ctx context.Context, q xa.Queryer, name string) error {
	ddl := l.databaseDDL()
	if name == "" {
		there, err := l.databaseThere(ctx, q)
		if err != nil || there {
			return l.explain(ctx, q, "look for the ledger's database "+quote(l.database), err)
		}
	} else {
		ddl = l.tableDDL(name)
		t, err := l.status(ctx, q, name)
		if err != nil {
			return l.explain(ctx, q, "look for the ledger's table "+l.table(name), err)
		}
		if t != nil {
			return l.checkTable(name, *t)
		}
	}
	if _, err := q.ExecContext(ctx, ddl); err != nil {
		return l.explain(ctx, q, "make the ledger: "+strings.SplitN(ddl, "(", 2)[0], err)
	}
	return nil
}

// databaseThere asks for a table, which needs no right but to see something in the database: a user who sees nothing of
// it is refused, or answered as if it were missing and then refused its creation.
func (l Ledger) databaseThere(ctx context.Context, q xa.Queryer) (bool, error) {
	_, err := l.status(ctx, q, jobsTable)
	if number(err) == errNoDatabase {
		return false, nil
	}
	return err == nil, err
}

// tableStatus is what SHOW TABLE STATUS tells of one table.
type tableStatus struct{ engine, comment string }

// status is nil where the table does not exist. SHOW TABLE STATUS is used because it compares names as the server
// itself does, whatever its lower_case_table_names.
func (l Ledger) status(ctx context.Context, q xa.Queryer, name string) (t *tableStatus, err error) {
	rows, err := q.QueryContext(ctx, "SHOW TABLE STATUS FROM "+quote(l.database)+" LIKE '"+name+"'")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		t = &tableStatus{}
		for i, column := range columns {
			switch strings.ToLower(column) {
			case "engine":
				t.engine = values[i].String
			case "comment":
				t.comment = values[i].String
			}
		}
	}
	return t, rows.Err()
}

func (l Ledger) checkTable(name string, t tableStatus) error {
	text, ok := strings.CutPrefix(t.comment, commentPrefix)
	version, err := strconv.ParseUint(text, 10, 16)
	switch {
	case !ok || err != nil || version == 0:
		return fmt.Errorf("ledger table %s: its comment is %q, want %q: it was not made by xasink's DDL, or its comment "+
			"was changed; use another ledger database, or rename the table", l.table(name), t.comment,
			commentPrefix+strconv.Itoa(FormatVersion))
	case version > FormatVersion:
		return fmt.Errorf("ledger table %s has format %d, this version of xasink knows formats up to %d: use the newer "+
			"version of xasink: %w", l.table(name), version, FormatVersion, ErrNewer)
	case !strings.EqualFold(t.engine, "InnoDB"):
		return fmt.Errorf("ledger table %s has engine %q: it must be InnoDB, because a proof row has to be committed and "+
			"rolled back with its branch", l.table(name), t.engine)
	}
	return nil
}

// checkRights tries, on no rows, each statement that a sink sends to the ledger later, so that a missing right is told
// now and not in the middle of a branch.
func (l Ledger) checkRights(ctx context.Context, q xa.Queryer) error {
	jobs, branches := l.table(jobsTable), l.table(branchesTable)
	for _, probe := range []string{
		"INSERT INTO " + jobs + " (" + jobsFields + ") SELECT " + jobsFields + " FROM " + jobs + " WHERE FALSE",
		"UPDATE " + jobs + " SET `epoch` = `epoch` WHERE FALSE",
		"INSERT INTO " + branches + " (" + branchesFields + ") SELECT " + branchesFields + " FROM " + branches + " WHERE FALSE",
		"DELETE FROM " + branches + " WHERE FALSE",
	} {
		if _, err := q.ExecContext(ctx, probe); err != nil {
			return l.explain(ctx, q, "try the rights on the ledger", err)
		}
	}
	return nil
}
