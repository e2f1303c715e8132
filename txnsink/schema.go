package txnsink

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xasink/xasink/xa"
)

// session is what matters of a session's settings.
type session struct {
	database  string // "" if none
	modes     []string
	charset   string
	foldNames bool // names of tables are compared without regard to case
}

func (s session) has(mode string) bool { return slices.Contains(s.modes, mode) }

func readSession(ctx context.Context, q xa.Queryer) (session, error) {
	var s session
	var database sql.NullString
	var modes string
	err := read(ctx, q, "SELECT DATABASE(), @@sql_mode, @@character_set_client, @@lower_case_table_names<>0", nil, func(r *sql.Rows) error {
		return r.Scan(&database, &modes, &s.charset, &s.foldNames)
	})
	if err != nil {
		return s, fmt.Errorf("read the session's settings: %w", err)
	}
	s.database, s.modes = database.String, strings.Split(modes, ",")
	return s, nil
}

// tableInfo is a line of information_schema.TABLES.
type tableInfo struct{ database, name, kind, engine, comment string }

// readTable is nil for a table that is not there, or that this user may not see.
func readTable(ctx context.Context, q xa.Queryer, database, name string) (*tableInfo, error) {
	var found *tableInfo
	err := read(ctx, q, "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, COALESCE(ENGINE, ''),"+
		" COALESCE(TABLE_COMMENT, '') FROM information_schema.TABLES"+
		" WHERE TABLE_SCHEMA=? AND TABLE_NAME=?", []any{database, name}, func(r *sql.Rows) error {
		var t tableInfo
		if err := r.Scan(&t.database, &t.name, &t.kind, &t.engine, &t.comment); err != nil {
			return err
		}
		if found == nil || t.kind == "TEMPORARY" { // which hides a permanent one of the same name
			found = &t
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for table %s.%s: %w", database, name, err)
	}
	return found, nil
}

// tableColumn is a column with what matters only while the table is loaded.
type tableColumn struct {
	column
	hasDefault, generated, invisible bool
}

// readColumns is every column that this user may see, in the table's order.
func readColumns(ctx context.Context, q xa.Queryer, t *table) ([]tableColumn, error) {
	var all []tableColumn
	err := read(ctx, q, "SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, IS_NULLABLE='YES', COLUMN_DEFAULT IS NOT NULL, EXTRA,"+
		" COALESCE(GENERATION_EXPRESSION, '')<>'', COALESCE(NUMERIC_PRECISION, 0), COALESCE(NUMERIC_SCALE, 0),"+
		" COALESCE(DATETIME_PRECISION, 0), COALESCE(CHARACTER_MAXIMUM_LENGTH, 0), COALESCE(CHARACTER_OCTET_LENGTH, 0),"+
		" COALESCE(CHARACTER_SET_NAME, '')"+
		" FROM information_schema.COLUMNS WHERE TABLE_SCHEMA=? AND TABLE_NAME=? ORDER BY ORDINAL_POSITION",
		[]any{t.database, t.base}, func(r *sql.Rows) error {
			var c tableColumn
			var dataType, extra, charset string
			var expression bool
			var digits, scale, fraction, chars, octets int64
			if err := r.Scan(&c.name, &dataType, &c.typ, &c.nullable, &c.hasDefault, &extra, &expression, &digits, &scale, &fraction, &chars, &octets, &charset); err != nil {
				return err
			}
			dataType, extra = strings.ToLower(dataType), strings.ToUpper(extra)
			c.quoted = quoteName(c.name)
			c.class = classes[dataType]
			c.auto = strings.Contains(extra, "AUTO_INCREMENT")
			c.invisible = strings.Contains(extra, "INVISIBLE")
			c.generated = expression || strings.Contains(extra, "VIRTUAL GENERATED") || strings.Contains(extra, "STORED GENERATED")
			c.hasDefault = c.hasDefault || strings.Contains(extra, "DEFAULT_GENERATED")
			c.single, c.fixed = dataType == "float", dataType == "char"
			switch c.class {
			case classDecimal:
				c.precision, c.scale = int(digits), int(scale)
			case classDateTime, classTimestamp, classTime:
				c.precision = int(fraction)
			case classEnum:
				c.members = parseMembers(c.typ)
			default:
			}
			switch {
			case dataType == "binary":
				c.length = int(octets)
			case dataType == "varchar":
				c.chars = int(chars)
			case c.class == classText && strings.HasSuffix(dataType, "text") && strings.HasPrefix(charset, "utf8"):
				c.octets = int(octets)
			}
			all = append(all, c)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read the columns of table %s: %w", t.name, err)
	}
	return all, nil
}

// uniqueIndex is a unique key with its parts in order.
type uniqueIndex struct {
	name  string
	parts []indexPart
}

type indexPart struct {
	column string // "" for an expression
	prefix bool   // only the beginning of the column
}

func readUniqueKeys(ctx context.Context, q xa.Queryer, t *table) ([]uniqueIndex, error) {
	var indexes []uniqueIndex
	err := read(ctx, q, "SELECT INDEX_NAME, COALESCE(COLUMN_NAME, ''), SUB_PART IS NOT NULL FROM information_schema.STATISTICS"+
		" WHERE TABLE_SCHEMA=? AND TABLE_NAME=? AND NON_UNIQUE=0 ORDER BY INDEX_NAME='PRIMARY' DESC, INDEX_NAME, SEQ_IN_INDEX",
		[]any{t.database, t.base}, func(r *sql.Rows) error {
			var name string
			var part indexPart
			if err := r.Scan(&name, &part.column, &part.prefix); err != nil {
				return err
			}
			if n := len(indexes); n == 0 || indexes[n-1].name != name {
				indexes = append(indexes, uniqueIndex{name: name})
			}
			last := &indexes[len(indexes)-1]
			last.parts = append(last.parts, part)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read the unique keys of table %s: %w", t.name, err)
	}
	return indexes, nil
}

// trigger is a trigger with the table that it is on. body is in small letters, "" where this user may not see it.
type trigger struct{ table, body string }

// readTriggers is every trigger that this user may see, which takes the TRIGGER privilege, of all databases; MariaDB
// shows the others without their bodies. One that is not seen costs a lock wait when it makes two branches of the sink meet; rows stay exact.
func readTriggers(ctx context.Context, q xa.Queryer) ([]trigger, error) {
	var found []trigger
	err := read(ctx, q, "SELECT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, COALESCE(ACTION_STATEMENT, '') FROM information_schema.TRIGGERS"+
		" ORDER BY 1, 2, TRIGGER_NAME", nil, func(r *sql.Rows) error {
		var database, table, body string
		if err := r.Scan(&database, &table, &body); err != nil {
			return err
		}
		found = append(found, trigger{table: database + "." + table, body: strings.ToLower(body)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read triggers: %w", err)
	}
	return found, nil
}

// tiesOf are the ties that triggers make: each to every table of names (database.table) whose own name its body holds,
// and to all of them where it calls a procedure or its body is not seen. A name too many costs nothing but a lane.
func tiesOf(triggers []trigger, names []string) []edge {
	var ties []edge
	for _, t := range triggers {
		unknown := t.body == "" || strings.Contains(t.body, "call ")
		for _, name := range names {
			_, base, _ := strings.Cut(name, ".")
			if name != t.table && (unknown || strings.Contains(t.body, strings.ToLower(base))) {
				ties = append(ties, edge{child: t.table, parent: name})
			}
		}
	}
	return ties
}

// readForeignKeys is every foreign key that this user may see, of all databases. MariaDB hides the parent's name from a
// user without rights on the parent: such a key ties no two tables of one sink, and parent is then empty behind the dot.
func readForeignKeys(ctx context.Context, q xa.Queryer) ([]edge, error) {
	var edges []edge
	err := read(ctx, q, "SELECT CONSTRAINT_SCHEMA, TABLE_NAME, UNIQUE_CONSTRAINT_SCHEMA, COALESCE(REFERENCED_TABLE_NAME, '')"+
		" FROM information_schema.REFERENTIAL_CONSTRAINTS ORDER BY 1, 2, 3, 4", nil, func(r *sql.Rows) error {
		var childDatabase, child, parentDatabase, parent string
		if err := r.Scan(&childDatabase, &child, &parentDatabase, &parent); err != nil {
			return err
		}
		edges = append(edges, edge{child: childDatabase + "." + child, parent: parentDatabase + "." + parent})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read foreign keys: %w", err)
	}
	return edges, nil
}

// readTimeout bounds one reading of the server's catalog. A catalog of very many tables takes seconds.
const readTimeout = time.Minute

// read calls row for each row of a query.
func read(ctx context.Context, q xa.Queryer, query string, args []any, row func(*sql.Rows) error) (err error) {
	within, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := readWithin(within, q, query, args, row); err != nil {
		if within.Err() != nil && ctx.Err() == nil {
			return fmt.Errorf("the server gave no answer within %s; check that it runs and is reachable, then open again: %w", readTimeout, err)
		}
		return err
	}
	return nil
}

func readWithin(ctx context.Context, q xa.Queryer, query string, args []any, row func(*sql.Rows) error) (err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func columnNamed(all []tableColumn, name string) *tableColumn {
	for i := range all {
		if strings.EqualFold(all[i].name, name) {
			return &all[i]
		}
	}
	return nil
}

func tableColumnNames(all []tableColumn) string {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.name
	}
	return strings.Join(names, ", ")
}
