package engine

import (
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

// Observed says that the jobs of a scheduler are only observed, but for those that are wholly within it. The zero value
// has no job within it.
type Observed struct {
	Nodes  func(node string) bool // nil: every node, where there are Queues
	Queues []string               // none: every queue, where there are Nodes
}

// On reports whether a job that has the node may be served.
func (o Observed) On(node string) bool {
	if o.Nodes == nil {
		return len(o.Queues) > 0
	}
	return o.Nodes(node)
}

// Serves reports whether the job is wholly within o.
func (o Observed) Serves(job core.Job) bool {
	if len(o.Queues) > 0 && !slices.Contains(o.Queues, job.Queue) || job.Nodes() == 0 {
		return false
	}
	for _, p := range job.Placements {
		list, err := hostlist.Parse(p.Hosts)
		if err != nil {
			return false
		}
		for host := range list.Expand() {
			if !o.On(host) {
				return false
			}
		}
	}
	return true
}

// MaxForeign bounds the VNIs that Weft takes out of its pools for the services of others on one node.
const MaxForeign = 4096

// observing reports whether another manager makes services: those without a record are no concern of Weft's.
func (m *Machine) observing() bool { return len(m.cfg.Observe) > 0 }

// leaves reports whether no job of the scheduler that has the node is served, and Weft has granted the job nothing
// before. Then the scheduler is not asked.
func (m *Machine) leaves(in Reserve) bool {
	o, observed := m.cfg.Observe[in.Ask.Key.Scheduler]
	return observed && !o.On(in.Node) && !m.granted(in.Ask.Key.JobID)
}

// granted reports whether the job has a reservation that it may use.
func (m *Machine) granted(job core.JobID) bool {
	for r := m.jobs[job]; r != nil; r = r.next {
		if r.state == Active {
			return true
		}
	}
	return false
}

// passBy ends a Reserve of a job that is only observed. The job goes on as it is.
func (m *Machine) passBy(in Reserve) {
	m.do(Refused{in.Call, core.Errorf(core.Observed, "job %s: node %s: it is only observed", in.Ask.Key, in.Node)})
}

// spares reports whether no job on the node is served, so that Weft does not take it out of service.
func (m *Machine) spares(node string) bool {
	return m.observing() && !slices.ContainsFunc(m.cfg.Schedulers, func(s string) bool {
		o, observed := m.cfg.Observe[s]
		return !observed || o.On(node)
	})
}

// foreign keeps the VNIs of services that another manager has made on n out of the pools, while they are seen.
func (m *Machine) foreign(n *node, services []core.Service) {
	var seen []core.VNI
	for _, s := range services {
		if m.observing() && len(seen)+len(s.VNIs) <= MaxForeign && m.cfg.Served(n.Name, s.VNIs) == "" {
			seen = append(seen, s.VNIs...)
		}
	}
	slices.Sort(seen)
	seen = slices.Compact(seen)
	if m.observing() && !n.sees() { // a service of a NIC that is away is not gone
		seen = append(seen, n.foreign...)
		slices.Sort(seen)
		seen = slices.Compact(seen)
	}
	before := n.foreign
	n.foreign = seen
	for _, v := range seen {
		if _, had := slices.BinarySearch(before, v); had {
			continue
		}
		m.alloc.Hold(v)
		for _, r := range m.heldBy(v) {
			text := "another manager's service on " + n.Name + " and " + r.holder() + " hold the same VNI"
			m.do(Say{Level: Alarm, Run: r.Job.Run, Node: n.Name, VNIs: []core.VNI{v}, Text: text})
		}
	}
	for _, v := range before {
		if _, has := slices.BinarySearch(seen, v); !has {
			m.alloc.Give(v)
		}
	}
}
