package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Machine is the system's state. It is not safe for concurrent use: one writer owns it.
type Machine struct {
	cfg   Config
	rules Rules
	alloc Allocator
	pools map[string]*Pool

	meta    Meta
	serials map[uint64]*reservation
	order   []uint64                    // serials in their order, a few that are free again among them
	jobs    map[core.JobID]*reservation // the newest; the others of its id follow by next
	nodes   map[string]*node
	names   []string // of nodes, those of cfg too, in order
	watches map[string]*watch
	quotas  map[tally]*use
	begins  begins
	issuers map[string]bool   // servers of PBS in the ids of jobs since the start
	texts   map[string]int    // live reservations that were decided by it
	kept    map[string]string // texts of the policies that the store keeps, by hash
	ended   map[core.Run]grave
	endedAt []Tombstone             // in the order they ended, oldest first
	closing map[uint64]*reservation // draining and held
	resting []*reservation          // quarantined, in the order it began
	least   time.Duration           // the shortest quarantine of all
	cursors map[string]core.VNI
	holders [][]*reservation // by VNI, as far as one was ever held, in order of serials
	awaited map[string]bool  // nodes that must report in full before anything is granted
	twins   map[string]*node
	keepers map[string]*node // whose NICs kept a job's services: a drain that a tick may end

	quiet   time.Duration // since when nobody is awaited any more while a store is lost; 0: somebody is
	answers uint32        // complete answers, counted
	late    []core.Clean  // orders that come of the report in hand
	untold  []Action      // of New
	now     core.Moment
	records []Record
	actions []Action
}

// reservation is a Reservation with what changes.
type reservation struct {
	Reservation
	next       *reservation  // of the same job id, made earlier
	since      int64         // wall, in ns since 1970, for people
	entered    time.Duration // running time, for rules
	why        string
	by         string // as in Transition
	joins      joins
	prepared   time.Duration // newest prepare; of a loaded one, when it was loaded
	shown      time.Duration // when the newest answer that shows it was asked for
	missed     time.Duration // when the newest answer that lacks it was asked for
	vanished   time.Duration // when the alarm was raised for it; 0: not
	asked      time.Duration // when its nodes were last asked whether it lives
	ordered    time.Duration
	cleaned    time.Duration // when a node of it became clean last
	placements []hosts
	counted    []counted // its part of its quotas' tallies, while it counts
	unclean    int32     // joins that are not clean
	stuck      int32     // joins that are stuck
	state      State
	known      bool   // shown counts
	answer     uint32 // the newest complete answer that has its id
	verdict    verdict
	missing    uint8  // complete answers in a row that lack it, begun after prepared; at most 2
	hooked     bool   // a clean-up hook was seen on a node of it
	kept       bool   // two answers lacked it, and a node vouched for it; counts while missing is 2
	stale      bool   // what is stuck has changed since why was written
	fit        *Fit   // what a node said last
	steps      *steps // nil: no step of it draws
}

// node is what is known of a node.
type node struct {
	Node
	session  uint64
	attached bool
	number   uint64
	lost     time.Duration // since when it is out of contact, while not attached
	agent    string        // core.Report.Agent of its session
	hardware string        // core.Report.Hardware of its session
	heard    time.Duration // when its second host came last
	devices  []string
	blind    []string         // of devices, those that could not be read
	unusable []string         // of devices, those that no job can use
	unread   string           // why it cannot read its NICs; empty: it can
	told     bool             // it has reported in full since the machine was loaded or the recovery began
	open     map[uint64]*join // joins that are not clean
	stuck    int              // of these, how many are stuck
	claims   int              // unknown heads that it has shown
	strays   []core.Service   // its unknown services, as it reported them last
	changed  time.Duration    // when Drained changed last; 0: not in this process
	missed   []core.Unanswered
	crowd    string     // why it is out of service for strays, which are not held beyond the bound; empty: it is not
	foreign  []core.VNI // of its services that another manager made, in order; held in the pools
	spared   string     // why it would be out of service if jobs on it were served
}

// watch is a scheduler's part of the machine.
type watch struct {
	active map[uint64]*reservation
	blind  string // why its answers are not complete; empty: they are
	drains mirror
}

// Start is what a machine begins with beside its store.
type Start struct {
	ID          string    // of the store, where it is new
	Incarnation uint64    // random, not 0
	Witness     core.Head // the newest head known from outside the store; zero: none is
}

