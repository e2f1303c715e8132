package sim

import "slices"

// Reduce makes s shorter for as long as fails says that it still fails: it drops process runs and acts, and shrinks the
// workload. fails is asked at most limit times.
func Reduce(s Scenario, limit int, fails func(Scenario) bool) Scenario {
	try := func(c Scenario) bool {
		if limit == 0 || c.check() != nil || c.String() == s.String() {
			return false
		}
		limit--
		if !fails(c) {
			return false
		}
		s = c
		return true
	}
	for again := true; again && limit > 0; {
		again = reduceLives(&s, try)
		for _, change := range smaller {
			for {
				c := s
				change(&c)
				if !try(c) {
					break
				}
				again = true
			}
		}
		for i := 0; len(s.Tables) > 1 && i < len(s.Tables); i++ {
			c := s
			c.Tables = s.Tables[:i] + s.Tables[i+1:]
			again = try(c) || again
		}
	}
	return s
}

// smaller are steps to a plainer workload. One that changes nothing ends its repeats.
var smaller = []func(*Scenario){
	func(s *Scenario) { s.Records /= 2 },
	func(s *Scenario) { s.Records = max(s.Records-1, 0) },
	func(s *Scenario) { s.Write = max(s.Write-1, 1) },
	func(s *Scenario) { s.Flush = 0 },
	func(s *Scenario) { s.Checkpoint = 0 },
	func(s *Scenario) { s.Segment = 0 },
	func(s *Scenario) { s.Pending = 0 },
	func(s *Scenario) { s.Pace = 0 },
	func(s *Scenario) { s.Abort = 0 },
	func(s *Scenario) { s.Detach = 0 },
}

// reduceLives drops process runs, then acts.
func reduceLives(s *Scenario, try func(Scenario) bool) bool {
	again := false
	for i := 0; i < len(s.Lives); {
		c := *s
		c.Lives = slices.Delete(slices.Clone(s.Lives), i, i+1)
		if try(c) {
			again = true
			continue
		}
		i++
	}
	for i := range s.Lives {
		for j := 0; j < len(s.Lives[i]); {
			c := *s
			c.Lives = slices.Clone(s.Lives)
			c.Lives[i] = slices.Delete(slices.Clone(s.Lives[i]), j, j+1)
			if try(c) {
				again = true
				continue
			}
			j++
		}
	}
	return again
}
