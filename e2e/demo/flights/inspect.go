package flights

import (
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Result compares tables with the file that they come from.
type Result struct {
	Source  int // records of the file
	Target  int // rows in the table of flights
	Right   int // records that are there once, with every value
	Missing int // records that are not there, or with another value
	Doubled int // rows too many of a record
	Alien   int // rows that are no record of the file

	SourceSums Sums
	TargetSums Sums
	Totals     int // airports whose totals are not the file's, or that the file does not know
	Airports   int // of the file

	Left []string // branches of the job that are still prepared, as XA RECOVER has them
}

// Sums are of all airports together.
type Sums struct{ Departures, Arrivals, Delay, Distance int64 }

// Exact tells whether everything is as it should be.
func (r Result) Exact() bool {
	return r.Right == r.Source && r.Target == r.Source && r.Missing == 0 && r.Doubled == 0 && r.Alien == 0 && r.Totals == 0 &&
		r.SourceSums == r.TargetSums && len(r.Left) == 0
}

// Inspect reads the job's file with the standard library's CSV reader, its tables and XA RECOVER, and compares them.
func Inspect(ctx context.Context, db *sql.DB, job, input string) (Result, error) {
	var r Result
	records, want, err := readFile(input)
	if err != nil {
		return r, err
	}
	r.Source, r.Airports = len(records), len(want)
	for _, one := range want {
		r.SourceSums.add(one)
	}
	if err := r.compareRows(ctx, db, records); err != nil {
		return r, fmt.Errorf("read the table of flights: %w", err)
	}
	if err := r.compareTotals(ctx, db, want); err != nil {
		return r, fmt.Errorf("read the totals: %w", err)
	}
	if r.Left, err = prepared(ctx, db, job); err != nil {
		return r, fmt.Errorf("look for prepared branches: %w", err)
	}
	return r, nil
}

func (s *Sums) add(t total) {
	s.Departures += t.departures
	s.Arrivals += t.arrivals
	s.Delay += t.delay
	s.Distance += t.distance
}

// readFile gives the file's records as the text of a row, by id, and the totals that they add up to.
func readFile(path string) (_ map[string]string, _ totals, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var content io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		content = z
	}
	all, err := csv.NewReader(content).ReadAll()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	rows, sums := map[string]string{}, totals{}
	for _, rec := range all[1:] {
		at, err := time.Parse(departedAt, rec[1])
		if err != nil {
			return nil, nil, fmt.Errorf("%s: record %s: %w", path, rec[0], err)
		}
		delay, err1 := strconv.ParseInt(rec[2], 10, 64)
		distance, err2 := strconv.ParseInt(rec[3], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, nil, fmt.Errorf("%s: record %s: %w", path, rec[0], err)
		}
		rec[1] = at.Format(time.DateTime)
		if _, twice := rows[rec[0]]; twice {
			return nil, nil, fmt.Errorf("%s: record %s is there twice", path, rec[0])
		}
		rows[rec[0]] = strings.Join(rec[1:], " ")
		sums.count(rec[4], rec[5], delay, distance)
	}
	return rows, sums, nil
}

func (r *Result) compareRows(ctx context.Context, db *sql.DB, records map[string]string) (err error) {
	rows, err := db.QueryContext(ctx, "SELECT CAST(id AS CHAR), CONCAT_WS(' ', DATE_FORMAT(departed_at, '%Y-%m-%d %H:%i:%s'), "+
		"delay_min, distance_mi, origin, destination) FROM flights")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	seen := map[string]int{}
	for rows.Next() {
		var id, values string
		if err := rows.Scan(&id, &values); err != nil {
			return err
		}
		r.Target++
		want, known := records[id]
		switch {
		case !known || want != values:
			r.Alien++
		default:
			seen[id]++
		}
	}
	for id := range records {
		switch n := seen[id]; n {
		case 0:
			r.Missing++
		case 1:
			r.Right++
		default:
			r.Doubled += n - 1
		}
	}
	return rows.Err()
}

func (r *Result) compareTotals(ctx context.Context, db *sql.DB, want totals) (err error) {
	rows, err := db.QueryContext(ctx, "SELECT airport, departures, arrivals, delay_min, distance_mi FROM airport_totals")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	right := 0
	for rows.Next() {
		var airport string
		var t total
		if err := rows.Scan(&airport, &t.departures, &t.arrivals, &t.delay, &t.distance); err != nil {
			return err
		}
		r.TargetSums.add(t)
		if known, ok := want[airport]; ok && known == t {
			right++
			continue
		}
		if _, ok := want[airport]; !ok {
			r.Totals++
		}
	}
	r.Totals += len(want) - right
	return rows.Err()
}

// prepared are the prepared branches of a job, found by their bytes alone.
func prepared(ctx context.Context, db *sql.DB, job string) (left []string, err error) {
	rows, err := db.QueryContext(ctx, "XA RECOVER")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var format, gtrid, bqual int64
		var data string
		if err := rows.Scan(&format, &gtrid, &bqual, &data); err != nil {
			return nil, err
		}
		if len(data) == 128 && strings.TrimRight(data[:gtrid], "=") == "xasink1:"+job {
			left = append(left, data)
		}
	}
	return left, rows.Err()
}

// detachWait is how long a branch is left alone after its session has ended: MariaDB can answer OK to a rollback that
// comes earlier, roll nothing back, and hold the branch's locks until it restarts (server-facts.md, 0.3 and 1b).
const detachWait = 1200 * time.Millisecond

// RollBack rolls back every prepared branch of a job, whose sessions have ended, for who clears up after it. It is tried
// until ctx ends.
func RollBack(ctx context.Context, db *sql.DB, job string) error {
	for {
		left, err := prepared(ctx, db, job)
		if err != nil || len(left) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("roll back what is left of job %s: %w", job, context.Cause(ctx))
		case <-time.After(detachWait):
		}
		for _, data := range left {
			var answer *mysql.MySQLError
			_, err := db.ExecContext(ctx, fmt.Sprintf("XA ROLLBACK X'%x',X'%x',2147483647", data[:64], data[64:]))
			if err != nil && !errors.As(err, &answer) {
				return fmt.Errorf("roll back what is left of job %s: %w", job, err)
			}
		}
	}
}