// New builds the machine from a store's records and begins an incarnation. What it returns must be committed before
// Step. A store that is new, or that the witness does not vouch for, grants nothing until every node of cfg has reported.
func New(cfg Config, alloc Allocator, records []Record, start Start, now core.Moment) (*Machine, []Record) {
	m := empty(cfg, alloc, now)
	m.load(records)
	if m.meta.Head.Store == "" {
		m.meta.Head, m.meta.New = core.Head{Store: start.ID}, true
		m.beginRecovery()
	} else {
		m.compare(start.Witness)
		m.vouched(start.Witness)
	}
	m.incarnate(start.Incarnation)
	m.await()
	m.finishRecovery()
	out := m.records
	m.records, m.actions, m.untold = nil, nil, m.actions
	return m, out
}

// Follow builds a machine from the records of another's store, to be looked at. It must not Step.
func Follow(cfg Config, alloc Allocator, records []Record, now core.Moment) *Machine {
	m := empty(cfg, alloc, now)
	m.load(records)
	m.await()
	m.records, m.actions = nil, nil
	return m
}

func empty(cfg Config, alloc Allocator, now core.Moment) *Machine {
	m := &Machine{
		alloc: alloc, now: now,
		serials: map[uint64]*reservation{}, jobs: map[core.JobID]*reservation{}, nodes: map[string]*node{},
		watches: map[string]*watch{}, quotas: map[tally]*use{}, issuers: map[string]bool{}, texts: map[string]int{}, kept: map[string]string{}, ended: map[core.Run]grave{},
		closing: map[uint64]*reservation{}, cursors: map[string]core.VNI{}, awaited: map[string]bool{},
		twins: map[string]*node{}, keepers: map[string]*node{},
	}
	m.configure(cfg)
	return m
}

// Step takes what happened. The records must be committed, together with Seal's, before any of the actions is done.
func (m *Machine) Step(now core.Moment, in Input) ([]Record, []Action) {
	m.now = now
	m.records, m.actions, m.untold = nil, m.untold, nil
	switch in := in.(type) {
	case Reserve:
		m.reserve(in)
	case Report:
		m.report(in)
	case TwoHosts:
		m.twoHosts(in)
	case Detach:
		m.detach(in)
	case Answer:
		m.answer(in)
	case Forget:
		m.forget(in)
	case SetDrain:
		m.setDrain(in)
	case Drained:
		m.drained(in)
	case Accept:
		m.accept(in)
	case Recover:
		m.goOn(in)
	case Configure:
		m.configure(in.Config)
		m.judgeStrays()
		m.await()
		m.finishRecovery()
	case Tick:
		m.tick()
	}
	records, actions := m.records, m.actions
	m.records, m.actions = nil, nil
	return records, actions
}

// Seal raises the revision and gives the record that belongs to the next commit; it is called once a commit, and only when there is something to write.
func (m *Machine) Seal() Record {
	m.meta.Head.Revision++
	m.meta.Cursors = m.meta.Cursors[:0:0]
	for _, p := range m.cfg.Pools {
		if v, ok := m.cursors[p.Name]; ok {
			m.meta.Cursors = append(m.meta.Cursors, Cursor{p.Name, v})
		}
	}
	return m.meta
}

// Head is the machine's head as of the last Seal.
func (m *Machine) Head() core.Head { return m.meta.Head }

func (m *Machine) write(r Record) { m.records = append(m.records, r) }
func (m *Machine) do(a Action)    { m.actions = append(m.actions, a) }
func (m *Machine) watch(s string) *watch {
	w := m.watches[s]
	if w == nil {
		w = &watch{active: map[uint64]*reservation{}}
		m.watches[s] = w
	}
	return w
}

func (m *Machine) configure(cfg Config) {
	m.cfg, m.rules = cfg, core.OrDefault(cfg.Rules, DefaultRules)
	m.pools, m.least = make(map[string]*Pool, len(cfg.Pools)), m.rules.Quarantine
	for i := range cfg.Pools {
		m.pools[cfg.Pools[i].Name] = &m.cfg.Pools[i]
		m.least = min(m.least, cfg.Pools[i].Quarantine)
	}
	m.names = slices.AppendSeq(slices.Clone(cfg.Nodes), maps.Keys(m.nodes))
	slices.Sort(m.names)
	m.names = slices.Compact(m.names)
}

