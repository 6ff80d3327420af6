//go:build race

package main

import "time"

// The race detector makes everything several times slower: run it with -timeout above 10 minutes.
const (
	raced         = true
	patience      = time.Minute
	scriptsWithin = 10 * time.Minute
)
