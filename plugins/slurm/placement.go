package slurm

import (
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

// maxNodes bounds a job.
const maxNodes = 100_000

// shares are the nodes that a job has now, with its CPUs on them. They have no total where squeue says that other jobs
// may run.
func shares(parts []row, n note) (map[string]core.Share, error) {
	on := map[string]core.Share{}
	for _, r := range parts {
		if !lives(r) {
			continue
		}
		nodes, err := expand(r.nodes)
		if err != nil || len(nodes) == 0 || r.cut[colNodes] {
			return nil, core.Errorf(core.SchedulerAway, "job %s: squeue shows no list of its nodes that can be read: %v", r.job, err)
		}
		said := map[string]int{}
		if r.job == n.Job {
			said = n.spread()
		}
		// What the note does not have: nodes that the job got later, and other components. Slurm counts what is allocated, and that is whole nodes or evenly
		// spread more often than not.
		even := max((r.cpus+len(nodes)-1)/len(nodes), 1)
		for _, name := range nodes {
			cpus := even
			if s, ok := said[name]; ok && s <= r.cpus {
				cpus = s
			}
			s := on[name]
			if s.Cores += cpus; r.alone {
				s.Total = s.Cores
			}
			on[name] = s
		}
	}
	if len(on) > maxNodes {
		return nil, core.Errorf(core.NotSupported, "job %s: it has more than %d nodes", n.Job, maxNodes)
	}
	return on, nil
}

// spread is how many CPUs the note says the job has on each node; nothing where its lists do not match.
func (n note) spread() map[string]int {
	runs, ok := parseCPUs(n.CPUs)
	nodes, err := expand(n.Nodes)
	if err != nil || !ok {
		return nil
	}
	out := make(map[string]int, len(nodes))
	for _, r := range runs {
		if r.nodes > len(nodes) {
			return nil
		}
		for _, name := range nodes[:r.nodes] {
			out[name] = r.cpus
		}
		nodes = nodes[r.nodes:]
	}
	if len(nodes) > 0 {
		return nil
	}
	return out
}

func expand(text string) ([]string, error) {
	list, err := hostlist.Parse(text)
	if err != nil {
		return nil, err
	}
	return list.ExpandMax(maxNodes)
}
