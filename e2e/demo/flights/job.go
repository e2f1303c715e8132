package flights

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/xasink/xasink/txnsink"
)

// Job says what one worker does. It is handed to the worker's process as JSON.
type Job struct {
	Name   string // of the job
	DSN    string // with the database that holds the tables
	Ledger string // the ledger's database
	State  string // path of the state file
	Input  string // path of the CSV file, plain or gzip

	WriteRows        int   // records a Write
	CheckpointWrites int   // a checkpoint after so many Writes
	SegmentRows      int64 // MaxSegmentRows of the table of flights
	FlushWrites      int   // a flush after so many Writes; 0: none

	Faults string // a script of package fault, "" for none
	Record bool   // count how often each point is reached, and tell it at the end
}

// Tables of the job's database.
const (
	flightsDDL = "CREATE TABLE flights (" +
		"row_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, id INT NOT NULL, departed_at DATETIME NOT NULL, " +
		"delay_min INT NOT NULL, distance_mi INT NOT NULL, origin CHAR(3) NOT NULL, destination CHAR(3) NOT NULL)"
	totalsDDL = "CREATE TABLE airport_totals (" +
		"airport CHAR(3) NOT NULL PRIMARY KEY, departures BIGINT NOT NULL, arrivals BIGINT NOT NULL, " +
		"delay_min BIGINT NOT NULL, distance_mi BIGINT NOT NULL)"
)

// CreateTables makes the job's tables in db's database. They must not be there.
func CreateTables(ctx context.Context, db *sql.DB) error {
	for _, ddl := range []string{flightsDDL, totalsDDL} {
		if _, err := db.ExecContext(ctx, ddl); err != nil {
			return fmt.Errorf("make the tables of the flights: %w", err)
		}
	}
	return nil
}

// tables declares them to the sink.
func (j Job) tables() []txnsink.Table {
	return []txnsink.Table{
		{
			Name:           "flights",
			Columns:        []string{"id", "departed_at", "delay_min", "distance_mi", "origin", "destination"},
			MaxSegmentRows: j.SegmentRows,
		},
		{
			Name:       "airport_totals",
			Operations: txnsink.Upsert,
			Add:        []string{"departures", "arrivals", "delay_min", "distance_mi"},
		},
	}
}

// departedAt is the layout of the file's times.
const departedAt = "2006/01/02 15:04"

// File is the path of the 20,000 flights, as of the place where this program was built.
func File() string {
	_, source, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(source), "..", "..", "..", "testdata", "flights", "flights-20k.csv.gz")
}
