package engine

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
)

// model is what the machine must be, by the rules alone.
type model struct {
	*world
	live  map[core.Run]*liveRun
	over  map[core.Run]bool
	truth map[core.JobID]*said
	nodes map[string]*modelNode
	names []string
}

// said is a job as its scheduler has it.
type said struct {
	run   core.Run
	state core.JobState // 0: it knows no such id
}

type liveRun struct {
	state   State
	vnis    []core.VNI
	joins   map[string]*modelJoin
	shown   time.Duration
	prepare time.Duration
	missing int
	missed  time.Duration
	entered time.Duration
	stray   bool
}

type modelJoin struct {
	clean bool
	busy  time.Duration
	stuck string
}

type modelNode struct {
	attached bool
	lost     time.Duration
	stray    []core.Service
}

const (
	userQuota    = 4
	addressQuota = 5
)

type modelPool struct {
	name        string
	first, last core.VNI
	quarantine  time.Duration
}

// modelPools are the pools with their VNIs and quarantines, no two alike.
var modelPools = []modelPool{{"jobs", 1024, 1030, time.Minute}, {"slow", 1031, 1034, 5 * time.Minute}, {"fast", 1035, 1036, 0}}

// wants are the pools of a job's VNIs.
var wants = map[string][]string{"a": {"jobs"}, "b": {"slow", "jobs"}, "c": {"fast", "jobs"}, "d": {"jobs", "slow"}}

// places are the nodes of a job.
var places = map[string][]string{"a": {"n1", "n2", "n3"}, "b": {"n2", "n3"}, "c": {"n1", "n2"}, "d": {"n3"}}

func poolOf(v core.VNI) modelPool {
	i := slices.IndexFunc(modelPools, func(p modelPool) bool { return p.first <= v && v <= p.last })
	return modelPools[i]
}

// quarantine is the longest of the pools that r's VNIs are of.
func (r *liveRun) quarantine() (longest time.Duration) {
	for _, v := range r.vnis {
		longest = max(longest, poolOf(v).quarantine)
	}
	return longest
}

// usePools begins again with other pools.
func (w *world) usePools(pools []modelPool) {
	w.pools, w.cfg.Pools = nil, nil
	for _, p := range pools {
		w.pools = append(w.pools, allocator.Pool{Name: p.name, Ranges: []allocator.Range{{First: p.first, Last: p.last}}})
		w.cfg.Pools = append(w.cfg.Pools, w.pool(p.name, p.quarantine))
	}
	w.load()
}

func newModel(t *rapid.T) *model {
	w := newWorld(t, 7)
	w.usePools(modelPools)
	m := &model{
		world: w, live: map[core.Run]*liveRun{}, over: map[core.Run]bool{}, truth: map[core.JobID]*said{}, nodes: map[string]*modelNode{},
		names: []string{"n1", "n2", "n3"},
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		j := job(id, "")
		m.truth[j.JobID] = &said{run: j.Run, state: core.JobRunning}
	}
	for _, n := range m.names {
		m.nodes[n] = &modelNode{}
		m.come(n, nil)
	}
	return m
}

// decision gives job id its VNIs and some addresses. Two users share the jobs, and all share the addresses; what only warns must refuse nobody.
func (m *model) decision(id string) Decision {
	d := limited(userQuota, EnforceDeny)
	d.Quotas[0].Subject = map[string]string{"a": "user alice", "b": "user alice", "c": "user alice", "d": "user bob"}[id]
	d.Quotas[0].Ends = id == "b"
	d.VNIs = nil
	for i, pool := range wants[id] {
		d.VNIs = append(d.VNIs, Wanted{strconv.Itoa(i), pool})
	}
	d.Collectives = map[string]int{"a": 3, "b": 2, "d": 3}[id]
	d.Quotas = append(d.Quotas, Quota{Name: "addresses", Subject: "all", Unit: UnitAddresses, Most: addressQuota}, Quota{Name: "told", Subject: "all", Enforce: EnforceWarn})
	return d
}

// exceeded is the first quota of id's decision that has no room for it beside those that are active or draining.
func (m *model) exceeded(id string) *Quota {
	d := m.decision(id)
	for _, q := range d.Quotas {
		more := amount(q.Unit, &d, len(d.VNIs))
		if more > 0 && q.Enforce == EnforceDeny && m.used(q, Active, Draining)+more > q.Most {
			return &q
		}
	}
	return nil
}

