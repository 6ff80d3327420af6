package engine

import (
	"maps"
	"slices"

	"github.com/weft-hpc/weft/core"
)

// orderAll orders every node of r that is there and not clean to clean it.
func (m *Machine) orderAll(r *reservation) {
	r.ordered = m.now.Uptime
	if r.Unknown {
		return
	}
	orders := r.order()
	for _, j := range r.joins.list {
		if !j.clean && j.node.attached && !j.node.paired() {
			m.do(Order{j.node.Name, j.node.session, orders})
		}
	}
}

// ordersFor is all that n must be told at the start of a session.
func (m *Machine) ordersFor(n *node) []core.Clean {
	var out []core.Clean
	for _, serial := range slices.Sorted(maps.Keys(n.open)) {
		r := n.open[serial].of
		if (r.state == Draining || r.state == Held) && !r.Unknown {
			out = append(out, core.Clean{Run: r.Job.Run, VNIs: r.vnis()})
		}
	}
	return out
}
