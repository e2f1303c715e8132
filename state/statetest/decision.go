package statetest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

func newRun(t *testing.T) uuid.UUID {
	t.Helper()
	run, err := uuid.NewV7()
	require.NoError(t, err)
	return run
}

// next is a decision with something in every field, which follows the claim's last.
func (b *bench) next(t *testing.T, c state.Claim, change ...func(*state.Decision)) state.Decision {
	t.Helper()
	whole := uint64(0)
	if last := c.Last(); last != nil {
		whole = last.Number
	}
	number := whole + 1
	d := state.Next(c.Last(), c.Epoch(), b.Store.ID(), newRun(t), b.Job,
		[]state.Position{{Source: "file", Data: []byte{byte(number), 0, 255}}},
		state.Part{
			Pending: state.Merge([]state.Branch{
				{Server: "one", ID: xa.ID{Job: b.Job, Epoch: c.Epoch(), Lane: 1, Seq: 2*number + 1}, Rows: 7},
				{Server: "one", ID: xa.ID{Job: b.Job, Epoch: c.Epoch(), Lane: 1, Seq: 2*number + 2}, Rows: 8},
			}),
			Lanes:  []state.Lane{{Number: 1, Epoch: c.Epoch(), Seq: 2 * number, Tables: []string{"lines", "orders"}}},
			Bounds: state.Bounds{Lanes: 3, Marks: 4},
			Server: state.Server{Name: "one", Started: time.Unix(1700000000, 0)},
			Whole:  whole,
		}, time.Now())
	for _, f := range change {
		f(&d)
	}
	return d
}

func whole(number uint64) func(*state.Decision) {
	return func(d *state.Decision) { d.Whole = number }
}

func predecessor(number uint64) func(*state.Decision) {
	return func(d *state.Decision) { d.Predecessor = number }
}

func nothingPending(d *state.Decision) { d.Pending = nil }

// nearlyEqual gives decisions that differ from d in one place each and pass Check.
func nearlyEqual(d state.Decision) map[string]state.Decision {
	near := map[string]state.Decision{}
	change := func(name string, f func(d *state.Decision)) {
		c := d
		c.Positions = append([]state.Position(nil), d.Positions...)
		c.Pending = append([]state.Range(nil), d.Pending...)
		c.Lanes = append([]state.Lane(nil), d.Lanes...)
		f(&c)
		near[name] = c
	}
	change("predecessor", func(d *state.Decision) { d.Predecessor-- })
	change("whole", func(d *state.Decision) { d.Whole-- })
	change("run", func(d *state.Decision) { d.Run[0]++ })
	change("time", func(d *state.Decision) { d.Time = d.Time.Add(time.Microsecond) })
	change("source", func(d *state.Decision) { d.Positions[0].Source += "x" })
	change("position", func(d *state.Decision) { d.Positions[0].Data = append(d.Positions[0].Data[:2:2], 254) })
	change("one position less", func(d *state.Decision) { d.Positions = nil })
	change("server of a branch", func(d *state.Decision) { d.Pending[0].Server = "two" })
	change("one branch more", func(d *state.Decision) { d.Pending[0].To++ })
	change("one branch less", func(d *state.Decision) { d.Pending[0].From++ })
	change("belongs", func(d *state.Decision) { d.Pending[0].Belongs-- })
	change("rows", func(d *state.Decision) { d.Pending[0].Rows-- })
	change("nothing pending", nothingPending)
	change("watermark", func(d *state.Decision) { d.Lanes[0].Seq++ })
	change("tables", func(d *state.Decision) { d.Lanes[0].Tables = []string{"orders"} })
	change("bound of lanes", func(d *state.Decision) { d.Bounds.Lanes++ })
	change("bound of marks", func(d *state.Decision) { d.Bounds.Marks++ })
	change("server", func(d *state.Decision) { d.Server.Name = "two" })
	change("start of the server", func(d *state.Decision) { d.Server.Started = d.Server.Started.Add(time.Microsecond) })
	return near
}