// used is what the runs in these states count against q.
func (m *model) used(q Quota, in ...State) int {
	n := 0
	for run, r := range m.live {
		if r.stray || !slices.Contains(in, r.state) {
			continue
		}
		d := m.decision(run.Job)
		for _, o := range d.Quotas {
			if o.Name == q.Name && o.Subject == q.Subject && o.Unit == q.Unit {
				n += amount(q.Unit, &d, len(r.vnis))
			}
		}
	}
	return n
}

func (m *model) node(t *rapid.T) string { return rapid.SampledFrom(m.names).Draw(t, "node") }

func (m *model) id(t *rapid.T) *said {
	id := core.JobID{Scheduler: "slurm", Job: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "job")}
	return m.truth[id]
}

// Change is what happens to a job in its scheduler.
func (m *model) Change(t *rapid.T) {
	s := m.id(t)
	switch rapid.SampledFrom([]string{"run", "run", "requeue", "end", "rebuild", "forget"}).Draw(t, "change") {
	case "run":
		if s.state == core.JobQueued {
			s.run.Generation++
		}
		if s.state != core.JobFinal { // of one that it had forgotten, it lies
			s.state = core.JobRunning
		}
	case "requeue":
		if s.state == core.JobRunning {
			s.state = core.JobQueued
		}
	case "end":
		if s.state != 0 {
			s.state = core.JobFinal
		}
	case "rebuild":
		s.run.Submitted++
		s.run.Generation, s.state = 0, core.JobRunning
	case "forget":
		s.state = 0
	}
}

// Reserve is a prepare on a node, of the run that the scheduler has now or of the one before.
func (m *model) Reserve(t *rapid.T) {
	n, s := m.node(t), m.id(t)
	on := places[s.run.Job]
	j := job(s.run.Job, strings.Join(on, ","))
	j.Run, j.Placements[0].Nodes = s.run, len(on)
	claimed := j
	if j.Generation > 0 && rapid.IntRange(0, 9).Draw(t, "late") == 0 {
		claimed.Generation--
	}
	if rapid.IntRange(0, 9).Draw(t, "forged") == 0 {
		claimed.UID++
	}
	placed := slices.Contains(on, n)
	in := m.ask(n, claimed)
	acts := m.step(in)
	asked := described(acts, in.Call)
	if asked {
		m.pass(1)
		in.Said = &Said{Began: m.now.Uptime, Job: j, Decision: m.decision(j.Job)}
		if s.state != core.JobRunning {
			in.Said = &Said{Began: m.now.Uptime, Err: core.Errorf(core.JobEnded, "it does not run")}
		}
		m.pass(1)
		acts = append(slices.Clone(acts), m.step(in)...)
	}
	g, err := m.outcome(acts, in.Call)
	if !m.nodes[n].attached {
		if err == nil || err.Reason != core.NodeAway {
			t.Fatalf("%s is away: %v", n, err)
		}
		return
	}
	if !asked {
		r := m.live[g.Run]
		if err != nil || r == nil || r.state != Active || g.Run.Key != claimed.Key || g.UID != claimed.UID || !placed || m.now.Uptime-r.shown > DefaultRules.Fresh || r.missing > 0 {
			t.Fatalf("%s on %s: granted %v, %v without asking: %+v", claimed.Key, n, g.VNIs, err, r)
		}
		m.joined(t, n, r, g)
		return
	}
	believed := s.state == core.JobRunning && claimed.Key == j.Key
	if believed && (claimed.UID != j.UID || !placed) {
		want := core.NotAllowed
		if claimed.UID == j.UID {
			want = core.NotPlaced
		}
		if err == nil || err.Reason != want {
			t.Fatalf("%s of uid %d on %s: granted %v, %v; want %s", j.Key, claimed.UID, n, g.VNIs, err, want)
		}
		return
	}
	if believed {
		for run, r := range m.live {
			if run.JobID == j.JobID && run != j.Run && r.state == Active && (run.Fingerprint != j.Fingerprint || run.Generation < j.Generation) {
				m.drain(r)
			}
		}
	}
	r := m.live[j.Run]
	full, of, left := m.exceeded(j.Job), map[core.VNI]bool{}, map[string]int{}
	for _, p := range modelPools {
		left[p.name] = int(p.last-p.first) + 1
	}
	for _, o := range m.live {
		for _, v := range o.vnis {
			if !of[v] {
				left[poolOf(v).name]--
			}
			of[v] = true
		}
	}
	empty := slices.ContainsFunc(wants[j.Job], func(pool string) bool { return left[pool] == 0 })
	switch {
	case !believed, m.over[j.Run], r != nil && r.state != Active, r != nil && r.joins[n] != nil && r.joins[n].clean && r.joins[n].boot() == m.boots[n]:
		want := core.JobEnded
		if believed && !m.m.overtaken(j.Run) { // this answer is younger than the run's end
			want = core.JobRelaunch
		}
		if err == nil || err.Reason != want {
			t.Fatalf("%s on %s: granted %v, %v; want %s", j.Key, n, g.VNIs, err, want)
		}
		if r != nil && believed && r.state == Active {
			m.see(r)
		}
	case r != nil:
		m.see(r)
		m.joined(t, n, r, g)
	case full != nil:
		want := core.QuotaFull // no job of the model wants more than a quota has
		if full.Ends {
			want = core.OverQuota
		}
		if err == nil || err.Reason != want || !strings.Contains(err.What, strconv.Quote(full.Name)) {
			t.Fatalf("%s: quota %q is full: granted %v, %v", j.Key, full.Name, g.VNIs, err)
		}
	case empty:
		if err == nil || err.Reason != core.PoolEmpty {
			t.Fatalf("%s: the pool is empty: granted %v, %v", j.Key, g.VNIs, err)
		}
	default:
		var pools []string
		for _, v := range g.VNIs {
			pools = append(pools, poolOf(v).name)
		}
		if err != nil || !slices.Equal(pools, wants[j.Job]) || slices.ContainsFunc(g.VNIs, func(v core.VNI) bool { return of[v] }) || len(g.Warnings) != 1 {
			t.Fatalf("%s: granted %v, %v beside %v", j.Key, g.VNIs, err, of)
		}
		r = &liveRun{state: Active, vnis: g.VNIs, joins: map[string]*modelJoin{}}
		m.live[j.Run] = r
		m.see(r)
		m.joined(t, n, r, g)
	}
}

