package xasim

import "slices"

// Kind says which server is simulated. Make one by [MySQL], [MySQLAttached] or [MariaDB]; its methods give changed
// copies.
type Kind struct {
	name     string
	mariadb  bool
	attached bool // PREPARE does not free the session
	version  string
	binlog   bool
}

// MySQL is MySQL 9.7 with its defaults: PREPARE frees the session, any session commits (server-facts 0.1), the binary
// log is on.
func MySQL() Kind { return Kind{name: "mysql", version: "9.7.4", binlog: true} }

// MySQLAttached is MySQL 9.7 with xa_detach_on_prepare=OFF: a prepared branch stays with its session.
func MySQLAttached() Kind {
	k := MySQL()
	k.name, k.attached = "attached", true
	return k
}

// MariaDB is MariaDB 11.8 with its defaults: a prepared branch stays with its session, the binary log is off.
func MariaDB() Kind {
	return Kind{name: "mariadb", mariadb: true, attached: true, version: "11.8.9-MariaDB"}
}

// Kinds are the three, for tests that run on each.
func Kinds() []Kind { return slices.Clone([]Kind{MySQL(), MySQLAttached(), MariaDB()}) }

// WithVersion answers VERSION() with another text. Nothing else changes: the rules stay those of the kind.
func (k Kind) WithVersion(version string) Kind {
	k.version = version
	return k
}

// WithBinaryLog turns the binary log on or off, as the server's own variables tell it.
func (k Kind) WithBinaryLog(on bool) Kind {
	k.binlog = on
	return k
}

// String is mysql, attached or mariadb.
func (k Kind) String() string { return k.name }
