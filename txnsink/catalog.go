package txnsink

import (
	"context"
	"errors"
	"time"

	"github.com/xasink/xasink/xa"
)

// catalog is what a sink knows of its tables. It is read once, when the sink is opened, and not changed afterwards:
// it may be used by several goroutines.
type catalog struct {
	tables []*table
	byName map[string]*table
	lanes  [][]*table // see lanesOf; a table's lane is its position here
	zone   *time.Location
	fixed  bool // zone has one offset for all times

	maxPacket int // the server's max_allowed_packet, bytes
}

// loadTables reads the declared tables from the server and checks all of them. The error holds all problems of all
// tables, one a line. zone is the sessions' time zone; nil is UTC. ctx bounds the reading. It changes nothing on the
// server.
func loadTables(ctx context.Context, q xa.Queryer, can xa.Abilities, tables []Table, zone *time.Location) (*catalog, error) {
	return nil, errors.New("not built yet")
}

// batch makes an empty batch for these tables.
func (c *catalog) batch() *Batch { return &Batch{catalog: c} }
