package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// screen writes a line for everything that is final, and on a terminal, below them, what is being done.
type screen struct {
	to       *os.File
	terminal bool
	total    int

	mu      sync.Mutex
	done    int
	current []string
	width   int // of the line that is shown now
}

func newScreen(to *os.File) *screen {
	info, err := to.Stat()
	return &screen{to: to, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// line writes a final line.
func (s *screen) line(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	fmt.Fprintf(s.to, format+"\n", args...)
	s.redraw()
}

// show tells what is being done, on a terminal.
func (s *screen) show(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = append(s.current, what)
	s.clear()
	s.redraw()
}

// hide ends what show told.
func (s *screen) hide(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(what)
}

func (s *screen) begin(m mutant) { s.show(m.String()) }

// finish writes what became of m.
func (s *screen) finish(m mutant, v verdict, err error, took time.Duration, verbose bool) {
	s.hide(m.String())
	s.mu.Lock()
	s.done++
	s.mu.Unlock()
	detail := ""
	if verbose || v.outcome == unbuilt {
		detail = "\n" + strings.TrimRight(v.detail, "\n")
	}
	switch {
	case err != nil:
		s.line("NOT TESTED  %s: %v", m, err)
	case v.outcome == unbuilt:
		s.line("NOT COMPILED  %s (%s:%d)%s", m, listPath, m.line, detail)
	case v.outcome == hung:
		s.line("caught after %s by a hang of %s, which was ended: %s%s", round(took), v.by, m, detail)
	case v.outcome == failed:
		s.line("caught after %s by %s: %s%s", round(took), v.by, m, detail)
	default:
		s.line("SURVIVED all tests, %s  %s (%s, %s:%d)", round(took), m, m.file, listPath, m.line)
	}
}

func (s *screen) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.current = nil
}

// The methods below are called with the lock held.

func (s *screen) forget(what string) {
	for i, c := range s.current {
		if c == what {
			s.current = append(s.current[:i], s.current[i+1:]...)
			return
		}
	}
}

func (s *screen) clear() {
	if s.terminal && s.width > 0 {
		fmt.Fprintf(s.to, "\r%s\r", strings.Repeat(" ", s.width))
		s.width = 0
	}
}

func (s *screen) redraw() {
	if !s.terminal || len(s.current) == 0 {
		return
	}
	const room = 110
	text := []rune(strings.Join(s.current, " | "))
	if s.total > 0 {
		text = []rune(fmt.Sprintf("%d of %d done; %s", s.done, s.total, string(text)))
	}
	if len(text) > room {
		text = append(text[:room-1], '…')
	}
	s.width = len(text)
	fmt.Fprint(s.to, string(text))
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
