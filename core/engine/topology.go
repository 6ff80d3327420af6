package engine

import (
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

// Topology says which nodes are near each other: each is in one group, such as a dragonfly group. It never changes once it is made.
type Topology struct {
	group  map[string]uint16
	groups int
}

// MaxGroups bounds a Topology: a Slingshot address has 9 bits for the group, and 511 is none.
const MaxGroups = 511

// NewTopology makes it of the groups' hostlists. A node that two of them name is in the first.
func NewTopology(groups []string) (*Topology, error) {
	if len(groups) > MaxGroups {
		return nil, core.Errorf(core.BadConfig, "topology: it has %d groups, and a fabric has at most %d", len(groups), MaxGroups)
	}
	t := &Topology{group: map[string]uint16{}, groups: len(groups)}
	for i, text := range groups {
		list, err := hostlist.Parse(text)
		if err != nil {
			return nil, err
		}
		for node := range list.Expand() {
			if _, there := t.group[node]; !there {
				t.group[node] = uint16(i)
			}
		}
	}
	return t, nil
}

// Spread is over how many groups the job's nodes are spread. All of its nodes that are in no group count as one more. 0: there is no topology, or the job's
// nodes are not known.
func (t *Topology) Spread(job core.Job) int {
	if t == nil {
		return 0
	}
	seen := make([]bool, t.groups+1)
	n := 0
	for _, placement := range job.Placements {
		list, err := hostlist.Parse(placement.Hosts)
		if err != nil {
			return 0
		}
		for node := range list.Expand() {
			at, there := t.group[node]
			if !there {
				at = uint16(t.groups)
			}
			if !seen[at] {
				seen[at] = true
				if n++; n == len(seen) {
					return n
				}
			}
		}
	}
	return n
}
