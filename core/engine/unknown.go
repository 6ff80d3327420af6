package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// unknown takes the services of n that no record explains. Those that hold a VNI of a pool, or of a live reservation, are adopted as held and shown: their
// VNIs are not given to anybody until the services are gone. Only an administrator removes them.
func (m *Machine) unknown(n *node, services []core.Service) {
	found := map[core.Run][]core.VNI{}
	for _, s := range services {
		if slices.ContainsFunc(s.VNIs, m.concerns) {
			found[strayRun(n.Name, s)] = s.VNIs
		}
	}
	for _, serial := range sortedOpen(n) {
		j := n.open[serial]
		if !j.of.Unknown {
			continue
		}
		if _, still := found[j.of.Job.Run]; !still && n.whole() && len(n.blind) == 0 {
			m.confirm(j)
		}
	}
	byJob := func(a, b core.Run) int { return strings.Compare(a.Job, b.Job) }
	for _, run := range slices.SortedFunc(maps.Keys(found), byJob) {
		if r := m.run(run); r != nil {
			if r.state == Quarantined {
				m.rouse(r, "it is there again")
				m.enlist(r, n)
				m.setState(r, Held, strayWhy(n.Name))
			}
			continue
		}
		m.meta.Serial++
		rec := Reservation{
			Serial: m.meta.Serial, Job: core.Job{Run: run}, VNIs: m.pooled(found[run]), Made: m.now.Wall, Unknown: true,
			First: Join{Serial: m.meta.Serial, Node: n.Name, Boot: n.Boot},
		}
		r := m.insert(rec, Held)
		m.hold(r)
		m.place(r)
		m.join(r, rec.First)
		m.write(rec)
		m.setState(r, Held, strayWhy(n.Name))
		m.do(Say{Level: Warn, Node: n.Name, VNIs: found[run], Text: "a service that Weft did not make holds VNIs of its pools"})
	}
}

// whole reports whether all NICs of n's inventory are there: what stands on one that is away is not seen, and not gone.
func (n *node) whole() bool {
	return !slices.ContainsFunc(n.Inventory, func(d string) bool { return !slices.Contains(n.devices, d) })
}

// concerns reports whether v is of a pool or of a live reservation.
func (m *Machine) concerns(v core.VNI) bool {
	return m.PoolOf(v) != "" || m.holder(v, nil) != nil
}

// strayRun names an unknown service by where it is and whose it is, so that the NICs of a node that carry the same count once.
func strayRun(node string, s core.Service) core.Run {
	return core.Run{
		Key:         core.Key{JobID: core.JobID{Job: fmt.Sprintf("unknown:%s:%d:%s", node, s.Owner.ID, core.FormatVNIs(s.VNIs))}},
		Fingerprint: core.Fingerprint{UID: s.Owner.ID},
	}
}

func strayWhy(node string) string {
	return "unknown services on " + node + "; `weft doctor` there shows them, and `weft clean` removes them"
}
