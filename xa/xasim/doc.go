// Package xasim is a MySQL or MariaDB server in memory, for tests and simulations of whatever speaks XA to one: a sink
// of this project, or a pipeline that embeds it.
package xasim
