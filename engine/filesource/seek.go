package filesource

import (
	"context"
	"fmt"
	"hash/crc32"
	"path/filepath"
)

// seek goes from the header to position, if the file is the one that it was taken from.
func (r *Reader) seek(ctx context.Context, position []byte) error {
	p, err := decodePlace(position)
	if err != nil {
		return r.misfit("%v", err)
	}
	base := filepath.Base(r.config.Path)
	switch {
	case p.base != base:
		return r.misfit("it is one in a file named %q", p.base)
	case p.header != r.header:
		return r.misfit("the header is another, or was split by another comma: now it names %q, split by %q", r.names, r.config.Comma)
	case p.offset < r.headerEnd:
		return r.misfit("it lies at byte %d, inside the header", p.offset)
	}
	last, err := r.prove(ctx, p)
	if err != nil {
		return err
	}
	r.at.line, r.at.record = p.line, p.record
	return r.endLine(ctx, last)
}

func (r *Reader) misfit(format string, args ...any) error {
	return &PositionError{File: r.config.Path, Reason: fmt.Sprintf(format, args...)}
}

// prove goes to p's offset and compares the bytes before it with p's checksum. It gives the last of them.
func (r *Reader) prove(ctx context.Context, p place) (last byte, err error) {
	s := r.stream
	if s.gzip {
		s.head = 0
	} else if err := s.jump(p.from); err != nil {
		return 0, err
	}
	d := digestAt(s.offset(), s.gzip)
	sum := uint32(0)
	for s.offset() < p.offset {
		if s.ahead() == 0 && !s.final {
			s.forget()
			if err := s.fill(ctx); err != nil {
				return 0, err
			}
		}
		n := int(min(int64(s.ahead()), p.offset-s.offset()))
		if n == 0 {
			return 0, r.misfit("it lies at byte %d of the content (line %d), and the file ends at byte %d", p.offset, p.line, s.offset())
		}
		b := s.buf[s.head : s.head+n]
		d.add(b)
		if skip := p.from - s.offset(); skip < int64(n) {
			sum = crc32.Update(sum, castagnoli, b[max(skip, 0):])
		}
		last = b[n-1]
		s.head += n
	}
	if sum != p.sum {
		return 0, r.misfit("the content before it (bytes %d to %d, up to line %d) was changed", p.from, p.offset, p.line)
	}
	r.at.digest = d
	return last, nil
}

// endLine goes behind the end of the line before the position, if the file had none there, since it ended there, and has
// one now. Then it has grown by whole lines. If that line itself has grown, its record was read when it was not yet whole.
func (r *Reader) endLine(ctx context.Context, last byte) error {
	if last == '\n' {
		return nil
	}
	s := r.stream
	for s.ahead() < 2 && !s.final {
		if err := s.fill(ctx); err != nil {
			return err
		}
	}
	n, _ := lineEnd(s.buf[s.head:], true)
	if n < 0 || last == '\r' && n == 2 {
		return r.misfit("the file ended at byte %d in a line without line end (line %d), and now that line goes on", r.at.digest.at, r.at.line)
	}
	line := r.at.line
	if n > 0 && s.buf[s.head+n-1] == '\n' {
		line++
	}
	r.pass(&r.at, n, line)
	return nil
}
