package txnsink

import "github.com/xasink/xasink/txnsink/internal/keyindex"

const (
	// After so many flush signals in a row that were each followed by a settle before the next one, splitting pauses.
	vainFlushes = 3
	// The pause is of so many flush signals, doubled each time up to the last.
	firstPause = 16
	lastPause  = 256
	// What the index may keep of its memory when it is emptied.
	keptIndexBytes = 4 << 20
)

// splitting knows which keys are in prepared branches, and whether preparing them early has been of any use.
type splitting struct {
	index  keyindex.Set
	most   int // keys in the index
	hasher keyHasher

	flushes int // that prepared such keys, since the last commit
	vain    int // settles in a row with no more than one flush before them
	pause   int // flush signals that still prepare nothing of them
}

// mayPrepare tells whether the index has room for n keys, and splitting does not pause.
func (s *splitting) mayPrepare(n int) bool { return s.pause == 0 && s.index.Len()+n <= s.most }

// prepared puts keys into the index, as many as there is room for: one that is missing costs a lock wait.
func (s *splitting) prepared(keys []uint64) {
	for _, k := range keys[:min(len(keys), max(s.most-s.index.Len(), 0))] {
		s.index.Add(k)
	}
}

// signal counts a flush signal, after it acted. held: it prepared none of the keys, because splitting pauses.
func (s *splitting) signal() (held bool) {
	if s.pause == 0 {
		return false
	}
	s.pause--
	return true
}

// settled counts a checkpoint that a Write asked for because of what was prepared early.
func (s *splitting) settled() {
	switch {
	case s.flushes == 0:
		return
	case s.flushes > 1:
		s.vain = 0
		return
	}
	if s.vain++; s.vain >= vainFlushes {
		s.pause = min(firstPause<<min(s.vain-vainFlushes, 8), lastPause)
	}
}

// committed empties the index: nothing is prepared any more.
func (s *splitting) committed() {
	s.flushes = 0
	s.index.Clear(keptIndexBytes)
}

// meetsPending tells whether b touches a key that is in a prepared branch. It leaves the keys of b with its lanes. Only
// lanes that are split and do more than insert need that.
func (w *exactlyOnce) meetsPending(b *Batch) bool {
	indexed := false
	for _, l := range w.touched {
		l.writing = l.writing[:0]
		indexed = indexed || l.indexed
	}
	if !indexed {
		return false
	}
	for i := range b.rows {
		l := w.work[b.rows[i].table.lane]
		if !l.indexed {
			continue
		}
		known := len(l.writing)
		l.writing = w.split.hasher.row(l.writing, b, i)
		for _, k := range l.writing[known:] {
			if w.split.index.Has(k) {
				return true
			}
		}
	}
	return false
}
