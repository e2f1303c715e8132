// Package badinput holds the end-to-end tests of what goes wrong around a job: each is one clear error that says what to
// do, the worker's exit code is not 0, and once the cause is mended the job goes on and no row is lost or doubled.
package badinput
