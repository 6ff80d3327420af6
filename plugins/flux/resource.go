package flux

import (
	"errors"
	"fmt"
	"maps"
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
		Nodes []string `json:"nodelist"`
	} `json:"execution"`
}

var errVersion = errors.New("it is of a version that this release does not read")

// hosts is the job's list of nodes, as it stands there.
func (r *resources) hosts() string { return strings.Join(r.Execution.Nodes, ",") }

// shares are the job's nodes by its cores on them. The names in nodelist belong to the ranks in ascending order.
func (r *resources) shares() ([]core.Placement, error) {
	if r.Version != 1 {
		return nil, fmt.Errorf("R: %w: %d", errVersion, r.Version)
	}
	cores := map[int]int{}
	for _, e := range r.Execution.Lite {
		ranks, err := parseIDs(e.Rank)
		if err != nil {
			return nil, fmt.Errorf("R: its ranks: %w", err)
		}
		n := 0
		if text := e.Children["core"]; text != "" {
			set, err := parseIDs(text)
			if err != nil {
				return nil, fmt.Errorf("R: its cores: %w", err)
			}
			n = count(set)
		}
		if len(cores)+count(ranks) > maxNodes {
			return nil, fmt.Errorf("R: it has more than %d ranks", maxNodes)
		}
		for _, s := range ranks {
			for rank := s.low; rank <= s.high; rank++ {
				cores[rank] += n
			}
		}
	}
	list, err := hostlist.Parse(r.hosts())
	if err != nil {
		return nil, fmt.Errorf("R: its nodelist: %w", err)
	}
	names, err := list.ExpandMax(maxNodes)
	if err != nil {
		return nil, fmt.Errorf("R: its nodelist: %w", err)
	}
	if len(names) != len(cores) || len(names) == 0 {
		return nil, fmt.Errorf("R: it has %d ranks and names %d nodes", len(cores), len(names))
	}
	on := map[string]int{} // several brokers may call their host by one name
	for i, rank := range slices.Sorted(maps.Keys(cores)) {
		on[names[i]] += cores[rank]
	}
	return scheduler.Placements(on), nil
}
