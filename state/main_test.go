package state_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if play := os.Getenv("STATE_TEST_PART"); play != "" {
		os.Exit(playPart(play))
	}
	goleak.VerifyTestMain(m)
}

func playPart(string) int { return 2 }
