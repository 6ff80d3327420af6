package daemon

import (
	"math"
	"runtime/debug"
	"testing"
)

// The budget of a server of 11,136 nodes is 1 GiB resident, of which the program itself and the store's file in memory are what the runtime does not count: 30 MiB when
// all of them are in session.
func TestMemoryLimit(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	t.Setenv("GOMEMLIMIT", "")
	limitMemory(elCapitan)
	if got := debug.SetMemoryLimit(-1); got != memoryLimit(elCapitan) || got > (1024-64)<<20 {
		t.Errorf("for %d nodes the limit is %d MiB", elCapitan, got>>20)
	}
	debug.SetMemoryLimit(math.MaxInt64)
	t.Setenv("GOMEMLIMIT", "2GiB")
	limitMemory(elCapitan)
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("what the administrator set became %d", got)
	}
}
