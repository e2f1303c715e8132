package demo

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
)

// rowsOfFile is how many flights the file has; a bar needs an end.
const rowsOfFile = 20_000

const (
	barWidth  = 40
	plainStep = 4000 // rows between two lines of progress in a pipe
)

// screen prints lines, and a bar below them on a terminal. It is a Writer for the lines of others.
type screen struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	bar      string
	told     int64 // rows of the last plain line of progress
	part     []byte
}

func newScreen(out io.Writer, terminal bool) *screen { return &screen{out: out, terminal: terminal} }

// line prints one line above the bar.
func (s *screen) line(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.print(fmt.Sprintf(format, args...))
}

func (s *screen) print(text string) {
	if s.bar != "" {
		fmt.Fprint(s.out, "\r", strings.Repeat(" ", len(s.bar)), "\r")
		s.bar = ""
	}
	fmt.Fprintln(s.out, text)
}

// Write prints whole lines as they come.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part = append(s.part, p...)
	for {
		text, rest, ok := bytes.Cut(s.part, []byte{'\n'})
		if !ok {
			return len(p), nil
		}
		s.print(string(text))
		s.part = rest
	}
}

// progress shows that rows of all are written. They may be fewer than before: a worker that was killed begins again at
// its last checkpoint.
func (s *screen) progress(rows, all int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.terminal {
		if step := rows / plainStep * plainStep; step != s.told && step > 0 {
			s.told = step
			s.print(fmt.Sprintf("worker: %d of %d rows written", rows, all))
		}
		return
	}
	full := int(min(rows, all) * barWidth / all)
	s.bar = fmt.Sprintf("[%s%s] %5d of %d rows", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), rows, all)
	fmt.Fprint(s.out, "\r", s.bar)
}
