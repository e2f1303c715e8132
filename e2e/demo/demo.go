package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/xasink/xasink/e2e/demo/flights"
	"github.com/xasink/xasink/e2e/servers"
)

// Options of a demo.
type Options struct {
	Flavour servers.Flavour
	Keep    bool // leave server, tables and state file, and tell how to look
	Out     io.Writer
	// Terminal draws a progress bar on Out instead of printing a line now and then.
	Terminal bool
}

// life is what became of one stage.
type life struct {
	stage stage
	end   flights.End
}

// Run shows everything and prints it; its last line is the verdict. It returns nil only if that is "exactly once" and
// every kill happened where it should. ctx ends it early; what it made is cleared away then, too.
func Run(ctx context.Context, o Options) (err error) {
	began := time.Now()
	show := newScreen(o.Out, o.Terminal)
	server, err := servers.Start(ctx, o.Flavour, servers.Options{Keep: o.Keep, Log: show})
	if err != nil {
		return err
	}
	show.line("server: ready at %s after %s", server.Addr(), time.Since(began).Round(100*time.Millisecond))
	stand, err := flights.NewStand(ctx, server.DSN(), "xasink_demo")
	if err != nil {
		return errors.Join(err, server.Close())
	}
	kept := false
	defer func() {
		if !kept {
			err = errors.Join(err, stand.Clear(), server.Close())
		}
	}()

	lives, err := liveAndDie(ctx, stand.Job, planFor(o.Flavour), show)
	if err != nil {
		return err
	}
	result, err := flights.Inspect(ctx, stand.DB, stand.Job.Name, stand.Job.Input)
	if err != nil {
		return err
	}
	report(o.Out, lives, result)
	if o.Keep {
		kept = true
		tellHowToLook(o.Out, server, stand)
		err = stand.DB.Close()
	}
	fmt.Fprintf(o.Out, "\ntook %s\n%s\n", time.Since(began).Round(100*time.Millisecond), verdict(result))
	if !result.Exact() {
		return errors.Join(errors.New("the tables are not what the file is"), err)
	}
	return err
}

// liveAndDie runs the worker through all stages of a plan, and fails where one does not end as it should.
func liveAndDie(ctx context.Context, job flights.Job, p plan, show *screen) ([]life, error) {
	job.WriteRows, job.CheckpointWrites, job.SegmentRows = p.writeRows, p.checkpointWrites, p.segmentRows
	var lives []life
	for i, stage := range p.stages {
		job.Faults = stage.faults
		end, err := flights.Launch(ctx, job, func(e flights.Event) {
			if e.Rows > 0 {
				show.progress(e.Rows, rowsOfFile)
			}
		})
		if err != nil {
			return nil, err
		}
		if end.Opening == nil {
			return nil, fmt.Errorf("the worker's start %d did not open its sink (exit code %d): %s", i+1, end.Code, end.Message)
		}
		if i > 0 {
			before := p.stages[i-1]
			if err := before.recovers(*end.Opening); err != nil {
				return nil, fmt.Errorf("the start after a kill %s (%s) found %+v: %w", before.moment, before.faults, *end.Opening, err)
			}
		}
		switch {
		case stage.faults != "" && !end.Killed:
			return nil, fmt.Errorf("the worker was to be killed %s (%s) and ended with code %d: %s", stage.moment, stage.faults, end.Code, end.Message)
		case stage.faults == "" && !end.Finished:
			return nil, fmt.Errorf("the worker did not finish (exit code %d): %s", end.Code, end.Message)
		case stage.faults != "":
			show.line("worker: killed with SIGKILL %s, at %d rows written", stage.moment, end.Rows)
		default:
			show.line("worker: finished, %d rows read", end.Rows)
		}
		lives = append(lives, life{stage: stage, end: end})
	}
	return lives, nil
}