func (m *model) see(r *liveRun) { r.shown, r.missing = m.now.Uptime-1, 0 }

func (j *modelJoin) boot() string { return strings.TrimPrefix(j.stuck, "clean in ") }

func (m *model) joined(t *rapid.T, n string, r *liveRun, g core.Grant) {
	if !slices.Equal(g.VNIs, r.vnis) {
		t.Fatalf("%s: %s is granted %v, the job has %v", g.Key, n, g.VNIs, r.vnis)
	}
	if j := r.joins[n]; j == nil || j.clean {
		r.joins[n] = &modelJoin{}
	}
	r.prepare, r.missing = m.now.Uptime, 0
}

func (m *model) drain(r *liveRun) {
	r.state = Draining
	m.settle(r)
}

// settle puts a reservation that is not active where its nodes have it.
func (m *model) settle(r *liveRun) {
	if r.state == Active || r.state == Quarantined {
		return
	}
	open, stuck := 0, 0
	for n, j := range r.joins {
		if j.clean {
			continue
		}
		open++
		at := m.nodes[n]
		switch {
		case !at.attached && m.now.Uptime-at.lost >= DefaultRules.Away:
			j.stuck = "away"
		case !at.attached:
		case j.busy > 0 && (m.now.Uptime-j.busy >= DefaultRules.Busy || j.stuck == "busy" || j.stuck == "before"):
			j.stuck = "busy"
		default:
			j.stuck = ""
		}
		if j.stuck != "" {
			stuck++
		}
	}
	switch {
	case open == 0:
		r.state, r.entered = Quarantined, m.now.Uptime
	case stuck > 0 || r.stray:
		r.state = Held
	default:
		r.state = Draining
	}
}

func (m *model) clean(n string, r *liveRun) {
	if j := r.joins[n]; j != nil && !j.clean {
		j.clean, j.busy, j.stuck = true, 0, "clean in "+m.boots[n]
		m.settle(r)
	}
}

