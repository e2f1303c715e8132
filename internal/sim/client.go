package sim

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"

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
	points int
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
	if p == fault.Before(fault.Recover) && !c.world.done {
		c.world.unseen = nil
	}
	var err error
	for _, a := range c.life {
		if a.At != c.points || c.dead {
			continue
		}
		c.world.history.note("point %d, %s: %s", c.points, p, a.What)
		if e := c.world.act(ctx, c, a, p); e != nil {
			err = e
		}
	}
	return err
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
func (c *client) disturbed(from int) bool {
	return slices.ContainsFunc(c.life, func(a Act) bool { return a.At > from && a.At <= c.points })
}
