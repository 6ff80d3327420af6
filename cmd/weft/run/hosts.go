package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/server"
)

// maxRun bounds the nodes of one local job: each is a process of this machine.
const maxRun = 1024

// hosts chooses the job's nodes: those asked for, or the up and undrained ones with the fewest jobs.
func (r *runArgs) hosts(ctx context.Context, o *cli.Options) ([]string, error) {
	if r.nodes < 1 {
		return nil, fmt.Errorf("run: -N %d: a job has at least one node", r.nodes)
	}
	if r.on != "" {
		return r.named()
	}
	if _, name, ok := o.Here(); ok && r.nodes == 1 {
		return []string{name}, nil
	}
	all, err := cli.List[server.NodeRow](ctx, o, "nodes", nil)
	if err != nil {
		return nil, err
	}
	known := len(all)
	all = slices.DeleteFunc(all, func(n server.NodeRow) bool { return n.State != "up" || n.Drained != "" })
	slices.SortStableFunc(all, func(a, b server.NodeRow) int { return a.Jobs - b.Jobs })
	if len(all) < r.nodes {
		return nil, core.Errorf(core.NodeDrained, "run: -N %d: the system has %s, and %d of them can take a job", r.nodes, core.Plural(known, "node"), len(all)).
			WithRemedy("`weft nodes` shows why; ask for fewer")
	}
	hosts := make([]string, r.nodes)
	for i := range hosts {
		hosts[i] = all[i].Node
	}
	slices.Sort(hosts)
	return hosts, nil
}

func (r *runArgs) named() ([]string, error) {
	on, err := hostlist.Parse(r.on)
	if err != nil {
		return nil, core.Errorf(core.BadCall, "run: --on: %w", err)
	}
	hosts, err := on.ExpandMax(maxRun)
	if err != nil {
		return nil, core.Errorf(core.BadCall, "run: --on: %w", err)
	}
	for i, h := range hosts {
		if slices.Contains(hosts[:i], h) {
			return nil, fmt.Errorf("run: --on names node %s twice", h)
		}
	}
	switch {
	case len(hosts) == 0:
		return nil, fmt.Errorf("run: --on names no node")
	case r.nodes > 1 && r.nodes != len(hosts):
		return nil, fmt.Errorf("run: --on names %s and -N says %d", core.Plural(len(hosts), "node"), r.nodes)
	}
	return hosts, nil
}