// Answer is a complete answer of the scheduler.
func (m *model) Answer(t *rapid.T) {
	began := m.now.Uptime - rapid.SampledFrom([]time.Duration{0, 0, 1, time.Minute}).Draw(t, "asked before")
	m.pass(1)
	var list []core.JobStatus
	for _, s := range m.truth {
		if s.state != 0 {
			list = append(list, core.JobStatus{Run: s.run, State: s.state})
		}
	}
	m.step(Answer{Scheduler: "slurm", Began: began, Jobs: core.Jobs{Complete: true, Jobs: list}})
	for run, r := range m.live {
		if r.state != Active || r.stray {
			continue
		}
		switch s := m.truth[run.JobID]; {
		case s.run == run && s.state == core.JobRunning:
			r.shown, r.missing = max(r.shown, began), 0
		case began <= r.prepare: // it was asked for before the newest prepare
		case s.state == 0:
			if began <= r.missed {
				continue
			}
			r.missed = began
			if r.missing++; r.missing >= 2 && !m.mayVouch(r) {
				m.drain(r)
			}
		default:
			if s.run.Fingerprint == run.Fingerprint && s.run.Generation < run.Generation {
				continue
			}
			m.drain(r)
		}
	}
}

// mayVouch reports whether a node of r lost its session so recently that it may still say that r lives. The agents of
// the model are too old to say more.
func (m *model) mayVouch(r *liveRun) bool {
	for n, j := range r.joins {
		at := m.nodes[n]
		if !j.clean && !at.attached && m.now.Uptime-at.lost < DefaultRules.Vouch {
			return true
		}
	}
	return false
}

// Final is a change that the scheduler tells.
func (m *model) Final(t *rapid.T) {
	s := m.id(t)
	if s.state != core.JobFinal {
		return
	}
	m.final(s.run)
	if r := m.live[s.run]; r != nil && r.state == Active {
		m.drain(r)
	}
}

// Tell is a node's word about one run that it joined, or that it has confirmed already.
func (m *model) Tell(t *rapid.T) {
	n := m.node(t)
	var runs []core.Run
	for _, run := range m.runs() {
		if j := m.live[run].joins[n]; j != nil && !m.live[run].stray {
			runs = append(runs, run)
		}
	}
	if len(runs) == 0 || !m.nodes[n].attached {
		return
	}
	run := rapid.SampledFrom(runs).Draw(t, "run")
	r := m.live[run]
	j := r.joins[n]
	state := rapid.SampledFrom([]core.HeldState{core.HeldReady, core.HeldCleaning, core.HeldBusy, core.HeldClean, core.HeldClean}).Draw(t, "state")
	if j.clean {
		state = core.HeldClean
	}
	m.tell(n, heldAs(state, run, r.vnis...))
	m.heard(n, run, state)
}

func (m *model) heard(n string, run core.Run, state core.HeldState) {
	r := m.live[run]
	j := r.joins[n]
	switch {
	case state == core.HeldClean:
		m.clean(n, r)
		return
	case state != core.HeldBusy:
		j.busy = 0
	case j.busy == 0:
		j.busy = m.now.Uptime
	}
}

