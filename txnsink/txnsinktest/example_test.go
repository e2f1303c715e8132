package txnsinktest_test

import (
	"context"
	"fmt"
	"strconv"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/txnsink/txnsinktest"
)

// openFunc is txnsink.Open, or a database's in tests.
type openFunc func(context.Context, txnsink.Config) (*txnsink.Sink, error)

// copyOrders is the code under test. Its source is a list of amounts, its position the number of the next one.
func copyOrders(ctx context.Context, open openFunc, cfg txnsink.Config, amounts []string) error {
	sink, err := open(ctx, cfg)
	if err != nil {
		return err
	}
	defer sink.Close()
	next, err := strconv.Atoi(string(sink.Position()))
	if err != nil {
		return err
	}
	for ; next < len(amounts); next++ {
		b := sink.Batch()
		b.Insert("orders").Int64(int64(next)).Decimal(amounts[next])
		if err := sink.Write(ctx, b, []byte(strconv.Itoa(next+1))); err != nil {
			return err
		}
	}
	return sink.Finish(ctx)
}

func Example() {
	ctx := context.Background()
	db := txnsinktest.New(txnsink.Layout{Name: "orders", Key: []string{"id"}, Columns: []txnsink.LayoutColumn{
		{Name: "id", Type: "bigint"}, {Name: "amount", Type: "decimal(12,2)"},
	}})
	cfg := txnsink.Config{
		Job: "orders", Tables: []txnsink.Table{{Name: "orders"}},
		Start: func(context.Context) ([]byte, error) { return []byte("0"), nil },
	}
	amounts := []string{"7.5", "12", "0.25"}

	db.FailAfter(fault.Prepare) // the server prepared the rows, and its answer was lost
	fmt.Println("failed:", copyOrders(ctx, db.Open, cfg, amounts) != nil)
	fmt.Println("rows:", db.Rows("orders"), "prepared:", db.Prepared())

	fmt.Println("failed:", copyOrders(ctx, db.Open, cfg, amounts) != nil)
	fmt.Println("rows:", db.Rows("orders"), "prepared:", db.Prepared())
	// Output:
	// failed: true
	// rows: [] prepared: [orders/e1.w2.s1]
	// failed: false
	// rows: [map[amount:7.50 id:0] map[amount:12.00 id:1] map[amount:0.25 id:2]] prepared: []
}
