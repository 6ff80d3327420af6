// Package scheduler holds the code that adapters of schedulers share. An adapter of a third party may use it.
package scheduler

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

// Placements groups the nodes of a job by its cores on each of them, most cores first. A node without a core has one:
// a job may ask for GPUs alone.
func Placements(cores map[string]int) []core.Placement {
	by := map[int][]string{}
	for node, n := range cores {
		n = max(n, 1)
		by[n] = append(by[n], node)
	}
	var all []core.Placement
	for _, n := range slices.SortedFunc(maps.Keys(by), func(a, b int) int { return cmp.Compare(b, a) }) {
		slices.SortFunc(by[n], hostlist.Compare)
		all = append(all, core.Placement{Hosts: hostlist.Fold(by[n]), Nodes: len(by[n]), Cores: n})
	}
	return all
}
