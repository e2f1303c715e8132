package flights

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// workerVariable marks a process as a worker.
const workerVariable = "XASINK_FLIGHTS_WORKER"

// IsWorker tells whether this process was started by Launch.
func IsWorker() bool { return os.Getenv(workerVariable) != "" }

// End is how a worker ended.
type End struct {
	Killed   bool // by SIGKILL
	Code     int  // its exit code, where it was not killed
	Opening  *Opening
	Rows     int64 // the last record that it told to be written
	Finished bool
	Reached  map[string]int // see Event
	Message  string         // what it wrote to stderr
}

// Launch runs this program again as a worker for j and waits until it has ended. told may be nil; it is called for each
// event. The error says that the worker could not be run or understood; how it ended is in End. When ctx ends, the
// worker is killed, and the error is ctx's cause.
func Launch(ctx context.Context, j Job, told func(Event)) (End, error) {
	var end End
	self, err := os.Executable()
	if err != nil {
		return end, fmt.Errorf("find this program: %w", err)
	}
	order, err := json.Marshal(j)
	if err != nil {
		return end, fmt.Errorf("worker's job: %w", err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), workerVariable+"=1")
	cmd.Stdin = bytes.NewReader(order)
	var message bytes.Buffer
	cmd.Stderr = &message
	out, err := cmd.StdoutPipe()
	if err != nil {
		return end, fmt.Errorf("worker's output: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return end, fmt.Errorf("start a worker: %w", err)
	}
	badLine := end.read(bufio.NewScanner(out), told)
	err = cmd.Wait()
	end.Message = strings.TrimSpace(message.String())
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return end, context.Cause(ctx)
	case badLine != nil:
		return end, badLine
	case err == nil:
		return end, nil
	case !errors.As(err, &exit):
		return end, fmt.Errorf("wait for the worker: %w", err)
	}
	end.Code = exit.ExitCode()
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		end.Killed = status.Signal() == syscall.SIGKILL
	}
	return end, nil
}

// read takes in the worker's events until it closes its output. A line that the worker's death cut off is no event.
func (e *End) read(lines *bufio.Scanner, told func(Event)) error {
	for lines.Scan() {
		var event Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			if !lines.Scan() {
				return nil
			}
			return fmt.Errorf("the worker told %q: %w", lines.Text(), err)
		}
		switch {
		case event.Opened != nil:
			e.Opening = event.Opened
		case event.Finished:
			e.Finished, e.Reached = true, event.Reached
		default:
			e.Rows = event.Rows
		}
		if told != nil {
			told(event)
		}
	}
	return nil
}
