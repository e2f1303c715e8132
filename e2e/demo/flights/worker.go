package flights

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/xasink/xasink/engine/filesource"
	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
)

// Event is what a worker tells, one JSON line each.
type Event struct {
	Opened   *Opening `json:",omitempty"`
	Rows     int64    `json:",omitempty"` // records read so far, of the whole file
	Finished bool     `json:",omitempty"`

	// Reached is told with Finished where the job asks for it: how often each point of package fault was reached.
	Reached map[string]int `json:",omitempty"`
}

// Opening is what the worker's sink found and settled when it was opened.
type Opening struct {
	Prepared   int // branches of the job that were prepared
	Committed  int
	RolledBack int
	Already    int // listed branches that were committed before
}

// work runs the job to the end of its file and writes events to out.
func work(ctx context.Context, j Job, out io.Writer) (err error) {
	tell := json.NewEncoder(out)
	faults, err := fault.Parse(j.Faults)
	if err != nil {
		return err
	}
	var recorder fault.Recorder
	if j.Record {
		faults = &recorder
	}
	store, err := state.OpenFile(j.State, j.Name, state.FileOptions{Faults: faults})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	input := filesource.Config{Path: j.Input, Faults: faults}
	sink, err := txnsink.Open(ctx, txnsink.Config{
		Job: j.Name, DSN: j.DSN, LedgerDatabase: j.Ledger, Store: store, Tables: j.tables(), Faults: faults,
		Start:              func(ctx context.Context) ([]byte, error) { return filesource.Start(ctx, input) },
		CheckpointInterval: time.Hour, // checkpoints are counted in Writes, so that a run can be repeated
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sink.Close()) }()

	source, err := filesource.Open(ctx, input, sink.Position())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	l := loop{job: j, sink: sink, source: source, tell: tell, totals: totals{}}
	if err := tell.Encode(Event{Opened: opening(sink.Recovered())}); err != nil {
		return err
	}
	if err := l.run(ctx); err != nil {
		return err
	}
	if err := sink.Finish(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	reached := map[string]int{}
	for _, p := range recorder.Reached() {
		reached[p.String()] = recorder.Count(p)
	}
	return tell.Encode(Event{Finished: true, Reached: reached})
}

func opening(r recovery.Report) *Opening {
	o := &Opening{Committed: r.Committed, RolledBack: r.RolledBack, Already: r.Already}
	for _, a := range r.Actions {
		if a.Evidence.Prepared && a.Kind != recovery.ActionUntouched {
			o.Prepared++
		}
	}
	return o
}

// loop is the worker between opening and end.
type loop struct {
	job    Job
	sink   *txnsink.Sink
	source *filesource.Reader
	tell   *json.Encoder
	totals totals
}

func (l *loop) run(ctx context.Context) error {
	for writes := 1; ; writes++ {
		records, err := l.source.Read(ctx, l.job.WriteRows)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		batch := l.sink.Batch()
		for _, r := range records {
			if err := l.add(batch, r); err != nil {
				return err
			}
		}
		l.totals.moveTo(batch)
		rows := records[len(records)-1].Number()
		if err := l.sink.Write(ctx, batch, l.source.Position()); err != nil {
			return err
		}
		if l.job.FlushWrites > 0 && writes%l.job.FlushWrites == 0 {
			if err := l.sink.Flush(ctx); err != nil {
				return err
			}
		}
		if writes%l.job.CheckpointWrites == 0 {
			if err := l.sink.Checkpoint(ctx); err != nil {
				return err
			}
		}
		if err := l.tell.Encode(Event{Rows: rows}); err != nil {
			return err
		}
	}
}

// The file's columns.
const (
	columnID = iota
	columnDepartedAt
	columnDelay
	columnDistance
	columnOrigin
	columnDestination
)

// add turns one record into a row of flights, and adds it to the totals.
func (l *loop) add(batch *txnsink.Batch, r filesource.Record) error {
	id, err := r.Int64(columnID)
	if err != nil {
		return err
	}
	at, err := r.Time(columnDepartedAt, departedAt, time.UTC)
	if err != nil {
		return err
	}
	delay, err := r.Int64(columnDelay)
	if err != nil {
		return err
	}
	distance, err := r.Int64(columnDistance)
	if err != nil {
		return err
	}
	origin, err := r.Text(columnOrigin)
	if err != nil {
		return err
	}
	destination, err := r.Text(columnDestination)
	if err != nil {
		return err
	}
	batch.Insert("flights").Int64(id).Time(at).Int64(delay).Int64(distance).String(origin).String(destination)
	l.totals.count(origin, destination, delay, distance)
	return nil
}

// WorkerMain is a worker's whole life: the job from stdin, events to stdout, an error to stderr. It returns the exit
// code: 0 when the file is in the tables, 1 otherwise.
func WorkerMain() int {
	var j Job
	err := json.NewDecoder(os.Stdin).Decode(&j)
	if err == nil {
		err = work(context.Background(), j, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	return 0
}
