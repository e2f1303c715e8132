package txnsinktest

import (
	"slices"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/txnsink"
)

// lane is the open segment of a lane's tables.
type lane struct {
	txnsink.Lane
	seq    uint64  // of the newest branch
	branch *branch // nil: none is open
	held           // in the branch
	marked held    // before the Write at hand
}

// held is what a branch holds.
type held struct {
	rows  int64
	bytes int64
	uses  []ledger.TableUse
}

// add counts the rows of a statement.
func (h *held) add(s statement) {
	h.rows += int64(len(s.rows))
	for _, r := range s.rows {
		h.bytes += int64(r.Size)
	}
	name, kind := s.rows[0].FullName, s.op.String()
	i := slices.IndexFunc(h.uses, func(u ledger.TableUse) bool { return u.Table == name && u.Kind == kind })
	if i < 0 {
		i = len(h.uses)
		h.uses = append(h.uses, ledger.TableUse{Table: name, Kind: kind})
	}
	h.uses[i].Rows += uint64(len(s.rows))
}
