package history

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

type attempt = node.Attempt

// box is a node: its NICs, its run directory, and its agent's process.
type box struct {
	w        *world
	name     string
	of       *box // the host that it is a copy of, under the same name
	boots    int
	boot     string
	hardware string // as its agent reports it
	bootAt   time.Duration
	powered  bool
	cut      bool // from the network
	unread   bool // each call of its driver fails
	failed   bool // so does its driver's plugin
	hung     bool // its driver answers no reading
	mute     bool // its agent answers no Orders.Vouch
	deaf     bool // what it sends arrives, and nothing comes back: half of a link, or a process that hardly gets its turn
	nics     [numNICs]nic
	names    int // number of the next NIC
	probes   int
	records  map[string]node.Record // in the run directory: gone with the boot
	env      map[core.Run]bool      // files that prepare left
	files    map[core.JobID]node.Publish
	agent    agent

	reading []core.Service    // that the agent takes in now
	struck  map[core.Run]bool // a NIC of theirs has restarted since a reading began that makes them ready

	// what only the harness knows
	ended  map[core.Run]bool // cleaned in this boot, durably
	newest map[core.JobID]int64
	apps   []app
}

// nic is a NIC and who made what on it.
type nic struct {
	name   string
	probed int
	k      kernel.NIC
	hidden bool // off the bus; its services stand all the same
	fault  bool // seen, and not usable
	owned  []*owned
}

// owned is a service that somebody other than the system made.
type owned struct {
	id       uint32
	run      core.Run // zero: foreign
	vnis     []core.VNI
	foreign  bool
	system   bool // readings show it as the system's, until the faults end
	reported bool // the server has been told of it, and must hold its VNIs
	service  core.Service
}

// app is an application that holds an LNI.
type app struct {
	nic int
	lni uint32
	run core.Run
}

// agent is the agent's process.
type agent struct {
	up    bool
	proc  int
	began time.Duration
	m     *node.Machine
	ops   []*op
	asks  []asked
	link  *session
	waits map[uint64]*hook
}

// asked is a Reserve that the agent waits for.
type asked struct {
	attempt attempt
	until   time.Duration
}

// session is a connection between agent and server: in order within itself, and the two ends notice its end at different times.
type session struct {
	id                uint64
	b                 *box
	agentUp, serverUp bool
	up                []core.Report
	down              []core.Orders
}

var tick = node.Tick{}

func newBox(w *world, i int) *box {
	b := &box{w: w, name: fmt.Sprintf("n%d", i+1), hardware: fmt.Sprintf("board%d", i+1), mute: w.odds(100)}
	b.power()
	return b
}

// power boots the node: NICs and run directory are new.
func (b *box) power() {
	b.boots++
	b.boot, b.bootAt, b.powered = fmt.Sprintf("%s-boot%d", b.name, b.boots), b.w.now-time.Millisecond, true
	for i := range b.nics {
		b.probe(i, i)
	}
	b.names = numNICs
	b.records, b.env, b.ended, b.newest, b.apps = map[string]node.Record{}, map[core.Run]bool{}, map[core.Run]bool{}, map[core.JobID]int64{}, nil
	b.files = map[core.JobID]node.Publish{}
	b.struck = map[core.Run]bool{}
}

// off takes the power away: the agent, its hooks and all that stood on the NICs are gone.
func (b *box) off() {
	b.crash()
	b.powered = false
	for i := range b.nics {
		for _, o := range b.nics[i].owned {
			b.w.law.removed(o)
		}
		b.nics[i].owned = nil
	}
	b.w.hooks = slices.DeleteFunc(b.w.hooks, func(h *hook) bool { return h.b == b })
}

func (b *box) moment() core.Moment {
	return core.Moment{Uptime: b.w.now - b.agent.began, Wall: b.w.wall()}
}

// start begins an agent's process on what the run directory holds.
func (b *box) start() {
	b.agent = agent{up: true, proc: b.agent.proc + 1, began: b.w.now - time.Millisecond, waits: map[uint64]*hook{}}
	names := slices.Sorted(maps.Keys(b.records))
	records := make([]node.Record, len(names))
	for i, n := range names {
		records[i] = b.records[n]
	}
	if b.w.trace != nil {
		b.w.say("%s: agent %d starts with %d records", b.name, b.agent.proc, len(records))
	}
	cfg := node.Config{Node: b.name, Boot: b.boot, Cores: numCores}
	if b.name == dataServer && b.w.reloaded {
		cfg.Served = allServed
	}
	m, out, actions := node.New(cfg, records, b.moment())
	b.agent.m = m
	b.commit(out, actions)
}

