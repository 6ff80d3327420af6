package slurm

import (
	"context"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// cpuTable is a partition's nodes with equally many CPUs. A list that is cut is left out.
var cpuTable = table{{"NodeList", 64 << 10}, {"CPUs", 12}, {"OverSubscribe", 16}, {"Partition", 257}}

// supply is a node's CPUs.
type supply struct {
	cpus int
	jobs int // how many jobs that overlap may have a CPU, of all partitions together; 0: one
}

// totals gives each node without a total its CPUs, as often as jobs may have them if the job overlaps others. Where
// sinfo does not tell them, the node counts its processors.
func (p *Plugin) totals(ctx context.Context, nodes map[string]core.Share, overlaps bool) {
	shared := func(yield func(string) bool) {
		for name, s := range nodes {
			if s.Total == 0 && !yield(name) {
				return
			}
		}
	}
	all := p.cpus.About(ctx, shared, p.askCPUs)
	for name := range shared {
		total := all[name].cpus
		if overlaps {
			total *= max(all[name].jobs, 1)
		}
		nodes[name] = core.Share{Cores: nodes[name].Cores, Total: total}
	}
}

// askCPUs asks for all nodes. -e keeps nodes of different CPUs in different lists.
func (p *Plugin) askCPUs(ctx context.Context) map[string]supply {
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	text, err := p.run(ctx, "sinfo", "-h", "-a", "-e", "-O", cpuTable.format())
	if err != nil {
		return nil
	}
	all := map[string]supply{}
	err = cpuTable.parse(text, func(v []string, cut []bool) error {
		n, err := amount(v[1])
		names, bad := expand(v[0])
		if err != nil || bad != nil || cut[0] {
			return nil
		}
		for _, name := range names {
			all[name] = supply{n, all[name].jobs + perCPU(v[2])}
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return all
}

// perCPU reads a partition's OverSubscribe: how many of its jobs may have the same CPU, as in FORCE:2 or YES:4. It is 0
// where that is one (_print_oversubscribe in sinfo/print.c of 17.11).
func perCPU(text string) int {
	_, count, _ := strings.Cut(text, ":")
	if n, err := amount(count); err == nil && n > 1 {
		return n
	}
	return 0
}
