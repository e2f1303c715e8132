package txnsink

import (
	"context"
	"strings"
	"time"

	"github.com/xasink/xasink/ledger"
	"github.com/xasink/xasink/xa"
)

// catalog is what a sink knows of its tables. It is read once, when the sink is opened, and not changed afterwards:
// it may be used by several goroutines.
type catalog struct {
	tables []*table
	byName map[string]*table
	lanes  [][]*table // see lanesOf; a table's lane is its position here

	zone      *time.Location // of the sessions
	fixed     bool           // zone has one offset for all times
	keepsZero bool           // sql_mode has NO_AUTO_VALUE_ON_ZERO
	maxPacket int            // the server's max_allowed_packet, bytes
}

// loadTables reads the declared tables from the server and checks all of them; every problem of every table is in one
// *ConfigError. Other errors are an *UnavailableError or of the connection. own is the job's ledger. zone is the
// sessions' time zone, nil for UTC. q has the settings
// of the sessions that will write. ctx bounds the reading. It changes nothing on the server.
func loadTables(ctx context.Context, q xa.Queryer, can xa.Abilities, own ledger.Ledger, tables []Table, zone *time.Location) (*catalog, error) {
	if zone == nil {
		zone = time.UTC
	}
	session, err := readSession(ctx, q)
	if err != nil {
		return nil, err
	}
	l := loader{q: q, user: can.User, session: session, ledger: own, seen: map[string]string{}}
	l.checkSession()
	if l.edges, err = readForeignKeys(ctx, q); err != nil {
		return nil, err
	}
	if l.triggers, err = readTriggers(ctx, q); err != nil {
		return nil, err
	}
	l.edges = append(l.edges, tiesOf(l.triggers, l.names(tables))...)
	c := &catalog{
		byName: map[string]*table{}, zone: zone, fixed: hasOneOffset(zone),
		keepsZero: session.has("NO_AUTO_VALUE_ON_ZERO"), maxPacket: can.MaxPacket,
	}
	for i, declared := range tables {
		t, err := l.load(ctx, i, declared)
		if err != nil {
			return nil, err
		}
		if t == nil {
			continue
		}
		c.tables = append(c.tables, t)
		c.byName[t.name] = t
	}
	if len(l.problems) > 0 {
		return nil, &ConfigError{Problems: l.problems}
	}
	c.lanes = lanesOf(c.tables)
	return c, nil
}

// batch makes an empty batch for these tables.
func (c *catalog) batch() *Batch { return &Batch{catalog: c, count: make([]int, len(c.tables))} }

// maxStatement is the longest statement that the server takes.
func (c *catalog) maxStatement() int { return c.maxPacket - packetSlack }

// names lists the tables, for messages.
func (c *catalog) names() string {
	names := make([]string, len(c.tables))
	for i, t := range c.tables {
		names[i] = t.name
	}
	return strings.Join(names, ", ")
}
