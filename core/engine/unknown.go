package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// unknown takes the services of n that no record explains. Those that hold a VNI of a pool, or of a live reservation, are
// adopted as held and shown: their VNIs are not given to anybody until the services are gone. Only an administrator
// removes them. A node whose unknown services hold more than Rules.Unknown VNIs is out of service itself: what is beyond
// the bound is not held, or one node could take every pool.
func (m *Machine) unknown(n *node, services []core.Service) {
	n.strays = services
	defer m.foreign(n, services)
	found, over := m.found(n, services)
	for _, serial := range sortedOpen(n) {
		j := n.open[serial]
		if !j.of.Unknown || n.paired() || j.boot != n.Boot {
			continue
		}
		_, still := found[j.of.Job.Run]
		if !still && n.sees() || over[j.of.Job.Run] || len(j.of.VNIs) > m.rules.Unknown {
			m.confirm(j)
		}
	}
	if n.crowd = ""; len(over) > 0 {
		n.crowd = fmt.Sprintf("%s%d VNIs; remove them with `weft clean`", crowdPrefix, m.rules.Unknown)
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
			Serial: m.meta.Serial, Job: core.Job{Run: run}, VNIs: m.pooled(slices.Sorted(slices.Values(found[run]))), Made: m.now.Wall, Unknown: true,
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
	m.keepBeyond(n, found)
}

// keepBeyond writes down the NICs outside the inventory that have services of found. One that leaves takes them out of
// sight, and Weft would take them for gone.
func (m *Machine) keepBeyond(n *node, found map[core.Run][]core.VNI) {
	var all []string
	if slices.ContainsFunc(sortedOpen(n), func(serial uint64) bool { return n.open[serial].of.Unknown }) {
		all = slices.Clone(n.Beyond)
	}
	for _, s := range n.strays {
		if found[strayRun(n.Name, s)] != nil && !slices.Contains(n.Inventory, s.Device) && !slices.Contains(all, s.Device) {
			all = append(all, s.Device)
		}
	}
	if slices.Sort(all); !slices.Equal(all, n.Beyond) {
		n.Beyond = all
		m.write(n.Node)
	}
}

// found are the VNIs of n's unknown services that are to be held, and the services beyond the bound, which counts those
// on NICs that are away too. The small ones are held first: a job that was forgotten has few VNIs.
func (m *Machine) found(n *node, services []core.Service) (found map[core.Run][]core.VNI, over map[core.Run]bool) {
	found, over = map[core.Run][]core.VNI{}, map[core.Run]bool{}
	for _, s := range services {
		switch {
		case m.observing():
		case m.cfg.Served(n.Name, s.VNIs) != "" || !slices.ContainsFunc(s.VNIs, m.concerns):
		case len(s.VNIs) > m.rules.Unknown:
			over[core.Run{}] = true // its name would be as long as its VNIs
		default:
			found[strayRun(n.Name, s)] = s.VNIs
		}
	}
	sum := 0
	for _, j := range n.open {
		if _, seen := found[j.of.Job.Run]; j.of.Unknown && !seen && !over[j.of.Job.Run] && !n.sees() {
			sum += len(j.of.VNIs)
		}
	}
	for _, run := range slices.SortedFunc(maps.Keys(found), func(a, b core.Run) int {
		return cmp.Or(cmp.Compare(len(found[a]), len(found[b])), strings.Compare(a.Job, b.Job))
	}) {
		if sum += len(found[run]); sum > m.rules.Unknown {
			over[run] = true
			delete(found, run)
		}
	}
	return found, over
}

// crowdPrefix begins the reason of a node whose unknown services hold too many VNIs.
const crowdPrefix = "its unknown services hold more than "

// judgeStrays looks at all unknown services again, by a changed configuration.
func (m *Machine) judgeStrays() {
	for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
		if n := m.nodes[name]; n.attached && (len(n.strays) > 0 || n.spared != "") {
			m.unknown(n, n.strays)
			m.redrain(n, n.trouble())
		}
	}
}

// whole reports whether all NICs of n's inventory are there: what stands on one that is away is not seen, and not gone.
func (n *node) whole() bool { return n.has(n.Inventory) }

// has reports whether these NICs are there.
func (n *node) has(nics []string) bool {
	return !slices.ContainsFunc(nics, func(d string) bool { return !slices.Contains(n.devices, d) })
}

// sees reports whether a service that n did not tell is gone.
func (n *node) sees() bool { return n.whole() && n.has(n.Beyond) && len(n.blind) == 0 }

// concerns reports whether v is of a pool or of a live reservation.
func (m *Machine) concerns(v core.VNI) bool {
	return m.PoolOf(v) != "" || len(m.heldBy(v)) > 0
}

// strayRun names an unknown service by where it is and whose it is, so that the NICs of a node that carry the same count once.
func strayRun(node string, s core.Service) core.Run {
	return core.Run{
		Key:         core.Key{JobID: core.JobID{Job: fmt.Sprintf("unknown:%s:%d:%s", node, s.Owner.ID, core.AllVNIRanges(s.VNIs))}},
		Fingerprint: core.Fingerprint{UID: s.Owner.ID},
	}
}

func strayWhy(node string) string {
	return "unknown services on " + node + "; `weft doctor` there shows them, and `weft clean` removes them"
}
