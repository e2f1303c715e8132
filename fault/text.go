package fault

import (
	"fmt"
	"strings"
)

// names are the text forms of the effects. They stand in scripts and failure messages: do not rename one.
var names = [opEnd]string{
	Connect:       "connect",
	Mark:          "mark",
	Start:         "xa-start",
	Savepoint:     "savepoint",
	RollbackTo:    "rollback-to",
	Batch:         "batch",
	LedgerRow:     "ledger-row",
	End:           "xa-end",
	Prepare:       "xa-prepare",
	Commit:        "xa-commit",
	Rollback:      "xa-rollback",
	Recover:       "xa-recover",
	Kill:          "kill",
	Claim:         "claim",
	DecisionRead:  "decision-read",
	DecisionWrite: "decision-write",
	LedgerCreate:  "ledger-create",
	LedgerRaise:   "ledger-raise",
	LedgerRead:    "ledger-read",
	LedgerPrune:   "ledger-prune",
	SourceRead:    "source-read",
}

const (
	sideBefore = "before"
	sideAfter  = "after"
)

// Ops are all effects, in their order.
func Ops() []Op {
	all := make([]Op, 0, opEnd-1)
	for op := OpInvalid + 1; op < opEnd; op++ {
		all = append(all, op)
	}
	return all
}

// Points are all points, each effect's Before and then its After.
func Points() []Point {
	all := make([]Point, 0, 2*(opEnd-1))
	for _, op := range Ops() {
		all = append(all, Before(op), After(op))
	}
	return all
}

// String is the effect's text form, such as `xa-prepare`.
func (op Op) String() string {
	if op == OpInvalid || op >= opEnd {
		return fmt.Sprintf("op(%d)", uint8(op))
	}
	return names[op]
}

// String is the point's text form, such as `after:xa-prepare`. [ParsePoint] is its inverse.
func (p Point) String() string {
	if p.After {
		return sideAfter + ":" + p.Op.String()
	}
	return sideBefore + ":" + p.Op.String()
}

// ParsePoint is the inverse of [Point.String].
func ParsePoint(s string) (Point, error) {
	side, name, ok := strings.Cut(s, ":")
	if !ok || (side != sideBefore && side != sideAfter) {
		return Point{}, fmt.Errorf("fault point %q: want before:EFFECT or after:EFFECT", s)
	}
	for _, op := range Ops() {
		if names[op] == name {
			return Point{Op: op, After: side == sideAfter}, nil
		}
	}
	return Point{}, fmt.Errorf("fault point %q: no effect is called %q; there are %s",
		s, name, strings.Join(names[OpInvalid+1:], ", "))
}
