package filesource

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// chunk is how much is read at once, at least.
const chunk = 64 << 10

// stream is the uncompressed content of a file, read ahead into a buffer. buf[head:] is what is still to be consumed;
// buf[0] stands at offset start.
type stream struct {
	path   string
	file   *os.File
	source io.Reader
	gzip   bool

	buf   []byte
	head  int
	start int64
	final bool  // no bytes follow buf
	err   error // why no bytes can follow buf, though the content goes on
}

func openStream(path string) (*stream, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the file to read cannot be opened: %w", err)
	}
	s := &stream{path: path, file: file, source: file}
	if err := s.detect(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s, nil
}

// detect refuses what has no positions, and looks for gzip's magic bytes.
func (s *stream) detect() error {
	info, err := s.file.Stat()
	if err != nil {
		return fmt.Errorf("the file to read cannot be looked at: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file: a position in it could not be found again; copy it into a file first", s.path)
	}
	var magic [2]byte
	n, err := io.ReadFull(s.file, magic[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return &ReadError{File: s.path, Err: err}
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return &ReadError{File: s.path, Err: err}
	}
	if n < len(magic) || magic != [2]byte{0x1f, 0x8b} {
		return nil
	}
	z, err := gzip.NewReader(bufio.NewReaderSize(s.file, chunk))
	if err != nil {
		return &ReadError{File: s.path, Err: fmt.Errorf("gzip: %w", unexpected(err))}
	}
	s.source, s.gzip = z, true
	return nil
}

// unexpected is err, where it must not be taken for the end of the file.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// offset of the next byte to be consumed.
func (s *stream) offset() int64 { return s.start + int64(s.head) }

// ahead is the number of bytes that are buffered and not consumed.
func (s *stream) ahead() int { return len(s.buf) - s.head }

// jump goes to an offset of a plain file.
func (s *stream) jump(offset int64) error {
	if _, err := s.file.Seek(offset, io.SeekStart); err != nil {
		return &ReadError{File: s.path, Offset: offset, Err: err}
	}
	s.buf, s.head, s.start, s.final, s.err = s.buf[:0], 0, offset, false, nil
	return nil
}

// forget gives the room of consumed bytes back, where there is enough of it to be worth the copy. Indexes into buf are
// void after it.
func (s *stream) forget() {
	if s.head < chunk && s.head < len(s.buf) {
		return
	}
	s.start += int64(s.head)
	s.buf = s.buf[:copy(s.buf, s.buf[s.head:])]
	s.head = 0
}

// fill reads on: at least as much again as is buffered, or up to the end of the content, which it notes in final. Indexes
// into buf stay right. A file that cannot be read on gives the bytes before the damage first, and a *ReadError at the
// next call. An ended ctx is that context's error and harms nothing.
func (s *stream) fill(ctx context.Context) error {
	if err := s.stopped(ctx); err != nil {
		return err
	}
	if s.err != nil {
		return s.err
	}
	want := len(s.buf) + max(chunk, s.ahead())
	s.buf = slices.Grow(s.buf, want-len(s.buf))
	for len(s.buf) < want {
		n, err := s.source.Read(s.buf[len(s.buf):want])
		s.buf = s.buf[:len(s.buf)+n]
		if err == io.EOF { //nolint:errorlint // only the bare value is the end; a wrapped one is some reader's trouble
			s.final = true
			return nil
		}
		if err != nil {
			if s.gzip {
				err = fmt.Errorf("the gzip stream is damaged or cut off: %w", err)
			}
			s.err = &ReadError{File: s.path, Offset: s.start + int64(len(s.buf)), Err: err}
			return nil
		}
	}
	return nil
}

// stopped is the cause of an ended ctx.
func (s *stream) stopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%s: reading was stopped: %w", s.path, context.Cause(ctx))
}

func (s *stream) close() error {
	if err := s.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("the file that was read cannot be closed: %w", err)
	}
	return nil
}
