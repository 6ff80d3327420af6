package slurm

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
)

// totalsFor is how long an answer about the CPUs of nodes is good: slurm.conf changes them.
const totalsFor = 10 * time.Minute

// cpuTable is a list of nodes with equally many CPUs. A list that is cut is left out.
var cpuTable = table{{"NodeList", 64 << 10}, {"CPUs", 12}}

// totals gives each node without a total its CPUs, by an earlier answer if it is not old and has them all. Where sinfo
// does not tell them, the node counts its processors.
func (p *Plugin) totals(ctx context.Context, nodes map[string]core.Share) {
	p.mu.Lock()
	cpus, at := p.cpus, p.at
	p.mu.Unlock()
	ask, old := false, time.Since(at) >= totalsFor
	for name, s := range nodes {
		ask = ask || s.Total == 0 && (old || cpus[name] == 0)
	}
	if ask {
		if cpus = p.askCPUs(ctx); cpus == nil {
			return
		}
		p.mu.Lock()
		p.cpus, p.at = cpus, time.Now()
		p.mu.Unlock()
	}
	for name, s := range nodes {
		if s.Total == 0 {
			s.Total = cpus[name]
			nodes[name] = s
		}
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
