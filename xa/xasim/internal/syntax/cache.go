package syntax

import "sync"

// Statements are never changed once they are parsed, and clients send the same ones over and over.
var known = cache{statements: map[string]parsed{}}

type parsed struct {
	statement Statement
	marks     int
}

// cache keeps what was parsed, all of it or, when their texts are mostKnown long together, none.
type cache struct {
	mu         sync.RWMutex
	statements map[string]parsed
	bytes      int
}

const (
	mostKnown    = 4 << 20
	longestKnown = 64 << 10
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
	if c.bytes += len(text); c.bytes > mostKnown {
		clear(c.statements)
		c.bytes = len(text)
	}
	c.statements[text] = s
}
