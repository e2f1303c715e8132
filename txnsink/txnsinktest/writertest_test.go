package txnsinktest_test

import (
	"strconv"
	"testing"

	"github.com/google/uuid"

	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/txnsink/txnsinktest"
	"github.com/xasink/xasink/txnsink/writertest"
)

// Both writers in memory keep the contract of a Writer, on a database of either kind.
func TestWritersKeepTheContract(t *testing.T) {
	t.Run("exactly once", func(t *testing.T) {
		writertest.Run(t, writertest.Features{ExactlyOnce: true, Splits: true, Faults: true}, inMemoryHarness(txnsinktest.New, txnsink.ExactlyOnce))
	})
	t.Run("exactly once, attached", func(t *testing.T) {
		writertest.Run(t, writertest.Features{ExactlyOnce: true, Faults: true}, inMemoryHarness(txnsinktest.NewAttached, txnsink.ExactlyOnce))
	})
	t.Run("at least once", func(t *testing.T) {
		writertest.Run(t, writertest.Features{}, inMemoryHarness(txnsinktest.New, txnsink.AtLeastOnce))
	})
}

func inMemoryHarness(make func(...txnsink.Layout) *txnsinktest.DB, mode txnsink.Mode) func(t testing.TB) writertest.Harness {
	return func(t testing.TB) writertest.Harness {
		db := make(writertest.Layouts()...)
		return writertest.Harness{
			Job: "contract",
			Open: func(change func(*txnsink.WriterConfig)) (txnsink.Writer, error) {
				cfg := txnsink.WriterConfig{Job: "contract", Run: uuid.New(), Tables: writertest.Tables(), Mode: mode}
				change(&cfg)
				return db.NewWriter(t.Context(), cfg)
			},
			Content: func() writertest.Content {
				c := writertest.Content{Orders: map[int64]string{}}
				for _, r := range db.Rows("events") {
					c.Events = append(c.Events, number(r["id"]))
				}
				for _, r := range db.Rows("orders") {
					c.Orders[number(r["id"])] = r["state"]
				}
				return c
			},
			Prepared: db.Prepared,
		}
	}
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
