//go:build !unix

package sim_test

import "time"

func processorTime() (time.Duration, bool) { return 0, false }
