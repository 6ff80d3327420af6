package engine

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
)

// View is a reservation as it stands, for people.
type View struct {
	Reservation
	State State
	Since time.Time
	Why   string
	Nodes []NodeView
	Left  time.Duration // of the quarantine
	Lost  bool          // it vanished from its scheduler's answers and waits for an administrator
	Kept  bool          // its scheduler's answers lack it, and a node sees that it lives
}

// NodeView is one node of a reservation.
type NodeView struct {
	Node     string
	Clean    bool
	Attached bool
	Busy     bool
	Vouches  bool // the scheduler's answers lack the run, and the node sees that it lives
	Why      string
	Fit      *Fit // nil: unknown
}

// NodeStatus is a node as it stands.
type NodeStatus struct {
	Node
	Attached bool
	Away     time.Duration // out of contact for so long
	Devices  []string
	Open     int // reservations whose services it may hold
	Awaited  bool
	TwoHosts string // which hosts have its certificate; empty: one has it
}

// Reservations gives those with a serial above after, in order of serials.
func (m *Machine) Reservations(after uint64) iter.Seq[View] {
	return func(yield func(View) bool) {
		var serials []uint64 // the rest only: who lists by pages has seen what comes before
		for s := range m.serials {
			if s > after {
				serials = append(serials, s)
			}
		}
		slices.Sort(serials)
		for _, s := range serials {
			if !yield(m.view(m.serials[s])) {
				return
			}
		}
	}
}

// Grants are those of jobs that run, made since a time by the wall clock, in the order in which they were made, each as its run's first node has it.
func (m *Machine) Grants(since time.Time) []core.Grant {
	var young []*reservation
	for _, r := range m.serials {
		if r.state == Active && !r.Adopted && !r.Unknown && !r.Made.Before(since) {
			young = append(young, r)
		}
	}
	slices.SortFunc(young, bySerial)
	out := make([]core.Grant, 0, len(young))
	for _, r := range young {
		if n := m.nodes[r.First.Node]; n != nil {
			out = append(out, m.grant(r, n, nil))
		}
	}
	return out
}

// Holders are the reservations that hold v; more than one only where unknown services share it or a lost store let it happen.
func (m *Machine) Holders(v core.VNI) []View { return m.views(m.holders[v]) }

// Job gives the reservations of a job's id, all its generations.
func (m *Machine) Job(id core.JobID) []View { return m.views(m.job(id)) }

func (m *Machine) views(list []*reservation) (all []View) {
	for _, r := range list {
		all = append(all, m.view(r))
	}
	return all
}

// Nodes gives all nodes that config.hcl declares or that ever reported, by name.
func (m *Machine) Nodes() []NodeStatus {
	names := slices.AppendSeq(slices.Clone(m.cfg.Nodes), maps.Keys(m.nodes))
	slices.Sort(names)
	names = slices.Compact(names)
	out := make([]NodeStatus, 0, len(names))
	for _, name := range names {
		n := m.nodes[name]
		if n == nil {
			n = &node{Node: Node{Name: name}}
		}
		s := NodeStatus{Node: n.Node, Attached: n.attached, Devices: n.devices, Open: len(n.open), Awaited: m.awaited[name]}
		if n.paired() {
			s.TwoHosts = n.Twin.Reason()
		}
		if !n.attached {
			s.Away = m.now.Uptime - n.lost
		}
		out = append(out, s)
	}
	return out
}

// Open is how many reservations' services a node may hold.
func (m *Machine) Open(name string) int {
	if n := m.nodes[name]; n != nil {
		return len(n.open)
	}
	return 0
}

func (m *Machine) view(r *reservation) View {
	v := View{Reservation: r.Reservation, State: r.state, Since: r.since, Why: r.why, Lost: r.vanished > 0, Kept: r.isKept()}
	for _, j := range r.joins.list {
		v.Nodes = append(v.Nodes, NodeView{
			Node: j.node.Name, Clean: j.clean, Attached: j.node.attached, Busy: j.busy > 0, Vouches: j.vouches(), Why: j.why, Fit: j.fit,
		})
	}
	slices.SortFunc(v.Nodes, func(a, b NodeView) int { return strings.Compare(a.Node, b.Node) })
	if r.state == Quarantined {
		v.Left = max(0, m.quarantine(r)-(m.now.Uptime-r.entered))
	}
	return v
}

// holder finds a reservation other than but that holds v.
func (m *Machine) holder(v core.VNI, but *reservation) *reservation {
	for _, r := range m.holders[v] {
		if r != but {
			return r
		}
	}
	return nil
}

func sortedOpen(n *node) []uint64 { return slices.Sorted(maps.Keys(n.open)) }

// Policy is the hash of the policy that decides now.
func (m *Machine) Policy() string { return m.cfg.Policy.Hash }

// Text is the text of a policy that a live reservation was decided by, or empty.
func (m *Machine) Text(hash string) string { return m.kept[hash] }

// System is what policy may know of the whole now.
func (m *Machine) System() System { return m.cfg.System }

// PoolOf is the pool that v is of, or empty.
func (m *Machine) PoolOf(v core.VNI) string {
	for _, p := range m.cfg.Pools {
		if p.Contains != nil && p.Contains(v) {
			return p.Name
		}
	}
	return ""
}
