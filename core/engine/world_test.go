package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
)

// world is a machine with a store, both in memory, and a clock that stands until it is told to go on.
type world struct {
	hooks   map[string]bool // engine.Drained.Hooks of the next list
	t       failer
	m       *Machine
	cfg     Config
	pools   []allocator.Pool
	alloc   *allocator.Allocator
	store   map[Slot]Record
	now     core.Moment
	calls   uint64
	session uint64
	numbers map[string]uint64 // of the newest report in the node's session
	boots   map[string]string
	last    []Action
	written []Record // by the newest step, without Meta
	by      Text     // comes with decisions; none: only that of cfg is known
	id      int
}

// failer is what a test of either kind, plain or of rapid, is to a world.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// start is any moment but zero.
var start = core.Moment{Uptime: time.Hour, Wall: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)}

func newWorld(t failer, vnis core.VNI, nodes ...string) *world {
	pools := []allocator.Pool{{Name: "jobs", Ranges: []allocator.Range{{First: 1024, Last: 1023 + vnis}}}}
	w := &world{
		t: t, pools: pools, store: map[Slot]Record{}, now: start, numbers: map[string]uint64{}, boots: map[string]string{},
		cfg: Config{Schedulers: []string{"slurm", "flux"}, Policy: Text{"p1", "vnis = [\"app\"]"}},
	}
	w.cfg.Pools = []Pool{w.pool("jobs", time.Minute)}
	w.load()
	for _, n := range nodes {
		w.attach(n)
	}
	return w
}

// pool is the engine's side of an allocator's pool.
func (w *world) pool(name string, quarantine time.Duration) Pool {
	return Pool{Name: name, Quarantine: quarantine, Contains: func(v core.VNI) bool {
		return slices.ContainsFunc(w.pools, func(p allocator.Pool) bool { return p.Name == name && p.Contains(v) })
	}}
}

// load builds the machine from the store, as the server does when it starts. Without a witness the store vouches for itself.
func (w *world) load(witness ...core.Head) {
	w.t.Helper()
	alloc, err := allocator.New(w.pools)
	if err != nil {
		w.t.Fatal(err)
	}
	w.alloc = alloc
	w.id++
	meta, _ := w.store[Meta{}.Slot()].(Meta)
	m, first := New(w.cfg, alloc, w.records(), Start{
		ID: fmt.Sprintf("store%d", w.id), Incarnation: uint64(w.id), Witness: append(witness, meta.Head)[0],
	}, w.now)
	w.m = m
	w.commit(first)
	clear(w.numbers)
}

// restart forgets all but the store; running time begins again. Every session ends.
func (w *world) restart(witness ...core.Head) {
	w.now.Uptime = time.Second
	w.load(witness...)
}

// records is what the store would load: table by table.
func (w *world) records() []Record {
	out := slices.Collect(maps.Values(w.store))
	slices.SortFunc(out, func(a, b Record) int {
		s, t := a.Slot(), b.Slot()
		return cmp.Or(cmp.Compare(s.Table, t.Table), cmp.Compare(s.Serial, t.Serial), cmp.Compare(s.Name, t.Name))
	})
	return out
}

func (w *world) commit(records []Record) {
	w.written = slices.DeleteFunc(slices.Clone(records), func(r Record) bool { _, meta := r.(Meta); return meta })
	if len(records) == 0 {
		return
	}
	for _, rec := range append(records, w.m.Seal()) {
		put(w.store, rec)
	}
}

// put is what a store does with a record.
func put(store map[Slot]Record, rec Record) {
	at := rec.Slot()
	if _, gone := rec.(Delete); !gone {
		store[at] = rec
		return
	}
	delete(store, at)
	if at.Table != TableReservation {
		return
	}
	for s := range store {
		if (s.Table == TableTransition || s.Table == TableJoin) && s.Serial == at.Serial {
			delete(store, s)
		}
	}
}

