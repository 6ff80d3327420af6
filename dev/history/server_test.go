package history

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/schedulertest"
	"github.com/weft-hpc/weft/store/memory"
)

// server is the server's process and its disk.
type server struct {
	w        *world
	up       bool
	proc     int
	began    time.Duration
	m        *engine.Machine
	store    *memory.Store
	stores   int
	highest  core.Head // that was ever committed to this store, as a monitor beside it would know
	snaps    []*memory.Store
	line     map[uint64]uint64                   // the last revision of each incarnation of the store, and of lost ones that were met
	lines    map[*memory.Store]map[uint64]uint64 // that of each snap
	imported *memory.Store                       // an export that the first commit of a new store brings in

	records  []engine.Record // stepped and not yet committed
	actions  []engine.Action
	calls    []*call
	sessions []*session
	number   uint64
	watch    watch
}

// watch is a question to the scheduler that is under way.
type watch struct {
	asked   bool
	began   time.Duration
	early   *core.Jobs // what it answers, where that is known already
	changes []core.Jobs
	by      *session // whose half is asked; nil: the server asks
}

// call is a Reserve on its way.
type call struct {
	id      uint64
	b       *box
	proc    int // the agent's
	srvProc int
	attempt attempt
	ask     core.Intent
	peer    core.Peer
	began   time.Duration
	early   *engine.Said
	grant   core.Grant
	err     *core.Error
}

func newServer(w *world) *server {
	return &server{w: w, store: memory.New(), line: map[uint64]uint64{}, lines: map[*memory.Store]map[uint64]uint64{}}
}

func (s *server) moment() core.Moment {
	return core.Moment{Uptime: s.w.now - s.began, Wall: s.w.wall()}
}

// start begins a process on what the disk holds.
func (s *server) start(witness core.Head) {
	s.up, s.began, s.number, s.watch = true, s.w.now-time.Millisecond, 0, watch{changes: s.watch.changes}
	s.load(witness)
}

// load makes the machine from the store, in the process that runs.
func (s *server) load(witness core.Head) {
	s.proc++
	if witness.Incarnation != 0 {
		s.line[witness.Incarnation] = max(s.line[witness.Incarnation], witness.Revision)
	}
	alloc, err := allocator.New([]allocator.Pool{s.w.pool})
	if err != nil {
		panic(err)
	}
	var records []engine.Record
	from := s.store
	if s.imported != nil {
		from = s.imported
	}
	if err := from.Load(context.Background(), func(r engine.Record) error {
		if meta, ok := r.(engine.Meta); ok && s.imported != nil {
			meta.Head = core.Head{}
			r = meta
		}
		records = append(records, r)
		return nil
	}); err != nil {
		panic(err)
	}
	var out []engine.Record
	s.m, out = engine.New(s.w.cfg, alloc, records, engine.Start{
		ID: fmt.Sprintf("store%d", s.stores), Incarnation: uint64(s.proc), Witness: witness,
	}, s.moment())
	s.w.say("server starts: head %v, witness %v, recovering %v", s.m.Head(), witness, s.m.Recovering())
	s.w.law.loaded(s.m, records)
	s.records, s.actions = out, nil
	if s.imported != nil {
		s.records = append(slices.Clone(records), out...)
	}
	s.flush()
}

// input steps the machine. What comes of it waits for the next flush, as in a group commit.
func (s *server) input(in engine.Input) {
	now := s.moment()
	s.w.law.before(in, now.Uptime)
	records, actions := s.m.Step(now, in)
	s.w.law.stepped(in, records, actions, now.Uptime)
	if r, ok := in.(engine.Report); ok && slices.ContainsFunc(actions, func(a engine.Action) bool { _, ok := a.(engine.Order); return ok }) {
		s.w.law.shown(s, r.Report.Seen)
	}
	s.records = append(s.records, records...)
	s.actions = append(s.actions, actions...)
	if len(s.records) > 0 && s.w.chance(150) {
		return
	}
	s.flush()
}

// flush commits what was stepped and acts on it; it may be cut anywhere.
func (s *server) flush() {
	w := s.w
	if !s.up {
		return
	}
	records, actions := s.records, s.actions
	s.records, s.actions = nil, nil
	if len(records) > 0 {
		switch {
		case w.chance(6):
			w.say("server: the commit fails: its machine is loaded anew")
			s.reload()
			return
		case w.chance(4):
			w.say("server is killed before its commit")
			s.crash()
			return
		}
		batch := append(records, s.m.Seal())
		if err := s.store.Commit(context.Background(), batch); err != nil {
			w.fail("the store refuses a commit: %v", err)
		}
		s.highest, s.imported = s.m.Head(), nil
		s.line[s.highest.Incarnation] = s.highest.Revision
		w.law.committed(batch)
		w.law.pool(s.m)
		if w.chance(80) { // somebody keeps a copy
			snap := s.store.Clone()
			s.snaps, s.lines[snap] = append(s.snaps, snap), maps.Clone(s.line)
		}
		switch {
		case w.chance(4):
			w.say("server: the commit succeeds and says that it failed: its machine is loaded anew")
			s.reload()
			return
		case w.chance(5):
			w.say("server is killed between commit and deeds")
			s.crash()
			return
		}
	}
	for _, a := range actions {
		if w.chance(2) {
			w.say("server is killed amid its deeds")
			s.crash()
			return
		}
		s.act(a)
	}
}

