package engine

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// View is a reservation as it stands, for people. A list shows thousands of them, so it has few of the nodes.
type View struct {
	Reservation
	State   State
	Since   time.Time
	Why     string
	Joined  int           // nodes
	Unclean int           // of these, those that are not clean
	Some    []NodeView    // the first of those, at most MaxSome
	Left    time.Duration // of the quarantine
	Lost    bool          // it vanished from its scheduler's answers and waits for an administrator
	Kept    bool          // its scheduler's answers lack it, and a node sees that it lives
	Steps   []Draw        // that live and have drawn a VNI, or share the job's on several nodes
}

// MaxSome bounds the nodes of a View.
const MaxSome = 64

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
	Unusable []string // of Devices, those that no job can use
	Jobs     int      // whose services it may hold
	Awaited  bool
	TwoHosts string  // which hosts have its certificate; empty: one has it
	Shown    []Shown // which schedulers have it drained, by name
	Trouble  string  // why it is out of service until that ends by itself, whatever Drained says; empty: nothing is
}

// Shown is a node's drain in a scheduler.
type Shown struct {
	Scheduler string
	core.Drain
}

// Reservations gives those with a serial above after, in order of serials.
func (m *Machine) Reservations(after uint64) iter.Seq[View] {
	return func(yield func(View) bool) {
		for r := range m.above(after) {
			if !yield(m.view(r)) {
				return
			}
		}
	}
}

// above gives the reservations with a higher serial than after, in order.
func (m *Machine) above(after uint64) iter.Seq[*reservation] {
	return func(yield func(*reservation) bool) {
		for _, s := range past(m.order, after) {
			if r := m.serials[s]; r != nil && !yield(r) {
				return
			}
		}
	}
}

// past is what of a sorted list comes after one, which need not be of it.
func past[T cmp.Ordered](list []T, one T) []T {
	at, there := slices.BinarySearch(list, one)
	if there {
		at++
	}
	return list[at:]
}

// Grants are those of jobs that run, made since a time by the wall clock: of each scheduler the newest, at most most, in the order in
// which they were made. Each is as its run's first node has it.
func (m *Machine) Grants(since time.Time, most int) (out []core.Grant) {
	found := map[string]int{}
	for _, serial := range slices.Backward(m.order) {
		r := m.serials[serial]
		if r == nil || r.state != Active || r.Adopted || r.Unknown || r.Made.Before(since) || found[r.Job.Scheduler] == most {
			continue
		}
		if n := m.nodes[r.First.Node]; n != nil {
			found[r.Job.Scheduler]++
			out = append(out, m.grant(r, n, nil))
		}
	}
	slices.Reverse(out)
	return out
}

// Holder is a reservation that holds VNI.
type Holder struct {
	VNI core.VNI
	View
}

// Holders gives who holds the VNIs from first to last, in order of VNIs and then of serials; of the first only those with a
// serial above after. More than one holds a VNI only where unknown services share it or a lost store let it happen.
func (m *Machine) Holders(first, last core.VNI, after uint64) iter.Seq[Holder] {
	return func(yield func(Holder) bool) {
		for v := int(first); v <= int(last); v++ {
			for _, r := range m.heldBy(core.VNI(v)) {
				if r.Serial > after && !yield(Holder{core.VNI(v), m.view(r)}) {
					return
				}
			}
			after = 0
		}
	}
}

// Job gives the reservations of a job's id, all its generations.
//
// Where none has that id, it may be the short form of ids of PBS.
func (m *Machine) Job(id core.JobID) []View {
	found := m.views(m.job(id))
	if len(found) > 0 {
		return found
	}
	for _, server := range slices.Sorted(maps.Keys(m.issuers)) {
		found = append(found, m.views(m.job(core.JobID{Scheduler: id.Scheduler, Job: id.Job + "." + server}))...)
	}
	return found
}

func (m *Machine) views(list []*reservation) (all []View) {
	for _, r := range list {
		all = append(all, m.view(r))
	}
	return all
}

// Nodes gives the nodes that config.hcl declares or that ever reported, by name, behind after.
func (m *Machine) Nodes(after string) iter.Seq[NodeStatus] {
	return func(yield func(NodeStatus) bool) {
		for _, name := range past(m.names, after) {
			n := m.nodes[name]
			if n == nil {
				n = &node{Node: Node{Name: name}}
			}
			s := NodeStatus{Node: n.Node, Attached: n.attached, Devices: n.devices, Unusable: n.unusable, Awaited: m.awaited[name]}
			for _, j := range n.open {
				if !j.of.Unknown {
					s.Jobs++
				}
			}
			s.Trouble = n.trouble()
			for _, scheduler := range slices.Sorted(maps.Keys(m.watches)) {
				if d, is := m.watches[scheduler].drains.shown[name]; is {
					s.Shown = append(s.Shown, Shown{scheduler, d})
				}
			}
			if n.paired() {
				s.TwoHosts = n.Twin.Reason()
			}
			if !n.attached {
				s.Away = m.now.Uptime - n.lost
			}
			if !yield(s) {
				return
			}
		}
	}
}

// Attached reports whether the node has a session.
func (m *Machine) Attached(node string) bool { return m.nodes[node] != nil && m.nodes[node].attached }

// Named reports whether Nodes has a node of that name.
func (m *Machine) Named(node string) bool {
	_, there := slices.BinarySearch(m.names, node)
	return there
}

// Drain is why Weft has a node out of service; zero: it has not.
func (m *Machine) Drain(name string) core.Drain {
	if n := m.nodes[name]; n != nil {
		return n.Node.Drain()
	}
	return core.Drain{}
}

// Open is how many reservations' services a node may hold.
func (m *Machine) Open(name string) int {
	if n := m.nodes[name]; n != nil {
		return len(n.open)
	}
	return 0
}

func (m *Machine) view(r *reservation) View {
	v := View{
		Reservation: r.Reservation, State: r.state, Since: time.Unix(0, r.since).UTC(), Why: r.why, Lost: r.vanished > 0, Kept: r.isKept(),
		Joined: len(r.joins.list), Unclean: int(r.unclean),
	}
	if r.steps != nil {
		v.Steps = slices.Clone(r.steps.live)
	}
	for _, j := range r.joins.list {
		if len(v.Some) == min(v.Unclean, MaxSome) {
			break
		}
		if !j.clean {
			v.Some = append(v.Some, j.view())
		}
	}
	if r.state == Quarantined {
		v.Left = max(0, m.quarantine(r)-(m.now.Uptime-r.entered))
	}
	return v
}

func (j *join) view() NodeView {
	return NodeView{
		Node: j.node.Name, Clean: j.clean, Attached: j.node.attached, Busy: j.busy > 0, Vouches: j.vouches(), Why: j.why, Fit: j.fit,
	}
}

// NodesOf gives at most n nodes of a reservation, in the order in which they joined, without the first from.
func (m *Machine) NodesOf(serial uint64, from, n int) (out []NodeView) {
	if r := m.serials[serial]; r != nil {
		list := r.joins.list[min(from, len(r.joins.list)):]
		for _, j := range list[:min(n, len(list))] {
			out = append(out, j.view())
		}
	}
	return out
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
