package filesource_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"

	"github.com/xasink/xasink/engine/filesource"
)

// A loop that reads real flights in batches. Where a sink is fed, it is given each batch's rows together with the
// position behind them, and the loop begins at the position that the sink answers.
func Example() {
	ctx := context.Background()
	config := filesource.Config{Path: "../../testdata/flights/flights-20k.csv.gz"}
	position, err := filesource.Start(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	source, err := filesource.Open(ctx, config, position)
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	delay, err := source.Column("delay_min")
	if err != nil {
		log.Fatal(err)
	}

	flights, late := 0, 0
	for {
		records, err := source.Read(ctx, 500)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		for _, r := range records {
			minutes, err := r.Int64(delay)
			if err != nil {
				log.Fatal(err)
			}
			flights++
			if minutes > 60 {
				late++
			}
		}
		position = source.Position()
	}
	rest, err := filesource.Open(ctx, config, position)
	if err != nil {
		log.Fatal(err)
	}
	defer rest.Close()
	_, err = rest.Read(ctx, 1)
	fmt.Println(flights, "flights,", late, "of them more than an hour late; then", err)
	// Output: 20000 flights, 1089 of them more than an hour late; then EOF
}
