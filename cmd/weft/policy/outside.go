package policy

import (
	"fmt"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

// outside are nodes that a job cannot be on: rules that match nodes are not for it as they are meant.
type outside struct {
	Count int      `json:"count"`
	Nodes []string `json:"nodes"` // the first of them, at most maxOutside
}

const maxOutside = 16

func (u *outside) String() string {
	list := hostlist.Fold(u.Nodes)
	if more := u.Count - len(u.Nodes); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return "config.hcl has no node " + list + ": no job can be there; policy was asked all the same"
}

// outside finds what of a job's nodes the configuration does not have; nil: it has all.
func (r ruleset) outside(job core.Job) (*outside, error) {
	there, err := hostlist.ParseSet(r.Env.Nodes)
	if err != nil {
		return nil, err
	}
	out := &outside{Nodes: []string{}}
	for _, share := range job.Placements {
		list, err := hostlist.Parse(share.Hosts)
		if err != nil {
			return nil, err
		}
		for name := range list.Expand() {
			if there.Contains(name) {
				continue
			}
			if out.Count++; len(out.Nodes) < maxOutside {
				out.Nodes = append(out.Nodes, name)
			}
		}
	}
	if out.Count == 0 {
		return nil, nil
	}
	return out, nil
}