func (s *server) act(a engine.Action) {
	w := s.w
	switch a := a.(type) {
	case engine.Granted:
		if c := s.take(a.Call); c != nil {
			c.grant = a.Grant
			c.grant.Head = s.m.Head()
			w.say("server grants %v VNIs %v to %s", c.grant.Run, c.grant.VNIs, c.b.name)
			w.law.granted(c)
			w.replies = append(w.replies, c)
		}
	case engine.Refused:
		if c := s.take(a.Call); c != nil {
			c.err = a.Err
			w.say("server refuses %v to %s: %s", c.ask.Key, c.b.name, a.Err.What)
			w.replies = append(w.replies, c)
		}
	case engine.Describe:
		if i := s.call(a.Call); i >= 0 {
			c := s.calls[i]
			c.began, c.srvProc = s.moment().Uptime, s.proc
			if w.odds(400) {
				c.early = w.describe(c)
			}
			w.describing = append(w.describing, c)
		}
	case engine.Order:
		for _, l := range s.sessions {
			if l.b.name == a.Node && l.id == a.Session && l.agentUp {
				a.Orders.Head = s.m.Head()
				l.down = append(l.down, a.Orders)
			}
		}
		w.say("server orders %s/%d: clean %v, forget %v", a.Node, a.Session, a.Orders.Clean, a.Orders.Forget)
	case engine.End:
		for _, l := range slices.Clone(s.sessions) {
			if l.b.name == a.Node && l.id == a.Session && l.agentUp {
				w.unlink(l)
			}
		}
	case engine.Drain:
		w.told(a.Node, a.Reason)
	case engine.Resume:
		w.told(a.Node, "")
	case engine.Say:
		if a.Level == engine.Alarm {
			w.say("ALARM %s", a.Text)
		} else if w.trace != nil {
			w.say("server says: %v %s VNIs %v: %s", a.Run, a.Node, a.VNIs, a.Text)
		}
	}
}

func (s *server) call(id uint64) int {
	return slices.IndexFunc(s.calls, func(c *call) bool { return c.id == id })
}

// take ends a call; a doubled one gets its own copy of the answer.
func (s *server) take(id uint64) *call {
	i := s.call(id)
	if i < 0 {
		return nil
	}
	c := s.calls[i]
	s.calls = slices.Delete(s.calls, i, i+1)
	return c
}

// crash ends the process: what was in its memory is gone, and so are its connections.
func (s *server) crash() {
	s.up, s.m = false, nil
	s.drop()
	s.watch.asked, s.watch.early = false, nil
}

// reload throws the machine away; the process goes on, and its sessions are begun anew.
func (s *server) reload() {
	s.drop()
	s.load(s.highest)
}

func (s *server) drop() {
	s.records, s.actions = nil, nil
	for _, c := range s.calls {
		if s.w.odds(500) {
			c.err = core.Errorf(core.ServerAway, "server: it was stopped")
			s.w.replies = append(s.w.replies, c)
		}
	}
	s.calls = nil
	for _, l := range s.sessions {
		l.serverUp = false
	}
	s.sessions = nil
	s.watch.asked, s.watch.early = false, nil
}

// lie is what the scheduler's next answer is: the truth, mostly.
func (w *world) lie() schedulertest.Lie {
	if w.chance(170) {
		return schedulertest.AnyLie(w.rng)
	}
	return schedulertest.Honest
}

// describe asks the scheduler and the policy.
func (w *world) describe(c *call) *engine.Said {
	said := &engine.Said{Began: c.began, From: w.half}
	l, ok := w.teller()
	if w.chance(40) || !ok {
		said.Err = core.Errorf(core.SchedulerAway, "scheduler: no answer")
		return said
	}
	lie := w.lie()
	said.Job, said.Err = w.sched.Describe(c.ask.Key, lie, w.rng)
	if l != nil && l.b.of != nil {
		said.Job.Submitted++
	}
	if said.Err == nil {
		said.Decision = w.drawing(decide(said.Job), said.Job)
	}
	if w.trace != nil {
		w.say("scheduler (%v) describes %v: %v gone=%v %v", lie, c.ask.Key, said.Job.Run, said.Job.Gone, said.Err)
	}
	return said
}

// leastTXQs is policy's floor.
const leastTXQs = 2

// decide is the policy: fixed, and of the job's facts alone.
func decide(j core.Job) engine.Decision {
	d := engine.Decision{Classes: core.BestEffort, Policy: "p1", VNIs: []engine.Wanted{{Name: "app", Pool: poolName}}}
	switch {
	case j.UID == deniedUID:
		return engine.Decision{Deny: core.Errorf(core.PolicyDenied, "policy: this user gets nothing"), Policy: "p1"}
	case j.Request.Off:
		return engine.Decision{Policy: "p1"}
	case j.Request.JobVNI:
		d.VNIs = append(d.VNIs, engine.Wanted{Name: "job", Pool: poolName})
	}
	var l core.Limits
	for _, r := range []core.Resource{core.TXQ, core.TGQ, core.EQ, core.CT, core.PTE, core.AC} {
		l[r] = core.Limit{Max: 2048, Reserved: 8}
	}
	l[core.LE] = core.Limit{Max: 1024, Reserved: 64}
	d.Floor[core.TXQ] = leastTXQs
	for range j.Placements {
		d.Limits = append(d.Limits, l)
	}
	d.Quotas = []engine.Quota{{Name: "user", Subject: fmt.Sprint(j.UID), Most: 6}}
	return d
}
