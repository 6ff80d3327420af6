package engine

import (
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

// hosts is a placement's hostlist, parsed once.
type hosts = hostlist.Set

// parseAll reads the placements' hostlists. One that cannot be read contains nothing, so that no node joins by it.
func parseAll(job core.Job) []hosts {
	out := make([]hosts, len(job.Placements))
	for i, s := range job.Placements {
		out[i], _ = hostlist.ParseSet(s.Hosts)
	}
	return out
}

// index is which of the sets has node, or -1.
func index(sets []hosts, node string) int {
	for i, s := range sets {
		if s.Contains(node) {
			return i
		}
	}
	return -1
}

// placement is the index of the placement that lists node, or -1.
func (r *reservation) placement(node string) int {
	placements := r.placements
	if placements == nil {
		placements = parseAll(r.Job)
	}
	if r.Job.Nodes() > 1 { // others will ask
		r.placements = placements
	}
	return index(placements, node)
}

// granted are the VNIs that the job was given, in grant order.
func (r *reservation) granted() []core.VNI {
	out := make([]core.VNI, 0, len(r.VNIs))
	for _, t := range r.VNIs {
		if t.Name != foundName {
			out = append(out, t.VNI)
		}
	}
	return out
}

// drawable are the VNIs that steps of r draw from, the last that it was granted.
func (r *reservation) drawable() []core.VNI {
	g := r.granted()
	return g[len(g)-min(int(r.Grant.Steps), len(g)):]
}

// vnis are all that r holds.
func (r *reservation) vnis() []core.VNI { return VNIsOf(r.VNIs) }
