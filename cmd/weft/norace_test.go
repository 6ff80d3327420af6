//go:build !race

package main

import "time"

// patience is how long a script waits for what must come; nothing waits that long when all is well. scriptsWithin is how long all of them may take: less
// than the 10 minutes of `go test`, which ends them without a word of which it was.
const (
	raced         = false
	patience      = 30 * time.Second
	scriptsWithin = 8 * time.Minute
)
