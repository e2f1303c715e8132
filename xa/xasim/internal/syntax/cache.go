package syntax

import "sync"

// Statements are never changed once they are parsed, and clients send the same ones over and over.
var known = cache{statements: map[string]parsed{}}

type parsed struct {
	statement Statement
	marks     int
}

// cache keeps what was parsed, all of it or, when there are mostKnown of them, none.
type cache struct {
	mu         sync.RWMutex
	statements map[string]parsed
}

const (
	mostKnown    = 4096
	longestKnown = 1024
)

func (c *cache) get(text string) (parsed, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s, ok := c.statements[text]
	return s, ok
}

func (c *cache) put(text string, s parsed) {
	if len(text) > longestKnown {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.statements) == mostKnown {
		clear(c.statements)
	}
	c.statements[text] = s
}
