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

// growth is by how many percent the server's heap may grow until it is collected, below that limit: collected each time
// that it has doubled, a small heap takes an eighth of the server's processor time.
const growth = 400

// limitMemory tells the runtime for how many nodes it is to make room. It is no bound: the collector never takes more than half of the processor's time for it.
// Whoever sets GOMEMLIMIT or GOGC knows better.
func limitMemory(nodes int) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(memoryLimit(nodes))
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(growth)
	}
}

func memoryLimit(nodes int) int64 { return memoryBase + int64(nodes)*memorySession }
