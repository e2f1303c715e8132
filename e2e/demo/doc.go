// Package demo shows the promise kept: it loads real flights into a real server, kills the process that does it at the
// worst moments, and compares every row and every sum with the file.
package demo