// crash ends the agent's process. A driver's call that is under way stops where it is or goes on to its end, and nobody hears of it.
func (b *box) crash() {
	if !b.agent.up {
		return
	}
	for _, o := range b.agent.ops {
		if b.w.odds(500) {
			for !o.over() {
				b.work(o)
			}
		}
	}
	if l := b.agent.link; l != nil {
		l.agentUp = false
	}
	b.agent = agent{proc: b.agent.proc}
}

// input steps the agent's machine, commits, and acts; it may be cut anywhere.
func (b *box) input(in node.Input) {
	if !b.agent.up {
		return
	}
	records, actions := b.agent.m.Step(b.moment(), in)
	b.commit(records, actions)
}

func (b *box) commit(records []node.Record, actions []node.Action) {
	w := b.w
	if len(records) > 0 {
		if w.chance(4) {
			w.say("%s: the agent is killed before its commit, or it fails", b.name)
			b.crash()
			return
		}
		w.law.recorded(b, records)
		for _, r := range records {
			if d, ok := r.(node.Delete); ok {
				delete(b.records, d.Of)
			} else {
				b.records[r.Name()] = r
			}
		}
		if w.chance(4) {
			w.say("%s: the agent is killed between commit and deeds", b.name)
			b.crash()
			return
		}
	}
	for _, a := range actions {
		if w.chance(2) {
			w.say("%s: the agent is killed amid its deeds", b.name)
			b.crash()
			return
		}
		b.act(a)
	}
}

func (b *box) act(a node.Action) {
	w := b.w
	switch a := a.(type) {
	case node.Reserve:
		w.calls++
		a.Ask.Agent = b.host().Agent
		b.agent.asks = append(b.agent.asks, asked{a.Attempt, a.Until})
		w.toServer = append(w.toServer, &call{id: w.calls, b: b, proc: b.agent.proc, attempt: a.Attempt, ask: a.Ask, peer: a.Peer})
	case node.Look:
		b.agent.ops = append(b.agent.ops, &op{kind: looking, attempt: a.Attempt})
	case node.Witness:
		b.agent.ops = append(b.agent.ops, &op{kind: witnessing, attempt: a.Attempt, uids: a.UIDs})
	case node.Create:
		w.say("%s: create for %v: %d services VNIs %v", b.name, a.Run, len(a.Specs), a.Specs[0].VNIs)
		b.agent.ops = append(b.agent.ops, &op{kind: creating, attempt: a.Attempt, run: a.Run, specs: a.Specs})
	case node.Destroy:
		b.agent.ops = append(b.agent.ops, &op{kind: destroying, attempt: a.Attempt, run: a.Run, services: a.Services})
	case node.Reply:
		h := b.agent.waits[a.Call]
		if h == nil {
			w.fail("%s: a hook is answered twice, or one that never called: %+v", b.name, a)
		}
		delete(b.agent.waits, a.Call)
		if w.trace != nil {
			w.say("%s: hook %v %v is answered: pending=%v %v", b.name, h.Action, h.Key, a.Outcome.Pending, a.Outcome.Err)
		}
		w.law.replied(b, h, a.Outcome)
	case node.Tell:
		if a.Report.Full {
			a.Report.From, a.Report.Agent, a.Report.Hardware = b.host().From, b.host().Agent, b.hardware
		}
		if b.agent.link != nil {
			b.agent.link.up = append(b.agent.link.up, a.Report)
		}
	case node.Publish:
		b.env[a.Run], b.files[a.Run.JobID] = true, a
	case node.Withdraw:
		delete(b.env, a.Run)
		if b.files[a.Run.JobID].Run == a.Run {
			delete(b.files, a.Run.JobID)
		}
	case node.Say:
		w.say("%s says: %v %s", b.name, a.Run, a.Text)
	case node.Drain:
		w.say("%s: to be drained: %s", b.name, a.Reason)
		if w.half == b.name {
			w.told(b.name, a.Reason)
		}
	}
}

// expireAsks ends the calls to the server whose time is over.
func (b *box) expireAsks() {
	if !b.agent.up {
		return
	}
	now := b.moment().Uptime
	for i := 0; i < len(b.agent.asks); {
		a := b.agent.asks[i]
		if a.until > now {
			i++
			continue
		}
		b.agent.asks = slices.Delete(b.agent.asks, i, i+1)
		proc := b.agent.proc
		b.input(node.Reserved{Attempt: a.attempt, Err: core.Errorf(core.TimedOut, "server: no answer in time")})
		if !b.agent.up || b.agent.proc != proc {
			return
		}
	}
}

// entry is the newest durable record of run.
func (b *box) entry(run core.Run) (node.Entry, bool) {
	var found node.Entry
	for _, r := range b.records {
		if e, ok := r.(node.Entry); ok && e.Grant.Run == run && e.ID > found.ID {
			found = e
		}
	}
	return found, found.ID != 0
}