// runs are the live ones in an order that a seed reproduces.
func (m *model) runs() []core.Run {
	return slices.SortedFunc(maps.Keys(m.live), func(a, b core.Run) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

// come begins a session of n, which tells of some of what it joined.
func (m *model) come(n string, t *rapid.T) {
	var held []core.Held
	at := m.nodes[n]
	for _, run := range m.runs() {
		j := m.live[run].joins[n]
		if j == nil || j.clean || m.live[run].stray {
			continue
		}
		if state := rapid.SampledFrom([]core.HeldState{0, core.HeldReady, core.HeldBusy, core.HeldClean}).Draw(t, "held"); state != 0 {
			held = append(held, heldAs(state, run, m.live[run].vnis...))
		} else {
			j.busy = 0
		}
	}
	at.attached = true
	m.begin(n, core.Report{Held: held, Unknown: at.stray})
	for _, h := range held {
		m.heard(n, h.Run, h.State)
	}
	m.strays(n)
}

// strays settles what the newest list of n's unknown services means.
func (m *model) strays(n string) {
	there := map[core.Run]bool{}
	for _, s := range m.nodes[n].stray {
		run := strayRun(n, s)
		there[run] = true
		r := m.live[run]
		if r == nil {
			r = &liveRun{vnis: s.VNIs, stray: true}
			m.live[run] = r
		}
		r.state, r.joins = Held, map[string]*modelJoin{n: {}}
	}
	for run, r := range m.live {
		if r.stray && r.joins[n] != nil && !there[run] {
			m.clean(n, r)
		}
	}
}

// Stray is a service that comes or goes on a node without Weft.
func (m *model) Stray(t *rapid.T) {
	n := m.node(t)
	at := m.nodes[n]
	if at.stray = nil; rapid.Bool().Draw(t, "there") {
		at.stray = []core.Service{strayService(core.VNI(1024 + rapid.IntRange(0, 12).Draw(t, "vni")))}
	}
	if at.attached {
		m.more(n, core.Report{Changed: true, Devices: []string{"cxi0", "cxi1"}, Unknown: at.stray})
		m.strays(n)
	}
}

// Contact is a node's session beginning or ending, or its reboot.
func (m *model) Contact(t *rapid.T) {
	n := m.node(t)
	at := m.nodes[n]
	switch rapid.SampledFrom([]string{"detach", "attach", "reboot"}).Draw(t, "contact") {
	case "detach":
		if at.attached {
			m.detach(n)
			at.attached, at.lost = false, m.now.Uptime
		}
	case "attach":
		m.come(n, t)
	case "reboot":
		m.boots[n] += "+"
		at.stray, at.attached = nil, true
		m.attach(n)
		for _, r := range m.live {
			if j := r.joins[n]; j != nil && !j.clean {
				m.clean(n, r)
				j.stuck = "clean in the boot before"
			}
		}
	}
}

// Pass lets time go by; at times until just before or after a quarantine ends.
func (m *model) Pass(t *rapid.T) {
	for _, run := range m.runs() {
		r := m.live[run]
		if left := r.entered + r.quarantine() - m.now.Uptime; r.state == Quarantined && left > 0 && rapid.Bool().Draw(t, "brink") {
			m.pass(left - rapid.SampledFrom([]time.Duration{0, 1}).Draw(t, "before"))
			return
		}
	}
	m.pass(rapid.SampledFrom([]time.Duration{time.Second, 11 * time.Second, 30 * time.Second, time.Minute, 3 * time.Minute, 5 * time.Minute}).Draw(t, "time"))
}

// Restart kills the server; what it has committed is all that is left.
func (m *model) Restart(t *rapid.T) {
	m.restart()
	for _, n := range m.nodes {
		n.attached, n.lost = false, m.now.Uptime
	}
	for _, r := range m.live {
		r.entered, r.prepare, r.missing, r.missed, r.shown = m.now.Uptime, m.now.Uptime, 0, 0, -time.Hour
		for _, j := range r.joins {
			if j.clean {
				continue
			}
			if j.busy, j.stuck = 0, ""; r.state == Held {
				j.stuck = "before"
			}
		}
	}
}

// Check compares the machine with the model, and with the machine that the store alone gives.
func (m *model) Check(t *rapid.T) {
	m.step(Tick{})
	for run, r := range m.live {
		if r.state == Quarantined && m.now.Uptime-r.entered >= r.quarantine() {
			delete(m.live, run)
			if !r.stray {
				m.over[run] = true
			}
			continue
		}
		m.settle(r)
	}
	type row struct {
		State State
		VNIs  []core.VNI
		Clean map[string]bool
	}
	want, got := map[core.Run]row{}, map[core.Run]row{}
	held, owners := map[core.VNI]bool{}, map[core.VNI]int{}
	for run, r := range m.live {
		at := row{r.state, r.vnis, map[string]bool{}}
		for n, j := range r.joins {
			at.Clean[n] = j.clean
		}
		want[run] = at
		for _, v := range r.vnis {
			held[v] = true
		}
	}
	for _, v := range m.views() {
		at := row{State: v.State, Clean: map[string]bool{}}
		for _, taken := range v.VNIs {
			at.VNIs = append(at.VNIs, taken.VNI)
			if !v.Unknown {
				owners[taken.VNI]++
			}
		}
		for _, n := range m.m.NodesOf(v.Serial, 0, v.Joined) {
			at.Clean[n.Node] = n.Clean
		}
		if _, twice := got[v.Job.Run]; twice {
			t.Fatalf("two reservations of %v", v.Job.Run)
		}
		got[v.Job.Run] = at
	}
	if d := unlike(want, got); d != "" {
		t.Fatalf("the machine is not the model (-model +machine):\n%s", d)
	}
	for v, n := range owners {
		if n > 1 {
			t.Fatalf("VNI %d is in %d reservations", v, n)
		}
	}
	used := map[string]int{}
	for v := range held {
		used[poolOf(v).name]++
	}
	if d := unlike(used, m.m.Figures().Used, cmpopts.IgnoreMapEntries(func(_ string, n int) bool { return n == 0 })); d != "" {
		t.Fatalf("the pools do not use what is held (-held +used):\n%s", d)
	}
	if d := unlike(m.m.recount(), m.m.tallies(), cmp.AllowUnexported(tally{})); d != "" {
		t.Fatalf("the tallies are not the recount:\n%s", d)
	}
	m.bounded(t, m.m)
	m.reload(t)
}

// unlike is cmp.Diff without its cost where nothing differs, which is nearly always.
func unlike(want, got any, options ...cmp.Option) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, options...)
}

