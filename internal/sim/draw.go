package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/xa/xasim"
)

// longestLife is the last fault point at which a drawn act may be; most workloads reach fewer. openingsLength are those
// in which an opening is through.
const (
	longestLife    = 180
	openingsLength = 45
)

// Draw is the scenario of a seed.
func Draw(seed uint64) Scenario {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	s := Scenario{
		Kind: xasim.Kinds()[r.IntN(len(xasim.Kinds()))], Seed: seed, Records: 1 + r.IntN(4+r.IntN(16)), Write: 1 + r.IntN(5),
		Flush: r.IntN(4), Checkpoint: r.IntN(6), Segment: int64(r.IntN(8)),
	}
	if r.IntN(3) == 0 {
		s.Pending = 5 + r.IntN(4)
	}
	if r.IntN(3) == 0 {
		s.Flush, s.Abort = max(s.Flush, 1), 1+r.IntN(3)
	}
	if r.IntN(3) == 0 {
		s.Detach = time.Duration(1+r.IntN(9)) * 100 * time.Millisecond
	}
	if r.IntN(4) == 0 {
		s.Pace = time.Duration(1+r.IntN(30)) * 100 * time.Millisecond
	}
	for _, k := range tables {
		if r.IntN(5) < 2 {
			s.Tables += string(k.letter)
		}
	}
	if s.Tables == "" {
		s.Tables = "et"
	}
	if r.IntN(12) == 0 {
		s.Mode = txnsink.AtLeastOnce
		s.Tables = []string{"o", "l", "ol"}[r.IntN(3)]
	}
	for range 3 + r.IntN(12) {
		s.Lives = append(s.Lives, drawLife(r))
	}
	return s
}

// drawLife is one disturbance, now and then up to four of them, and mostly a death at the end.
func drawLife(r *rand.Rand) Life {
	var l Life
	longest := []int{openingsLength, 2 * openingsLength, longestLife}[r.IntN(3)]
	at := 1 + r.IntN(longest)
	for r.IntN(3) == 0 && len(l) < 4 {
		l = append(l, Act{drawDisturbance(r), drawPlace(r, at)})
		at += 1 + r.IntN(40)
	}
	switch r.IntN(8) {
	case 0:
		l = append(l, Act{Vanish, drawPlace(r, at)})
	case 2:
		l = append(l, Act{Pause, drawPlace(r, at)})
	case 1:
		l = append(l, Act{drawDisturbance(r), drawPlace(r, at)})
	default:
		l = append(l, Act{Die, drawPlace(r, at)})
	}
	return l
}

// drawPlace is mostly the at-th point, else one of the first times that an effect is reached: some are so rare that
// counting seldom hits them.
func drawPlace(r *rand.Rand, at int) fault.Place {
	if r.IntN(5) > 0 {
		return Nth(at)
	}
	return fault.Place{Point: reachable[r.IntN(len(reachable))], Nth: 1 + r.IntN(3)}
}

// reachable are the points that a sink has.
var reachable = slices.DeleteFunc(fault.Points(), func(p fault.Point) bool { return p.Op == fault.SourceRead })

// drawDisturbance is anything but a death. Locks are drawn more often, because most meet no statement that wants them,
// and what ends a run less often.
func drawDisturbance(r *rand.Rand) What {
	if r.IntN(3) == 0 {
		return []What{Lock, Lock, Orphan}[r.IntN(3)]
	}
	what := Fail + What(r.IntN(int(whatEnd-Fail)))
	if (what == Forget || what == FalseOK || what == CommitStray || what == Operator) && r.IntN(3) > 0 {
		return Restart
	}
	return what
}
