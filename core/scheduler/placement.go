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
	shares := make(map[string]core.Share, len(cores))
	for node, n := range cores {
		shares[node] = core.Share{Cores: n}
	}
	return Shares(shares)
}

// Shares are Placements where the scheduler tells the nodes' cores, too.
func Shares(nodes map[string]core.Share) []core.Placement {
	by := map[core.Share][]string{}
	for node, s := range nodes {
		s.Cores = max(s.Cores, 1)
		by[s] = append(by[s], node)
	}
	most := func(a, b core.Share) int { return cmp.Or(cmp.Compare(b.Cores, a.Cores), cmp.Compare(a.Total, b.Total)) }
	var all []core.Placement
	for _, s := range slices.SortedFunc(maps.Keys(by), most) {
		slices.SortFunc(by[s], hostlist.Compare)
		all = append(all, core.Placement{
			Hosts: hostlist.Fold(by[s]), Nodes: len(by[s]), Cores: s.Cores, Total: s.Total,
		})
	}
	return all
}
