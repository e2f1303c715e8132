// Package writertest is the suite that every [txnsink.Writer] must pass: what its documentation says, as stories. A
// writer's own test calls [Run]:
//
//	func TestWriter(t *testing.T) {
//		writertest.Run(t, writertest.Features{ExactlyOnce: true, Splits: true}, func(t testing.TB) writertest.Harness {
//			db := open(t) // with the tables of writertest.DDL, empty
//			return writertest.Harness{
//				Job: "orders",
//				Open: func(change func(*txnsink.WriterConfig)) (txnsink.Writer, error) {
//					cfg := txnsink.WriterConfig{Job: "orders", Tables: writertest.Tables(), …}
//					change(&cfg)
//					return newWriter(t.Context(), db, cfg)
//				},
//				Content:  func() writertest.Content { return writertest.ReadSQL(t, db, "shop") },
//				Prepared: func() []xa.ID { … },
//			}
//		})
//	}
//
// What a writer cannot meet is declared in [Features], or by leaving a function of [Harness] out. Stories that need it are
// skipped then, and each says so; what a writer does that is declared not to have a feature is checked where that can be.
package writertest
