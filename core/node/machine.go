package node

import (
	"cmp"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Config is what a machine is told once. Zero values are replaced by those of DefaultConfig.
type Config struct {
	Node string
	Boot string // the node's boot id; records of another boot must not be given to New

	// SelfService are the scheduler instances on which a job's owner may prepare and clean up its own job (those of type local). Root may everywhere.
	SelfService []string

	Served func([]core.VNI) bool // are they of a data service of which this node is a server: what carries them is its own

	// Observes reports whether jobs of a scheduler are only observed here: another manager makes and removes services, so
	// the NICs are read more often. nil: none is.
	Observes func() bool

	Cores      int           // of the node, as its kernel counts processors; 0: a share of them is all of it
	CleanReply time.Duration // how long a clean-up hook, or the hook of a prepare that failed, waits before it is answered
	BusyDrain  time.Duration // how long a NIC may keep a run from being made or removed before the node is drained, and before a fault is repeated
	Sweep      time.Duration // between readings of the NICs for what has no record
	Refits     int           // how often a service is made smaller when a NIC refuses it for want of one resource
	MaxRuns    int           // runs on the node, those that the server has not yet acknowledged included
	MaxWaiters int           // hooks that wait for one run
}

// DefaultConfig has the limits that suit a compute node.
var DefaultConfig = Config{
	CleanReply: 2 * time.Second, BusyDrain: 5 * time.Minute, Sweep: time.Minute, Refits: 8, MaxRuns: 4096, MaxWaiters: 64,
}

// Backoff of what a NIC refuses: it doubles from the least to the most, and further once the node is drained.
const (
	backoffLeast   = 100 * time.Millisecond
	backoffMost    = 5 * time.Second
	backoffDrained = 30 * time.Second
)

// Machine is one node's. It is not safe for concurrent use.
type Machine struct {
	cfg Config
	now time.Duration
	due time.Duration // nothing is due before; it may be too early, never too late

	runs    []*holding // by ID
	jobs    map[core.JobID][]*holding
	flights map[Attempt]*holding // who awaits which result
	asks    map[Attempt]*step    // steps that await the server
	attempt Attempt
	id      uint64 // the newest given
	seen    core.Head

	tombs    recent[core.Run, Tombstone]
	stamps   recent[core.JobID, int64] // CLOCK_BOOTTIME of the newest clean-up hook
	refusals recent[core.JobID, refusal]
	cleaners []*cleaner
	survey   survey
	witness  witness
	session  session
	links    uint64 // counts sessions
	fullLink uint64 // the newest session whose full report was told
	fault    fault
	sight    sight
	hinted   bool // unplugged has spoken

	records []Record
	actions []Action
}

// never is a time that does not come.
const never = time.Duration(1<<63 - 1)

// New makes the machine of a node from its records. Whatever was under way goes on, and is read from the NICs first. It must be called only when no
// driver call of an earlier process can still be running. What it returns is handled as Step's.
func New(cfg Config, records []Record, now core.Moment) (*Machine, []Record, []Action) {
	m := &Machine{
		cfg: core.OrDefault(cfg, DefaultConfig), now: now.Uptime, due: never,
		jobs: map[core.JobID][]*holding{}, flights: map[Attempt]*holding{}, asks: map[Attempt]*step{},
		tombs: newRecent[core.Run, Tombstone](MaxTombstones), stamps: newRecent[core.JobID, int64](maxStamps),
		refusals: newRecent[core.JobID, refusal](maxRefusals), survey: survey{next: never},
	}
	m.load(records)
	for _, r := range slices.Clone(m.runs) {
		m.resume(r)
	}
	records, actions := m.out()
	return m, records, actions
}

func (m *Machine) out() ([]Record, []Action) {
	records, actions := m.records, m.actions
	m.records, m.actions = nil, nil
	return records, actions
}

// load takes the records in.
func (m *Machine) load(records []Record) {
	var entries []Entry
	var tombs []Tombstone
	var steps []Step
	for _, rec := range records {
		switch rec := rec.(type) {
		case Entry:
			entries = append(entries, rec)
			m.id = max(m.id, rec.ID)
		case Tombstone:
			tombs = append(tombs, rec)
			m.id = max(m.id, rec.ID)
		case Step:
			steps = append(steps, rec)
		case Seen:
			m.seen = rec.Head
			m.id = max(m.id, rec.ID)
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.ID, b.ID) })
	for _, e := range entries {
		m.add(&holding{Entry: e, retry: never, drainAt: never})
	}
	m.loadSteps(steps)
	slices.SortFunc(tombs, func(a, b Tombstone) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range tombs {
		m.entomb(t)
	}
}

// resume goes on with a run that an earlier process left.
func (m *Machine) resume(r *holding) {
	switch r.State {
	case Making:
		m.watch(r)
		m.look(r)
	case Ready: // the process may have died before it left the file
		m.publish(r)
	case Cleaning:
		m.withdraw(r)
		m.watch(r)
		m.look(r)
	case Clean:
		m.withdraw(r)
	default: // nothing was granted, and who waited for it is gone
		m.write(Delete{r.Name()})
		m.drop(r)
	}
}

// Step takes in what happened and returns what to write, then what to do, in order. The actions may be done only when the records are durable; if they
// cannot be, the machine is thrown away and made anew.
func (m *Machine) Step(now core.Moment, in Input) ([]Record, []Action) {
	m.now = max(m.now, now.Uptime)
	switch in := in.(type) {
	case Hook:
		m.hook(in)
	case Reserved:
		m.reserved(in)
	case Read:
		m.read(in)
	case Made:
		m.made(in)
	case Removed:
		m.removed(in)
	case Witnessed:
		m.witnessed(in)
	case Linked:
		m.link(in.Up)
	case Ordered:
		m.ordered(in.Orders)
	case Reread:
		m.want()
	case KeeperGone:
		m.keeperGone(in.Keeper)
	case Tick:
	}
	if m.due <= m.now {
		m.expire()
	}
	m.flush()
	return m.out()
}

// hook begins a call.
func (m *Machine) hook(h Hook) {
	switch h.Ask.Action {
	case core.Prepare:
		m.prepare(h)
	case core.Environment:
		m.environment(h)
	case core.CleanUp:
		m.cleanUp(h)
	case core.StepEnd:
		m.stepEnd(h)
	case core.Running:
		m.running(h)
	case core.Room:
		m.refuse(h, core.Errorf(core.NotSupported, "hook %v: %v: a node does not know what the pools have left", h.Ask.Action, h.Ask.Key).
			WithRemedy("run the hook where the Weft server is, with its run directory"))
	default:
		m.refuse(h, core.Errorf(core.NotSupported, "hook %v: %v: a node does not know this action", h.Ask.Action, h.Ask.Key))
	}
}

func (m *Machine) write(r Record) { m.records = append(m.records, r) }
func (m *Machine) act(a Action)   { m.actions = append(m.actions, a) }

func (m *Machine) reply(call uint64, o core.Outcome) { m.act(Reply{Call: call, Outcome: o}) }

func (m *Machine) refuse(h Hook, err *core.Error) {
	if h.Ask.Action == core.Prepare && h.Peer.Root() {
		m.refused(h.Ask.Key.JobID, h.Ask.UID, err)
	}
	m.reply(h.Call, core.Outcome{Action: h.Ask.Action, Key: h.Ask.Key, Err: err})
}

func (m *Machine) say(bad bool, run core.Run, text string) {
	m.act(Say{Bad: bad, Run: run, Text: text})
}

// nextID gives a number for a record.
func (m *Machine) nextID() uint64 {
	m.id++
	return m.id
}

// see remembers a head if it is newer, or of another store.
func (m *Machine) see(h core.Head) {
	if h.Store == "" || h.Store == m.seen.Store && !m.seen.Before(h) {
		return
	}
	m.seen = h
	m.write(Seen{Head: h, ID: m.id})
}
