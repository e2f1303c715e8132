// Package docs holds the project's documents, and the tests that keep them true.
package docs