func (m *Machine) load(records []Record) {
	for _, rec := range records {
		switch rec := rec.(type) {
		case Meta:
			m.meta = rec
		case Text:
			m.kept[rec.Hash] = rec.Text
		case Node:
			n := m.node(rec.Name)
			n.heard = m.now.Uptime
			if n.Node = rec; n.paired() {
				m.twins[rec.Name] = n
			}
			m.noteKept(n)
		case Reservation:
			r := m.insert(rec, Active)
			m.join(r, rec.First)
		case Transition:
			if r := m.serials[rec.Serial]; r != nil {
				r.state, r.since, r.why, r.by = rec.State, rec.Since.UnixNano(), rec.Why, rec.By
				r.restore(rec.Steps)
			}
		case Join:
			if r := m.serials[rec.Serial]; r != nil {
				m.join(r, rec)
			}
		case Tombstone:
			m.bury(rec)
		}
	}
	slices.Sort(m.order)
	// What was granted comes last: a pool goes on behind what it held last.
	for _, granted := range [...]bool{false, true} {
		for _, s := range m.order {
			if r := m.serials[s]; granted == !(r.Adopted || r.Unknown) {
				for _, t := range r.VNIs {
					m.alloc.Hold(t.VNI)
				}
			}
		}
	}
	for _, s := range m.order {
		m.place(m.serials[s])
	}
	for _, c := range m.meta.Cursors {
		m.alloc.Hold(c.VNI)
		m.alloc.Give(c.VNI)
		m.cursors[c.Pool] = c.VNI
	}
	m.dropUnnamed()
}

// maxIssuers bounds the servers of PBS that complete a short id.
const maxIssuers = 64

// insert takes a reservation into the indexes and holds its VNIs; its state is entered by the caller.
func (m *Machine) insert(rec Reservation, s State) *reservation {
	r := &reservation{Reservation: rec, state: s, since: rec.Made.UnixNano(), entered: m.now.Uptime, prepared: m.now.Uptime, next: m.jobs[rec.Job.JobID]}
	m.serials[rec.Serial] = r
	m.order = append(m.order, rec.Serial)
	m.jobs[rec.Job.JobID] = r
	if _, server := core.ShortJobID(rec.Job.Job); server != "" && len(m.issuers) < maxIssuers {
		m.issuers[server] = true
	}
	for _, t := range rec.VNIs {
		m.holdBy(t.VNI, r)
	}
	if rec.Grant.Policy != "" {
		m.texts[rec.Grant.Policy]++
	}
	return r
}

// heldBy are those that hold v.
func (m *Machine) heldBy(v core.VNI) []*reservation {
	if int(v) < len(m.holders) {
		return m.holders[v]
	}
	return nil
}

// holdBy takes r among those that hold v.
func (m *Machine) holdBy(v core.VNI, r *reservation) {
	if more := int(v) + 1 - len(m.holders); more > 0 {
		m.holders = append(m.holders, make([][]*reservation, more)...)
	}
	list := m.holders[v]
	at, _ := slices.BinarySearchFunc(list, r, bySerial)
	m.holders[v] = slices.Insert(list, at, r)
}

// run finds the reservation of a run.
func (m *Machine) run(run core.Run) *reservation {
	for r := m.jobs[run.JobID]; r != nil; r = r.next {
		if r.Job.Run == run {
			return r
		}
	}
	return nil
}

// job gives the reservations of a job's id, oldest first.
func (m *Machine) job(id core.JobID) []*reservation {
	var out []*reservation
	for r := m.jobs[id]; r != nil; r = r.next {
		out = append(out, r)
	}
	slices.Reverse(out)
	return out
}

// leave takes r out of the reservations of its job's id.
func (m *Machine) leave(r *reservation) {
	id := r.Job.JobID
	if m.jobs[id] == r {
		if m.jobs[id] = r.next; r.next == nil {
			delete(m.jobs, id)
		}
		return
	}
	for o := m.jobs[id]; o != nil; o = o.next {
		if o.next == r {
			o.next = r.next
			return
		}
	}
}

func (m *Machine) node(name string) *node {
	n := m.nodes[name]
	if n == nil {
		n = &node{Node: Node{Name: name}, lost: m.now.Uptime, open: map[uint64]*join{}}
		m.nodes[name] = n
		if at, there := slices.BinarySearch(m.names, name); !there {
			m.names = slices.Insert(m.names, at, name)
		}
	}
	return n
}

// place puts r into the indexes of its state.
func (m *Machine) place(r *reservation) {
	switch r.state {
	case Active:
		m.watch(r.Job.Scheduler).active[r.Serial] = r
	case Draining, Held:
		m.closing[r.Serial] = r
		if r.state == Held && !r.Unknown {
			for _, j := range r.joins.list {
				if !j.clean {
					m.mark(j, stuckBefore)
				}
			}
			r.stale = false
		}
	case Quarantined:
		m.resting = append(m.resting, r)
	}
	if r.state == Active || r.state == Draining {
		m.count(r)
	}
}
