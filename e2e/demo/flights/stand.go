package flights

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/uuid"
)

// Stand is what a job needs around it: a database of its own with the two tables, a ledger of its own, a folder for its
// state. Nobody else on the server uses any of them.
type Stand struct {
	Job      Job     // runs when WriteRows, CheckpointWrites and SegmentRows are set
	DB       *sql.DB // an administrator's, with the job's database
	Database string
	Dir      string
}

// NewStand makes one on the server of an administrator's data source name. The job reads File. The caller must Clear it.
func NewStand(ctx context.Context, dsn, prefix string) (_ *Stand, err error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("data source name of the server: %w", err)
	}
	config.Logger = &mysql.NopLogger{}
	id := uuid.NewString()[:8]
	s := &Stand{Database: prefix + "_" + id}
	config.DBName = ""
	if err := once(ctx, config, "CREATE DATABASE "+s.Database+" CHARACTER SET utf8mb4"); err != nil {
		return nil, fmt.Errorf("make the job's database: %w", err)
	}
	config.DBName = s.Database
	if s.DB, err = open(config); err != nil {
		return nil, fmt.Errorf("open the job's database: %w", err)
	}
	if s.Dir, err = os.MkdirTemp("", "xasink-"); err == nil {
		err = CreateTables(ctx, s.DB)
	}
	s.Job = Job{
		Name: "flights-" + id, DSN: config.FormatDSN(), Ledger: s.Database + "_ledger",
		State: filepath.Join(s.Dir, "state"), Input: File(),
	}
	if err != nil {
		return nil, errors.Join(err, s.Clear())
	}
	return s, nil
}

// open keeps the driver from printing: that a server ends sessions is what happens here.
func open(config *mysql.Config) (*sql.DB, error) {
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// once runs one statement on a connection of its own.
func once(ctx context.Context, config *mysql.Config, statement string) error {
	db, err := open(config)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}

// Clear removes everything. Branches that the job has left are rolled back first: they would hold up the drop.
func (s *Stand) Clear() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	errs := []error{RollBack(ctx, s.DB, s.Job.Name)}
	for _, database := range []string{s.Database + "_ledger", s.Database} {
		if _, err := s.DB.ExecContext(ctx, "DROP DATABASE IF EXISTS `"+database+"`"); err != nil {
			errs = append(errs, fmt.Errorf("drop the database %s: %w", database, err))
		}
	}
	return errors.Join(append(errs, s.DB.Close(), os.RemoveAll(s.Dir))...)
}
