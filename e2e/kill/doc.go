// Package kill holds the end-to-end tests that end processes and servers by SIGKILL and count rows afterwards.
package kill
