package sim

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/xasink/xasink/fault"
)

var errDead = errors.New("the process is dead")

// client is one process as everything around it sees it: it counts its fault points, and lets go wrong what its life
// says. It is a driver.Connector, and the fault.Injector of sink and store. Everything happens on the goroutine of the
// process.
type client struct {
	driver.Connector
	world  *world
	life   Life
	points int            // reached so far
	each   fault.Recorder // the same, by point
	acted  int            // points when something went wrong last
	dead   bool
	paused bool // it was held while another process ran
	number uint64
	opened int // points when Open returned, 0: it has not
	conns  []driver.Conn
}

// At counts p and lets go wrong what is due.
func (c *client) At(ctx context.Context, p fault.Point) error {
	if c.dead {
		return errDead
	}
	c.points++
	_ = c.each.At(ctx, p)
	if p == fault.Before(fault.Recover) && !c.world.done {
		c.world.unseen = nil
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

// die ends the process.
func (c *client) die() {
	c.dead = true
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

// disturbed tells whether something went wrong since the process was at point from.
func (c *client) disturbed(from int) bool { return c.acted > from }
