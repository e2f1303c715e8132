package filesource

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/xasink/xasink/fault"
)

// DefaultMaxLine is what Config.MaxLine is when it is 0.
const DefaultMaxLine = 1 << 20

// Config says which file to read and how.
type Config struct {
	// Path of a regular file, plain or gzip. Its last element is part of positions: a job goes on with a file of the same
	// name only, in whatever folder.
	Path string
	// Comma separates fields: one ASCII character but a quote, CR, LF or NUL. 0 is ','.
	Comma rune
	// MaxLine bounds one record in bytes, quotes and line ends included; a longer one is an error. 0 is DefaultMaxLine. A
	// reader takes about 16 MiB and 4 × MaxLine of memory at most, whatever the file.
	MaxLine int
	// Faults acts before and after each Read (fault.SourceRead); nil for none.
	Faults fault.Injector
}

// withDefaults is c with zero values filled in, checked.
func (c Config) withDefaults() (Config, error) {
	if c.Path == "" {
		return c, errors.New("no path of a file to read is given")
	}
	if base := filepath.Base(c.Path); len(base) > maxBase {
		return c, fmt.Errorf("%s: the file's name has %d bytes and positions hold %d: give it a shorter name", c.Path, len(base), maxBase)
	}
	if c.Comma == 0 {
		c.Comma = ','
	}
	if c.Comma < 0 || c.Comma > 127 || c.Comma == '"' || c.Comma == '\r' || c.Comma == '\n' {
		return c, fmt.Errorf("%s: fields cannot be separated by %q: want one ASCII character but a quote or a line end", c.Path, c.Comma)
	}
	switch {
	case c.MaxLine < 0:
		return c, fmt.Errorf("%s: MaxLine is %d: want the longest record in bytes, or 0 for %d", c.Path, c.MaxLine, DefaultMaxLine)
	case c.MaxLine == 0:
		c.MaxLine = DefaultMaxLine
	}
	return c, nil
}

// Start gives the position of the file's first record: what a job that has no position yet begins with. It reads the
// header. ctx bounds the call.
func Start(ctx context.Context, c Config) ([]byte, error) {
	r, err := Open(ctx, c, nil)
	if err != nil {
		return nil, err
	}
	position := r.Position()
	return position, r.Close()
}

// Open opens the file and goes to position, which Start or Reader.Position gave; an empty one is the first record. ctx
// bounds the call, not the reader's life.
//
// Before it answers, Open proves that the position fits: same file name, same header, and the same bytes before the
// position: the last 64 KiB of them at least in a plain file, all of them in a gzip file, which has to be decompressed
// up to there. If anything differs, or the file ends before the position, it fails with a *PositionError. What stands
// after the position may have changed or grown.
//
// Other errors: a *LineError for an unusable header, a *ReadError, and those of the file system.
func Open(ctx context.Context, c Config, position []byte) (*Reader, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	r, err := open(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(position) > 0 {
		if err := r.seek(ctx, position); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	return r, nil
}