// bounded sees that what is active never goes beyond a quota. Those that drain may: they did not count while they were held, and others took their place.
func (m *model) bounded(t *rapid.T, machine *Machine) {
	sums := map[tally]int{}
	for _, r := range machine.serials {
		for _, q := range r.Grant.Quotas {
			if k := (tally{q.Name, q.Subject, q.Unit}); r.state == Active && q.Enforce == EnforceDeny {
				if sums[k] += amount(q.Unit, &r.Grant, len(r.VNIs)); sums[k] > q.Most {
					t.Fatalf("quota %q: %s: active jobs have more than %s", q.Name, q.Subject, q.Unit.Count(q.Most))
				}
			}
		}
	}
}

// durable are the reservations of a machine, without what only running time tells.
func durable(machine *Machine) (out []View) {
	for v := range machine.Reservations(0) {
		v.Left = 0
		v.Some = nil
		for _, n := range machine.NodesOf(v.Serial, 0, v.Joined) {
			v.Some = append(v.Some, NodeView{Node: n.Node, Clean: n.Clean})
		}
		slices.SortFunc(v.Some, func(a, b NodeView) int { return strings.Compare(a.Node, b.Node) })
		out = append(out, v)
	}
	return out
}

// reload builds a machine of the committed records alone, and compares.
func (m *model) reload(t *rapid.T) {
	alloc, err := allocator.New(m.pools)
	if err != nil {
		t.Fatal(err)
	}
	other, first := New(m.cfg, alloc, m.records(), Start{Incarnation: 1 << 63, Witness: m.m.Head()}, m.now)
	if len(first) != 1 || other.Recovering() {
		t.Fatalf("a load wants to write %v", first)
	}
	m.bounded(t, other)
	if d := unlike(durable(m.m), durable(other), cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("the machine that was loaded is another (-before +loaded):\n%s", d)
	}
	for _, c := range [...]struct {
		what      string
		now, then any
	}{
		{"store", m.m.Head().Store, other.Head().Store}, {"revision", m.m.Head().Revision, other.Head().Revision}, {"use", m.m.Figures().Used, other.Figures().Used}, {"tallies", m.m.tallies(), other.tallies()}, {"tombstones", m.m.graves(), other.graves()},
		{"texts", m.m.texts, other.texts}, {"kept texts", m.m.kept, other.kept}, {"serial", m.m.meta.Serial, other.meta.Serial}, {"cursors", m.m.cursors, other.cursors},
	} {
		if d := unlike(c.now, c.then, cmp.AllowUnexported(tally{}), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%s of the machine that was loaded (-before +loaded):\n%s", c.what, d)
		}
	}
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"change": m.Change, "reserve": m.Reserve, "reserve more": m.Reserve, "reserve most": m.Reserve, "answer": m.Answer, "final": m.Final, "tell": m.Tell, "tell more": m.Tell,
			"stray": m.Stray, "contact": m.Contact, "pass": m.Pass, "restart": m.Restart, "": m.Check,
		})
	})
}
