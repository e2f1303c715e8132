package flights

import (
	"maps"
	"slices"

	"github.com/xasink/xasink/txnsink"
)

// total is what is summed of one airport.
type total struct{ departures, arrivals, delay, distance int64 }

// totals by airport.
type totals map[string]total

func (t totals) count(origin, destination string, delay, distance int64) {
	o := t[origin]
	o.departures++
	o.delay += delay
	o.distance += distance
	t[origin] = o
	d := t[destination]
	d.arrivals++
	t[destination] = d
}

// moveTo makes an upsert of each total and forgets it.
func (t totals) moveTo(batch *txnsink.Batch) {
	for _, airport := range slices.Sorted(maps.Keys(t)) {
		one := t[airport]
		batch.Upsert("airport_totals").String(airport).Int64(one.departures).Int64(one.arrivals).Int64(one.delay).Int64(one.distance)
	}
	clear(t)
}
