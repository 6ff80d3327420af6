package life

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/mailbox"
	"github.com/weft-hpc/weft/plugins/flux"
	"github.com/weft-hpc/weft/plugins/local"
	"github.com/weft-hpc/weft/plugins/pbs"
	"github.com/weft-hpc/weft/plugins/slurm"
	"github.com/weft-hpc/weft/policy"
	"github.com/weft-hpc/weft/server"
	"github.com/weft-hpc/weft/store/memory"
	"github.com/weft-hpc/weft/store/storetest"
)

// names are the nodes, on which every job of every scheduler runs: the same NICs serve them all.
var names = []string{"n1", "n2"}

const (
	firstVNI = 1024
	nics     = 2 // a node
)

// world is a server, an agent a node, and the sites that they serve, none of which knows the others but by what they say.
type world struct {
	testing.TB
	breaks
	sites    []site
	vnis     int
	store    *memory.Store
	server   atomic.Pointer[server.Server]
	starting atomic.Bool
	halt     func()
	nodes    map[string]*member
	began    atomic.Int64
	gates    gates

	mu     sync.Mutex
	drains []string      // what adapters were told to drain
	failed string        // what the newest prepare that failed said for people to read
	denied site          // whose user gets nothing
	limit  time.Duration // of a prepare; 0: long

	observes *engine.Observed // the mode of the first site; nil: all of its jobs are served
}

// member is one node.
type member struct {
	agent   atomic.Pointer[agent.Agent]
	driver  *driver
	ledger  *storetest.Ledger
	boot    string
	rundir  rundir.Dir    // where observed jobs are remembered; empty: none is
	sweep   time.Duration // 0: as agents have it
	halt    func()
	stopped chan struct{} // the agent of now
}

// Reserve and Attend are the way of every agent to whichever server runs. As the agent's own line does, Reserve asks a server that is away, or that has not
// heard of the node yet, again for as long as the hook waits.
func (w *world) Reserve(ctx context.Context, node string, ask core.Intent, peer core.Peer) (core.Grant, error) {
	pause := time.NewTicker(2 * time.Millisecond)
	defer pause.Stop()
	for {
		g, err := core.Grant{}, error(core.Errorf(core.ServerAway, "there is no server"))
		if s := w.server.Load(); s != nil {
			if g, err = s.Reserve(ctx, node, ask, peer); w.server.Load() != s {
				err = core.Errorf(core.ServerAway, "it was killed, and its answer with it")
			}
		}
		if err == nil {
			return g, nil
		}
		if r := core.AsError(err).Reason; r != core.ServerAway && r != core.NodeAway {
			return g, err
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return g, err
		}
	}
}

func (w *world) Attend(ctx context.Context, node string, first core.Report, next <-chan core.Report, told func(core.Orders)) error {
	if w.forgets {
		first.Held, first.Unknown = nil, nil
	}
	if s := w.server.Load(); s != nil {
		return mailbox.Authority{Authority: s}.Attend(ctx, node, first, next, told)
	}
	return core.Errorf(core.ServerAway, "there is no server")
}

// newWorld is the world of a scenario.
func newWorld(t testing.TB, sc scenario, b breaks, makers ...maker) *world {
	t.Helper()
	w := &world{TB: t, breaks: b, vnis: sc.vnis, store: memory.New(), nodes: map[string]*member{}}
	if w.vnis == 0 {
		w.vnis = 16
	}
	if sc.observes {
		w.observes = &engine.Observed{}
	}
	for _, m := range makers {
		w.sites = append(w.sites, m.make(w))
	}
	t.Cleanup(func() {
		for _, s := range w.sites {
			s.close()
		}
	})
	w.start()
	t.Cleanup(func() { w.halt() })
	for _, name := range names {
		m := &member{ledger: &storetest.Ledger{}, boot: name}
		m.driver = &driver{Driver: w.nic(name), world: w, node: name}
		if sc.observes {
			m.rundir, m.sweep = rundir.Dir(t.TempDir()), 20*time.Millisecond
		}
		w.nodes[name] = m
		w.boot(name)
		t.Cleanup(func() { m.halt() })
	}
	for _, name := range names {
		w.attached(name)
	}
	return w
}

