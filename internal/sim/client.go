package sim

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/xa"
)

var errDead = errors.New("the process is dead")

// client is one process as everything around it sees it: it counts its fault points, and lets go wrong what its life
// says. It is a driver.Connector, and the fault.Injector of sink and store. Everything happens on the goroutine of the
// process.
type client struct {
	driver.Connector
	world   *world
	life    Life
	points  int            // reached so far
	each    fault.Recorder // the same, by point
	acted   int            // points when something went wrong last
	dead    bool
	paused  bool // it was held while another process ran
	number  uint64
	opened  int       // points when Open returned, 0: it has not
	scanned int       // orphans that were there at its last XA RECOVER
	first   *lockWait // the first of the Write at hand
	conns   []driver.Conn
}

// At counts p and lets go wrong what is due.
func (c *client) At(ctx context.Context, p fault.Point) error {
	if c.dead {
		return errDead
	}
	c.points++
	_ = c.each.At(ctx, p)
	if p == fault.Before(fault.Recover) {
		c.scanned = len(c.world.late)
	}
	var err error
	for _, a := range c.life {
		if !c.at(a.At, p) || c.dead {
			continue
		}
		c.acted = c.points
		c.world.history.note("point %d, %s: %s", c.points, p, a.What)
		if e := c.world.act(ctx, c, a, p); e != nil {
			err = e
		}
	}
	return err
}

// at tells whether p, which was reached just now, is the place.
func (c *client) at(place fault.Place, p fault.Point) bool {
	if place.Point == (fault.Point{}) {
		return place.Nth == c.points
	}
	return place.Point == p && place.Nth == c.each.Count(p)
}

func (c *client) String() string { return c.life.String() }

// Connect opens a connection that ends with the process.
func (c *client) Connect(ctx context.Context) (driver.Conn, error) {
	if c.dead {
		return nil, errDead
	}
	conn, err := c.Connector.Connect(ctx)
	if err == nil {
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

// unseen tells whether id is an orphan that came after the last XA RECOVER of the process.
func (c *client) unseen(id xa.ID) bool { return slices.Contains(c.world.late[c.scanned:], id) }

// die ends the process.
func (c *client) die() {
	c.dead = true
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

// disturbed tells whether something went wrong since the process was at point from.
func (c *client) disturbed(from int) bool { return c.acted > from }
