package state_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if part := os.Getenv(partVariable); part != "" {
		os.Exit(play(part))
	}
	goleak.VerifyTestMain(m)
}