func (w *world) step(in Input) []Action {
	w.t.Helper()
	records, actions := w.m.Step(w.now, in)
	w.commit(records)
	w.last = actions
	return actions
}

func (w *world) pass(d time.Duration) {
	w.now.Uptime += d
	w.now.Wall = w.now.Wall.Add(d)
}

// tick lets time pass and tells the machine.
func (w *world) tick(d time.Duration) []Action {
	w.t.Helper()
	w.pass(d)
	return w.step(Tick{})
}

// attach begins a session of node with a full report of what it holds.
func (w *world) attach(node string, held ...core.Held) []Action {
	w.t.Helper()
	return w.begin(node, core.Report{Held: held})
}

// begin begins a session with rep as its first report.
func (w *world) begin(node string, rep core.Report) []Action {
	w.t.Helper()
	w.session++
	w.numbers[node] = 1
	if w.boots[node] == "" {
		w.boots[node] = node + "-boot1"
	}
	rep.Number, rep.Full = 1, true
	if rep.Boot == "" {
		rep.Boot = w.boots[node]
	}
	if rep.Devices == nil {
		rep.Devices = []string{"cxi0", "cxi1"}
	}
	return w.step(Report{node, w.session, rep})
}

// more is a further report in the session of node.
func (w *world) more(node string, rep core.Report) []Action {
	w.t.Helper()
	w.numbers[node]++
	rep.Number, rep.Boot = w.numbers[node], w.boots[node]
	return w.step(Report{node, w.m.nodes[node].session, rep})
}

func (w *world) tell(node string, held ...core.Held) []Action {
	w.t.Helper()
	return w.more(node, core.Report{Held: held})
}

func (w *world) detach(node string) []Action {
	w.t.Helper()
	return w.step(Detach{node, w.m.nodes[node].session})
}

// reboot ends the session and begins one of the next boot.
func (w *world) reboot(node string) []Action {
	w.t.Helper()
	w.boots[node] += "+"
	return w.attach(node)
}

// job is a job of uid 1000 as slurm describes it, submitted at 100.
func job(id string, hosts string) core.Job {
	return core.Job{
		Run: core.Run{Key: core.Key{JobID: core.JobID{Scheduler: "slurm", Job: id}}, Fingerprint: core.Fingerprint{UID: 1000, Submitted: 100}},
		GID: 100, User: "alice", Placements: []core.Placement{{Hosts: hosts, Nodes: 1, Cores: 4}},
	}
}

// app is a decision that gives one VNI of the pool "jobs".
func app() Decision {
	d := Decision{VNIs: []Wanted{{"app", "jobs"}}, Classes: core.BestEffort, Limits: make([]core.Limits, 1), Policy: "p1"}
	d.Limits[0][core.TXQ] = core.Limit{Max: 1024, Reserved: 8}
	return d
}

func (w *world) ask(node string, j core.Job) Reserve {
	w.calls++
	return Reserve{Call: w.calls, Node: node, Ask: core.Intent{Action: core.Prepare, Key: j.Key, UID: j.UID, Boot: w.boots[node]}}
}

// reserve is a prepare of j on node. When the machine asks for it, the scheduler says j, now, and policy d. It fails unless there is one answer.
func (w *world) reserve(node string, j core.Job, d Decision) (core.Grant, *core.Error) {
	w.t.Helper()
	in := w.ask(node, j)
	acts := w.step(in)
	if described(acts, in.Call) {
		in.Said = &Said{Began: w.now.Uptime, Job: j, Decision: d, Policy: w.by}
		acts = append(slices.Clone(acts), w.step(in)...)
	}
	return w.outcome(acts, in.Call)
}

// granted is a reserve that must succeed.
func (w *world) granted(node string, j core.Job, d Decision) core.Grant {
	w.t.Helper()
	g, err := w.reserve(node, j, d)
	if err != nil {
		w.t.Fatalf("job %s on %s: refused: %v", j.Key, node, err)
	}
	return g
}

