package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-hpc/weft/core"
)

// forget takes an administrator's word that nothing more will come.
func (m *Machine) forget(in Forget) {
	if in.Vanished {
		m.do(Done{Call: in.Call, Count: m.forgetVanished()})
		return
	}
	found, what := m.job(in.Job), "job "+in.Job.String()
	if in.Serial != 0 {
		found, what = nil, fmt.Sprintf("reservation %d", in.Serial)
		if r := m.serials[in.Serial]; r != nil {
			found = []*reservation{r}
		}
	}
	done := Done{Call: in.Call}
	for _, r := range found {
		active := r.state == Active
		r.by = ""
		m.drain(r, "an administrator says that it is over", "")
		if m.writeOff(r) || active {
			done.Count++
		}
	}
	switch {
	case len(found) == 0:
		done.Err = core.Errorf(core.NotThere, "%s: nothing is held for it any more", what).WithRemedy("`weft vnis` lists what is held")
	case done.Count == 0:
		done.Err = core.Errorf(core.NotAllowed, "job %s: the nodes that still hold it are in contact, so they are not written off", found[0].Job.JobID).
			WithRemedy("`weft vnis` shows what each waits for; a node that stays busy can be written off when the reservation shows as held")
	}
	m.do(done)
}

// forgetVanished ends the jobs of the alarm, and counts them.
func (m *Machine) forgetVanished() (n int) {
	for _, name := range slices.Sorted(maps.Keys(m.watches)) {
		active := m.watches[name].active
		for _, serial := range slices.Sorted(maps.Keys(active)) {
			if r := active[serial]; r.vanished > 0 {
				m.drain(r, "an administrator confirmed that it is gone", "")
				n++
			}
		}
	}
	return n
}

// writeOff takes the administrator's word for nodes that cannot speak for themselves. One that is there is ordered to clean and says so itself, unless it
// has said for too long that it cannot; unknown services go when they are removed, and only then.
func (m *Machine) writeOff(r *reservation) bool {
	stuck, any := r.state == Held && !r.Unknown, r.unclean == 0
	for _, j := range r.joins.list {
		if !j.clean && (!j.node.attached || stuck || j.boot != j.node.Boot) {
			m.confirm(j)
			any = true
		}
	}
	return any
}

// accept takes the NICs that the node has now for its inventory.
func (m *Machine) accept(in Accept) {
	n := m.nodes[in.Node]
	if n == nil || !n.attached {
		m.do(Done{Call: in.Call, Err: core.Errorf(core.NotThere, "node %q: it is not there to say which NICs it has", core.Clip(in.Node))})
		return
	}
	if why := n.trouble(); why != "" && why != n.crowd {
		m.do(Done{Call: in.Call, Err: n.refuses("its NICs cannot be accepted", why)})
		return
	}
	n.Inventory, n.Beyond = slices.Clone(n.devices), nil
	m.write(n.Node)
	m.unknown(n, n.strays) // what stood on a NIC that is accepted as gone is gone
	m.redrain(n, n.trouble())
	m.do(Order{n.Name, n.session, core.Orders{Inventory: slices.Clone(n.Inventory)}})
	m.do(Done{Call: in.Call, Count: len(n.Inventory)})
}
