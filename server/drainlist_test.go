package server

import (
	"testing"

	"github.com/weft-hpc/weft/core"
)

// TestDrainedNodesAreBounded: the elements of a list have a bound together, since each may name many nodes.
func TestDrainedNodesAreBounded(t *testing.T) {
	half := func(name string) core.Drained { return core.Drained{Hosts: name + "[1-60000]"} }
	if shown, _, err := byNode([]core.Drained{half("a")}); err != nil || len(shown) != 60_000 {
		t.Errorf("%d nodes: %v", len(shown), err)
	}
	if shown, _, err := byNode([]core.Drained{half("a"), half("b")}); err == nil {
		t.Errorf("%d nodes of two elements", len(shown))
	}
}