// refused is a reserve that must be refused for why.
func (w *world) refused(node string, j core.Job, d Decision, why core.Reason) *core.Error {
	w.t.Helper()
	g, err := w.reserve(node, j, d)
	if err == nil || err.Reason != why {
		w.t.Fatalf("job %s on %s: granted %v, error %v; want it refused: %s", j.Key, node, g.VNIs, err, why)
	}
	return err
}

func described(acts []Action, call uint64) bool { return slices.Contains(acts, Action(Describe{call})) }

// outcome is the one end of a call among acts.
func (w *world) outcome(acts []Action, call uint64) (g core.Grant, err *core.Error) {
	w.t.Helper()
	ends := 0
	for _, a := range acts {
		switch a := a.(type) {
		case Granted:
			if a.Call == call {
				g, ends = a.Grant, ends+1
			}
		case Refused:
			if a.Call == call {
				err, ends = a.Err, ends+1
			}
		}
	}
	if ends != 1 {
		w.t.Fatalf("call %d: it ended %d times: %v", call, ends, acts)
	}
	return g, err
}

// complete is a complete answer of slurm that was asked for now.
func (w *world) complete(jobs ...core.JobStatus) []Action {
	w.t.Helper()
	return w.step(Answer{Scheduler: "slurm", Began: w.now.Uptime, Jobs: core.Jobs{Complete: true, Jobs: jobs}})
}

// final is a change: runs that are over.
func (w *world) final(runs ...core.Run) []Action {
	w.t.Helper()
	in := Answer{Scheduler: "slurm", Began: w.now.Uptime}
	for _, r := range runs {
		in.Jobs.Jobs = append(in.Jobs.Jobs, core.JobStatus{Run: r, State: core.JobFinal})
	}
	return w.step(in)
}

func running(r core.Run) core.JobStatus { return core.JobStatus{Run: r, State: core.JobRunning} }
func queued(r core.Run) core.JobStatus  { return core.JobStatus{Run: r, State: core.JobQueued} }

func heldAs(s core.HeldState, r core.Run, vnis ...core.VNI) core.Held {
	return core.Held{Run: r, GID: 100, VNIs: vnis, State: s}
}

// state is where the only reservation of run stands; 0: there is none.
func (w *world) state(run core.Run) State {
	w.t.Helper()
	var found []View
	for _, v := range w.m.Job(run.JobID) {
		if v.Job.Run == run {
			found = append(found, v)
		}
	}
	switch len(found) {
	case 0:
		return 0
	case 1:
		return found[0].State
	}
	w.t.Fatalf("%d reservations of %v", len(found), run)
	return 0
}

func (w *world) want(run core.Run, s State) {
	w.t.Helper()
	if got := w.state(run); got != s {
		w.t.Fatalf("%s is %v, want %v", run.Key, got, s)
	}
}

// all gives the actions of one kind.
func all[A Action](acts []Action) []A {
	var out []A
	for _, a := range acts {
		if a, ok := a.(A); ok {
			out = append(out, a)
		}
	}
	return out
}

// cleans are the runs that acts order node to clean.
func cleans(acts []Action, node string) []core.Run {
	var out []core.Run
	for _, o := range all[Order](acts) {
		for _, c := range o.Orders.Clean {
			if o.Node == node {
				out = append(out, c.Run)
			}
		}
	}
	return out
}

// forgets are the runs whose record acts let node drop.
func forgets(acts []Action, node string) []core.Run {
	var out []core.Run
	for _, o := range all[Order](acts) {
		if o.Node == node {
			out = append(out, o.Orders.Forget...)
		}
	}
	return out
}

// views is the machine as people see it, by serial; what only running time tells is left out.
// holders are the reservations that hold v.
func (w *world) holders(v core.VNI) []Holder { return slices.Collect(w.m.Holders(v, v, 0)) }

func (w *world) views() []View {
	var out []View
	for v := range w.m.Reservations(0) {
		v.Left = 0
		out = append(out, v)
	}
	return out
}