func (w *world) nic(boot string) *sim.Driver { return sim.New(sim.Options{NICs: nics, Boot: boot}) }

// start starts a server on what the store holds.
func (w *world) start() {
	w.Helper()
	var own []string
	schedulers := map[string]core.SchedulerClient{}
	for _, s := range w.sites {
		schedulers[s.name()] = half{w, s}
		if s.name() == localName {
			own = append(own, localName)
		}
	}
	has := w.change()
	w.starting.Store(true)
	s, err := server.New(w.Context(), server.Needs{
		Store:  &storetest.Hooked{Store: w.forgetting(w.store), Before: w.before, After: w.after},
		Policy: has.Policy, Config: has.Config, Allocator: has.Allocator, Sizes: has.Sizes,
		Log: slog.New(slog.DiscardHandler), Schedulers: schedulers, Own: own,
		Limits: server.Limits{
			Tick: 10 * time.Millisecond, Retry: 10 * time.Millisecond, RetryMost: 50 * time.Millisecond,
			Mirror: 20 * time.Millisecond, Scan: 10 * time.Millisecond, Overlap: time.Millisecond, Grace: time.Millisecond,
		},
	})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Run(ctx) }()
	w.server.Store(s)
	w.starting.Store(false)
	w.halt = func() { w.server.CompareAndSwap(s, nil); cancel(); <-done }
}

// change is the configuration that a server starts with, or takes in a reload.
func (w *world) change() server.Change {
	w.Helper()
	var labels []string
	for _, s := range w.sites {
		labels = append(labels, s.name())
	}
	files, _, findings := policy.Gather([]string{"../../policy"})
	if findings != nil {
		w.Fatal(findings)
	}
	decides, findings := policy.Load(files, policy.Env{Pools: []string{"jobs"}, Schedulers: labels})
	if decides == nil {
		w.Fatal(findings)
	}
	last := core.VNI(firstVNI + w.vnis - 1) //nolint:gosec // a few
	config := engine.Config{
		Schedulers: labels, System: engine.System{Nodes: len(names)},
		Rules: engine.Rules{Quarantine: time.Millisecond, Repeat: 50 * time.Millisecond},
		Pools: []engine.Pool{{
			Name: "jobs", Quarantine: time.Millisecond, Contains: func(v core.VNI) bool { return v >= firstVNI && v <= last },
		}},
	}
	if o := w.observing(); o != nil {
		config.Observe = map[string]engine.Observed{labels[0]: *o}
	}
	return server.Change{
		Config: config, Policy: refusing{decides, w},
		Allocator: func(engine.Config) (engine.Allocator, error) {
			a, err := allocator.New([]allocator.Pool{{Name: "jobs", Ranges: []allocator.Range{{First: firstVNI, Last: last}}}})
			return w.allocating(a), err
		},
		Sizes:  func() map[string]int { return map[string]int{"jobs": w.vnis} },
		Resize: func(engine.Allocator) error { return nil },
	}
}

// boot starts the agent of a node on what its ledger and its NICs hold.
func (w *world) boot(name string) {
	w.Helper()
	m := w.nodes[name]
	hooks := map[string]core.Hooks{}
	requeuers := map[string]core.SchedulerClient{}
	for _, s := range w.sites {
		hooks[s.name()] = front{w, s}
		requeuers[s.name()] = half{w, s}
	}
	a, err := agent.New(w.Context(), agent.Needs{
		Node: name, Boot: m.boot, Driver: m.driver, Authority: w, Store: m.ledger, Log: slog.New(slog.DiscardHandler), Hooks: hooks, Requeuers: requeuers,
		Limits: agent.Limits{Retry: 10 * time.Millisecond, RetryMost: 50 * time.Millisecond}, Mode: w.mode(name), Rundir: m.rundir,
		Machine: node.Config{CleanReply: 20 * time.Millisecond, SelfService: []string{localName}, Sweep: m.sweep},
	})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = a.Run(ctx) }()
	m.agent.Store(a)
	m.stopped = done
	m.halt = func() { m.agent.CompareAndSwap(a, nil); cancel(); <-done }
}

