package daemon

import (
	"os"
	"runtime/debug"
)

// What the server may take before its collector works harder, in bytes: what 60,000 reservations and a start need, and what a node's session does. By itself the
// collector lets a heap double before it collects, and doubles the stacks of 80,000 goroutines with it.
const (
	memoryBase    = 256 << 20
	memorySession = 64 << 10
)

// limitMemory tells the runtime for how many nodes it is to make room. It is no bound: the collector never takes more than half of the processor's time for it.
// Whoever sets GOMEMLIMIT knows better.
func limitMemory(nodes int) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit(nodes))
	}
}

func memoryLimit(nodes int) int64 { return memoryBase + int64(nodes)*memorySession }
