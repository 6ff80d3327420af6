package flux

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/core/scheduler"
)

// maxNodes bounds a job.
const maxNodes = 100_000

// resources are a job's R (RFC 20).
type resources struct {
	Version   int `json:"version"`
	Execution struct {
		Lite []struct {
			Rank     string            `json:"rank"`
			Children map[string]string `json:"children"`
		} `json:"R_lite"`
		Nodes      []string `json:"nodelist"`
		Start      float64  `json:"starttime"`
		Expiration float64  `json:"expiration"` // 0: none
	} `json:"execution"`
}

var errVersion = errors.New("it is of a version that this release does not read")

// hosts is the job's list of nodes, as it stands there.
func (r *resources) hosts() string { return strings.Join(r.Execution.Nodes, ",") }

// limit is how long the job may run, in seconds; nil where its times make no sense.
func (r *resources) limit() *int64 {
	x := r.Execution
	switch n := math.Round(x.Expiration - x.Start); {
	case x.Expiration == 0:
		return new(core.Unlimited)
	case n >= 0 && n < 1<<53:
		return new(int64(n))
	}
	return nil
}

// shares are a job's nodes by its cores and all cores on them.
func shares(job, all map[string]int) []core.Placement {
	nodes := make(map[string]core.Share, len(job))
	for name, n := range job {
		nodes[name] = core.Share{Cores: n, Total: all[name]}
	}
	return scheduler.Shares(nodes)
}

// askCores asks for the cores of the instance's nodes.
func (p *Plugin) askCores(ctx context.Context) map[string]int {
	var s status
	if p.link.call(ctx, "resource.status", 0, struct{}{}, &s) != nil {
		return nil
	}
	all, _ := s.R.cores()
	return all
}

// cores are those on each node.
func (r *resources) cores() (map[string]int, error) {
	names, cores, err := r.byRank()
	if err != nil {
		return nil, err
	}
	on := map[string]int{} // several brokers may call their host by one name
	for rank, n := range cores {
		on[names[rank]] += n
	}
	return on, nil
}

// byRank are the node of each rank and its cores. The names in nodelist belong to the ranks in ascending order; an
// instance's R may leave ranks out, such as that of a management node.
func (r *resources) byRank() (names map[int]string, cores map[int]int, err error) {
	if r.Version != 1 {
		return nil, nil, fmt.Errorf("R: %w: %d", errVersion, r.Version)
	}
	cores = map[int]int{}
	for _, e := range r.Execution.Lite {
		ranks, err := parseIDs(e.Rank)
		if err != nil {
			return nil, nil, fmt.Errorf("R: its ranks: %w", err)
		}
		n := 0
		if text := e.Children["core"]; text != "" {
			set, err := parseIDs(text)
			if err != nil {
				return nil, nil, fmt.Errorf("R: its cores: %w", err)
			}
			n = count(set)
		}
		if len(cores)+count(ranks) > maxNodes {
			return nil, nil, fmt.Errorf("R: it has more than %d ranks", maxNodes)
		}
		for _, s := range ranks {
			for rank := s.low; rank <= s.high; rank++ {
				cores[rank] += n
			}
		}
	}
	list, err := hostlist.Parse(r.hosts())
	if err != nil {
		return nil, nil, fmt.Errorf("R: its nodelist: %w", err)
	}
	hosts, err := list.ExpandMax(maxNodes)
	if err != nil {
		return nil, nil, fmt.Errorf("R: its nodelist: %w", err)
	}
	if len(hosts) != len(cores) || len(hosts) == 0 {
		return nil, nil, fmt.Errorf("R: it has %d ranks and names %d nodes", len(cores), len(hosts))
	}
	names = make(map[int]string, len(hosts))
	for i, rank := range slices.Sorted(maps.Keys(cores)) {
		names[rank] = hosts[i]
	}
	return names, cores, nil
}
