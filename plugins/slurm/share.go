package slurm

import (
	"context"
	"maps"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// cpuTable is a partition's nodes with equally many CPUs. A list that is cut is left out.
var cpuTable = table{{"NodeList", 64 << 10}, {"CPUs", 12}, {"OverSubscribe", 16}, {"Partition", 257}}

// supply is a node's CPUs, and the partitions that give them to jobs.
type supply struct {
	cpus       int
	partitions []partition
}

// partition is how a partition shares CPUs.
type partition struct {
	name   string
	jobs   int  // of it that may have the same CPU; 0: a CPU of its job is shared with no partition
	forced bool // users cannot opt out
}

// totals gives each node without a total its CPUs, as often as jobs may have them if the job overlaps others. Where
// sinfo does not tell them, the node counts its processors. A job that squeue calls alone may overlap others, too.
func (p *Plugin) totals(ctx context.Context, nodes map[string]core.Share, parts []row) {
	all := p.cpus.About(ctx, maps.Keys(nodes), p.askCPUs)
	for name, s := range nodes {
		of, times := all[name], 1
		for i := range parts {
			times = max(times, of.times(&parts[i]))
		}
		if s.Total == 0 || times > 1 {
			nodes[name] = core.Share{Cores: s.Cores, Total: of.cpus * times}
		}
	}
}

// times is how often Slurm may give out a CPU that the job has. Partitions that share count their jobs each for itself,
// and share with each other. Those of FORCE:1 share, too: squeue does not call their jobs overlapping, and calls them
// exclusive where the user asked for that. With select/linear they are.
func (s *supply) times(r *row) int {
	all, overlaps := 0, r.overlaps
	for _, p := range s.partitions {
		if all += p.jobs; p.name == r.partition {
			overlaps = p.forced || p.jobs > 0 && r.overlaps
		}
	}
	if !overlaps {
		return 1
	}
	return max(all, 1)
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
		share := sharing(v[3], v[2])
		for _, name := range names {
			all[name] = supply{n, append(all[name].partitions, share)}
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return all
}

// sharing reads a partition's name, which has a * where it is the default, and its OverSubscribe: FORCE:2, YES:4, NO
// (_print_oversubscribe in sinfo/print.c of 17.11). YES:1 shares nothing.
func sharing(name, text string) partition {
	how, count, _ := strings.Cut(text, ":")
	p := partition{name: strings.TrimSuffix(name, "*"), forced: how == "FORCE"}
	if n, err := amount(count); err == nil && (n > 1 || p.forced) {
		p.jobs = n
	}
	return p
}
