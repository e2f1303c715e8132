// Package process lets a simulation have several processes in one. What a package remembers for the life of its
// process it remembers for each of them on its own.
package process

// Simulated is implemented by a store that stands for the store of a simulated process. Every process has a number of
// its own, above 0.
type Simulated interface{ SimulatedProcess() uint64 }

// Of is the number of the simulated process that v belongs to, 0 outside of a simulation.
func Of(v any) uint64 {
	if s, ok := v.(Simulated); ok {
		return s.SimulatedProcess()
	}
	return 0
}
