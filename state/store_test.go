package state_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/state/statetest"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	statetest.Exercise(t, func(*testing.T) statetest.Backend {
		faults := new(statetest.Faults)
		return statetest.Backend{
			Store: state.NewMemory(state.WithFaults(faults)), Job: "orders", Other: "lines", Faults: faults,
		}
	})
}

func TestFileKeepsTheContract(t *testing.T) {
	statetest.Exercise(t, func(t *testing.T) statetest.Backend {
		path := filepath.Join(t.TempDir(), "orders.state")
		faults := new(statetest.Faults)
		open := func(t *testing.T) state.Store {
			store, err := state.OpenFile(path, "orders", state.FileOptions{Faults: faults})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, store.Close()) })
			return store
		}
		store := open(t)
		return statetest.Backend{
			Store: store, Job: "orders", Faults: faults,
			Reopen: func(t *testing.T) state.Store {
				require.NoError(t, store.Close())
				store = open(t)
				return store
			},
		}
	})
}
