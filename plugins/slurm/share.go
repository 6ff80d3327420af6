package slurm

import (
	"context"

	"github.com/weft-hpc/weft/core"
)

// cpuTable is a list of nodes with equally many CPUs. A list that is cut is left out.
var cpuTable = table{{"NodeList", 64 << 10}, {"CPUs", 12}}

// totals gives each node without a total its CPUs. Where sinfo does not tell them, the node counts its processors.
func (p *Plugin) totals(ctx context.Context, nodes map[string]core.Share) {
	shared := func(yield func(string) bool) {
		for name, s := range nodes {
			if s.Total == 0 && !yield(name) {
				return
			}
		}
	}
	cpus := p.cpus.About(ctx, shared, p.askCPUs)
	for name := range shared {
		nodes[name] = core.Share{Cores: nodes[name].Cores, Total: cpus[name]}
	}
}

// askCPUs asks for all nodes. -e keeps nodes of different CPUs in different lists.
func (p *Plugin) askCPUs(ctx context.Context) map[string]int {
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	text, err := p.run(ctx, "sinfo", "-h", "-a", "-e", "-O", cpuTable.format())
	if err != nil {
		return nil
	}
	cpus := map[string]int{}
	err = cpuTable.parse(text, func(v []string, cut []bool) error {
		n, err := amount(v[1])
		names, bad := expand(v[0])
		if err != nil || bad != nil || cut[0] {
			return nil
		}
		for _, name := range names {
			cpus[name] = n
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return cpus
}