// kill ends an agent as SIGKILL does, wherever it is: what it has not made durable is lost. back starts it anew.
func (w *world) kill(name string) (back func()) {
	m := w.nodes[name]
	halt := m.halt
	gone := make(chan struct{})
	go func() { defer close(gone); halt() }()
	w.until("the agent's end", func() bool { return m.agent.Load() == nil })
	return func() { <-gone; w.boot(name) }
}

// killServer is the same of the server.
func (w *world) killServer() (back func()) {
	halt := w.halt
	gone := make(chan struct{})
	go func() { defer close(gone); halt() }()
	w.until("the server's end", func() bool { return w.server.Load() == nil })
	return func() { <-gone; w.start() }
}

// reboot is a node that was away and comes back: its NICs are empty, and so is its run directory.
func (w *world) reboot(name string) {
	m := w.nodes[name]
	m.boot += "'"
	m.ledger = &storetest.Ledger{}
	m.driver.swap(w.nic(m.boot))
	w.boot(name)
}

// hook runs one as weft-hook does: it comes again to an agent that restarts.
func (w *world) hook(node string, call core.HookCall) core.HookReply {
	call.Began = w.began.Add(1)
	m := w.nodes[node]
	for {
		var a *agent.Agent
		w.until("an agent of "+node, func() bool { a = m.agent.Load(); return a != nil })
		w.mu.Lock()
		limit := w.limit
		w.mu.Unlock()
		if limit == 0 || !slices.Contains(prepares, call.Phase) {
			limit = time.Minute
		}
		ctx, cancel := context.WithTimeout(w.Context(), limit)
		r, err := a.Hook(ctx, call)
		cancel()
		w.over()
		if m.agent.Load() != a {
			continue // whoever was to answer is dead, and so is the answer
		}
		if err != nil {
			w.Errorf("%s of %s on %s: %v", call.Phase, call.Scheduler, node, err)
		}
		if r.Exit != 0 && slices.Contains(prepares, call.Phase) {
			w.fails(string(r.Stderr))
		}
		return r
	}
}

// fails notes what a prepare that failed said.
func (w *world) fails(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = text
}

// over ends who outlives the trial: its context ends after its last line, when all that it looks at was looked at. A clean-up of a node that was lost, or one
// that two lives of an adapter ask for, may be under way then, and nobody waits for it.
func (w *world) over() {
	if w.Context().Err() != nil {
		runtime.Goexit()
	}
}

// prepares are the phases in which services are made.
var prepares = []string{flux.PhaseProlog, pbs.PhaseBegin, slurm.PhaseProlog, local.PhasePrepare}

// impatient is the limit of a prepare that is to see it pass.
const impatient = 300 * time.Millisecond

// patience is how long a prepare waits from now on; 0: as long as it takes.
func (w *world) patience(limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = limit
}

// until waits for what the world comes to by itself.
func (w *world) until(what string, ok func() bool) {
	w.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	patience := time.NewTimer(cmp.Or(w.gives, 2*time.Minute)) // so that a failure says what it waited for
	defer patience.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-w.Context().Done():
			runtime.Goexit() // see over
		case <-patience.C:
			w.Fatalf("it does not come to %s\n%s", what, w.story())
		}
	}
}

// look looks at the server's machine; false: there is none.
func (w *world) look(f func(*engine.Machine)) bool {
	s := w.server.Load()
	return s != nil && s.Look(w.Context(), f) == nil
}

// attached waits for a node's session.
func (w *world) attached(name string) {
	w.Helper()
	w.until("a session of "+name, func() bool {
		there := false
		return w.look(func(m *engine.Machine) {
			there = slices.ContainsFunc(slices.Collect(m.Nodes("")), func(n engine.NodeStatus) bool { return n.Name == name && n.Attached })
		}) && there
	})
}
