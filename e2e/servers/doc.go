// Package servers gives tests, the demo and the commands of this module a real
// MySQL or MariaDB. It takes the first of these that can be had:
//
//  1. the server of the environment variable XASINK_TEST_DSN (MySQL) or
//     XASINK_TEST_DSN_MARIADB, each for its own flavour only, unless the caller
//     wants a server of its own;
//  2. a container. Its image is mysql:9.7 or mariadb:11.8, or what
//     XASINK_TEST_MYSQL_IMAGE or XASINK_TEST_MARIADB_IMAGE name. An image that
//     is neither present nor can be pulled is built by package images;
//  3. a mysqld or mariadbd of this machine, in a temporary directory.
//
// With none of them the error is one line that says what to install. Environment
// tells people the variables. Started servers listen on 127.0.0.1 only.
//
// A server that is started here belongs to the process that started it. Close
// removes it; when the process dies without Close, a local server process dies
// with it (on Linux) and a container is removed by the next process that starts
// one, which knows it by labels with the owner's process and boot, and the clone
// of the repository that it was built from. Only what was started with
// Options.Keep stays. Remove removes what was left; without Leftovers.All it
// leaves alone what belongs to other clones that are still there.
package servers
