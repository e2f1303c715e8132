package recovery_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/google/uuid"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/recovery"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/xa"
)

// The state file of job orders is gone for good. Its target was found to hold every row before position 1200 and none
// after it; two branches are prepared, of which the first is before that position.
func ExampleAdopt() {
	adopt := func() (err error) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		server, err := xa.Connect(ctx, xa.Config{DSN: "user:password@tcp(db.example:3306)/shop", Job: "orders"})
		if err != nil {
			return err
		}
		defer func() { _ = server.Close() }()
		store, err := state.OpenFile("orders.state", "orders", state.FileOptions{})
		if err != nil {
			return err
		}
		defer func() { _ = store.Close() }()
		proofs, err := ledger.New(ledger.DefaultDatabase)
		if err != nil {
			return err
		}
		// Without a fate for a prepared branch the answer is a *Stop that names the branch, and nothing is changed.
		adopted, err := recovery.Adopt(ctx, recovery.AdoptRequest{
			Server: server, Ledger: proofs, Store: store, Job: "orders", Run: uuid.New(),
			Positions: []state.Position{{Source: "source", Data: []byte("1200")}},
			Branches: map[xa.ID]recovery.Fate{
				{Job: "orders", Epoch: 7, Lane: 2, Seq: 31}: recovery.FateCommit,
				{Job: "orders", Epoch: 7, Lane: 2, Seq: 32}: recovery.FateRollBack,
			},
		})
		if err != nil {
			return err
		}
		fmt.Printf("epoch %d: %d committed, %d rolled back\n", adopted.Epoch, adopted.Committed, adopted.RolledBack)
		return nil
	}
	if err := adopt(); err != nil {
		log.Print(err)
	}
}
