package dev_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/people/peopletest"
	"github.com/weft-hpc/weft/plugins/flux"
	"github.com/weft-hpc/weft/plugins/flux/broker/brokertest"
	"github.com/weft-hpc/weft/server"
	"github.com/weft-hpc/weft/store/ledger"
	"github.com/weft-hpc/weft/store/memory"
)

// gated is a driver that a test holds up, or fails.
type gated struct {
	core.NICDriver
	mu      sync.Mutex
	create  func()       // before services are made; nil: nothing
	refuse  error        // of Create
	busy    bool         // of Destroy
	destroy atomic.Int64 // how often Destroy was asked
}

func (g *gated) Create(ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
	g.mu.Lock()
	f, refuse := g.create, g.refuse
	g.mu.Unlock()
	if f != nil {
		f()
	}
	if refuse != nil {
		out := make([]core.Created, len(specs))
		for i := range out {
			out[i].Err = refuse
		}
		return out, nil
	}
	return g.NICDriver.Create(ctx, specs)
}

func (g *gated) Destroy(ctx context.Context, services []core.Service) ([]error, error) {
	g.mu.Lock()
	busy := g.busy
	g.mu.Unlock()
	g.destroy.Add(1)
	if busy {
		out := make([]error, len(services))
		for i := range out {
			out[i] = core.Errorf(core.ServiceBusy, "%s: service %d: an application holds it", services[i].Device, services[i].ID)
		}
		return out, nil
	}
	return g.NICDriver.Destroy(ctx, services)
}

func (g *gated) set(f func(g *gated)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f(g)
}

// cluster is a Flux instance, a server and an agent a node, none of which knows the others but by what they say.
type cluster struct {
	*testing.T
	broker *brokertest.Broker
	plugin *flux.Plugin
	store  *memory.Store
	vnis   int
	server atomic.Pointer[server.Server]
	halt   func()
	nodes  map[string]*member
	began  atomic.Int64
}

type member struct {
	*agent.Agent
	driver *gated
	ledger *ledger.Memory
	halt   func()
}

// Reserve and Attend are the way of every agent to whichever server runs.
func (c *cluster) Reserve(ctx context.Context, node string, ask core.Intent, peer core.Peer) (core.Grant, error) {
	s := c.server.Load()
	if s == nil {
		return core.Grant{}, core.Errorf(core.ServerAway, "there is no server")
	}
	return s.Reserve(ctx, node, ask, peer)
}

func (c *cluster) Attend(ctx context.Context, node string, first core.Report, next <-chan core.Report, told func(core.Orders)) error {
	s := c.server.Load()
	if s == nil {
		return core.Errorf(core.ServerAway, "there is no server")
	}
	return s.Attend(ctx, node, first, next, told)
}

// newCluster has so many VNIs for jobs on these nodes.
func newCluster(t *testing.T, vnis int, names ...string) *cluster {
	t.Helper()
	b, err := brokertest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Crash)
	b.Hosts(names...)
	c := &cluster{T: t, broker: b, plugin: flux.NewWith("flux", peopletest.One(alice).Run), store: memory.New(), vnis: vnis, nodes: map[string]*member{}}
	if err := c.plugin.Configure(t.Context(), core.Values{"uri": b.URI(), "every": time.Second}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.plugin.Configure(context.Background(), core.Values{}) })
	c.start()
	t.Cleanup(func() { c.halt() })
	for _, name := range names {
		m := &member{driver: &gated{NICDriver: sim.New(sim.Options{NICs: 2, Boot: name})}, ledger: &ledger.Memory{}}
		c.nodes[name] = m
		c.boot(name)
		t.Cleanup(func() { m.halt() })
	}
	c.until(func() bool {
		n := 0
		err := c.server.Load().Look(t.Context(), func(m *engine.Machine) {
			for _, s := range m.Nodes() {
				if s.Attached {
					n++
				}
			}
		})
		return err == nil && n == len(names)
	})
	return c
}

// start starts a server on what the store holds.
func (c *cluster) start() {
	c.Helper()
	pool := []allocator.Pool{{Name: "jobs", Ranges: []allocator.Range{{First: 1024, Last: core.VNI(1023 + c.vnis)}}}}
	s, err := server.New(c.Context(), server.Needs{
		Store: c.store, Policy: shipped(c.T), Log: slog.New(slog.DiscardHandler), Schedulers: map[string]core.SchedulerClient{"flux": core.Dispatcher{Of: c.plugin}},
		Allocator: func(engine.Config) (engine.Allocator, error) { return allocator.New(pool) },
		Limits:    server.Limits{Tick: 10 * time.Millisecond, Retry: 10 * time.Millisecond},
		Config: engine.Config{
			Schedulers: []string{"flux"}, System: engine.System{Nodes: len(c.nodes)}, Rules: engine.Rules{Quarantine: time.Millisecond},
			Pools: []engine.Pool{{Name: "jobs", Quarantine: time.Millisecond, Contains: func(v core.VNI) bool { return v >= 1024 && int(v) < 1024+c.vnis }}},
		},
	})
	if err != nil {
		c.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Run(ctx) }()
	c.server.Store(s)
	c.halt = func() { c.server.Store(nil); cancel(); <-done }
}

// boot starts the agent of a node on what its ledger and its NICs hold.
func (c *cluster) boot(name string) {
	c.Helper()
	m := c.nodes[name]
	a, err := agent.New(c.Context(), agent.Needs{
		Node: name, Boot: name, Driver: m.driver, Authority: c, Store: m.ledger, Log: slog.New(slog.DiscardHandler), Hooks: map[string]core.Hooks{"flux": c.plugin},
		Limits: agent.Limits{Retry: 10 * time.Millisecond, RetryMost: 50 * time.Millisecond}, Machine: node.Config{CleanReply: 20 * time.Millisecond},
	})
	if err != nil {
		c.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = a.Run(ctx) }()
	m.Agent, m.halt = a, func() { cancel(); <-done }
}

const alice = 1000

// job is one that Flux has given these nodes, the first of the instance.
func (c *cluster) job(id uint64, nodes ...string) string {
	c.broker.Submit(id, alice, nil)
	c.broker.Alloc(id, []any{brokertest.Lite(fmt.Sprintf("0-%d", len(nodes)-1), "0-3")}, nodes...)
	return fmt.Sprint(id)
}

// hook runs one as its scriptlet, or the shell plugin, does.
func (c *cluster) hook(node, phase, job string) core.HookReply {
	call := core.HookCall{Scheduler: "flux", Phase: phase, Env: map[string]string{"FLUX_JOB_ID": job, "FLUX_JOB_USERID": fmt.Sprint(alice)}, Began: c.began.Add(1)}
	if phase == flux.PhaseShell {
		call.Peer.UID = alice
	}
	r, err := c.nodes[node].Hook(c.Context(), call)
	if err != nil {
		c.Errorf("%s of job %s on %s: %v", phase, job, node, err)
	}
	return r
}

// want runs a hook and holds its exit code against what is wanted.
func (c *cluster) want(exit int, node, phase, job string) core.HookReply {
	c.Helper()
	r := c.hook(node, phase, job)
	if r.Exit != exit {
		c.Errorf("%s of job %s on %s: exit %d, want %d: %s%s", phase, job, node, r.Exit, exit, r.Stdout, r.Stderr)
	}
	return r
}

// again runs a hook until its exit code is wanted, as a prolog's scriptlet tries again.
func (c *cluster) again(exit int, node, phase, job string) core.HookReply {
	c.Helper()
	var r core.HookReply
	c.until(func() bool { r = c.hook(node, phase, job); return r.Exit == exit })
	return r
}

// until waits for what the system comes to by itself.
func (c *cluster) until(ok func() bool) {
	c.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-c.Context().Done():
			c.Fatal("it does not come to that")
		}
	}
}

// vni is what a job's shell on a node is told.
func (c *cluster) vni(node, job string) string {
	c.Helper()
	r := c.want(0, node, flux.PhaseShell, job)
	for line := range strings.Lines(string(r.Stdout)) {
		if v, ok := strings.CutPrefix(line, "export SLINGSHOT_VNIS="); ok {
			return strings.TrimSpace(v)
		}
	}
	c.Errorf("job %s on %s has no VNI: %s", job, node, r.Stdout)
	return ""
}

// services are how many of jobs stand on a node.
func (c *cluster) services(node string) int {
	c.Helper()
	all, err := c.nodes[node].driver.Services(context.Background())
	if err != nil {
		c.Fatal(err)
	}
	n := 0
	for _, s := range all {
		if !s.System && !s.Default {
			n++
		}
	}
	return n
}

func (c *cluster) clean(nodes ...string) {
	c.Helper()
	for _, n := range nodes {
		c.until(func() bool { return c.services(n) == 0 })
	}
}

// events are the exceptions of a job.
func (c *cluster) exceptions(id uint64) []string {
	var all []string
	for _, e := range c.broker.Events(id) {
		if strings.Contains(e, `"name":"exception"`) {
			all = append(all, e)
		}
	}
	return all
}

func (c *cluster) undrained(nodes int) {
	c.Helper()
	for rank := range nodes {
		if why, drained := c.broker.Drained(rank); drained {
			c.Errorf("rank %d is drained: %s", rank, why)
		}
	}
}

// TestFluxJob is one from its prolog to its end.
func TestFluxJob(t *testing.T) {
	c := newCluster(t, 2, "node01", "node02")
	job := c.job(7, "node01", "node02")
	for _, n := range []string{"node01", "node02"} {
		c.want(0, n, flux.PhaseProlog, job)
		if c.services(n) != 2 {
			t.Errorf("%s has %d services", n, c.services(n))
		}
	}
	if a, b := c.vni("node01", job), c.vni("node02", job); a != b || a == "" {
		t.Errorf("VNIs %q and %q", a, b)
	}
	for _, n := range []string{"node01", "node02"} {
		c.want(0, n, flux.PhaseEpilog, job)
		c.want(0, n, flux.PhaseHousekeeping, job)
	}
	c.clean("node01", "node02")
	c.broker.End(7)
	c.undrained(2)
	if e := c.exceptions(7); e != nil {
		t.Errorf("%q", e)
	}
}

// notes are the events by which a job's eventlog shows what it was given.
func (c *cluster) notes(id uint64) []string {
	return slices.DeleteFunc(c.broker.Events(id), func(e string) bool { return !strings.Contains(e, `"name":"weft"`) })
}

// TestFluxShowsWhatAJobWasGiven: its eventlog has one event with VNIs, NICs and what the services admit, however many nodes it has; it survives what the job's
// own prologs do again. A broker that does not take the event holds up no prolog.
func TestFluxShowsWhatAJobWasGiven(t *testing.T) {
	c := newCluster(t, 4, "node01", "node02")
	held, release := make(chan struct{}, 1), make(chan struct{})
	c.broker.Before(func(topic string) {
		if topic == "job-manager.post-event.post" {
			select {
			case held <- struct{}{}:
			default:
			}
			<-release
		}
	})
	job := c.job(7, "node01", "node02")
	for range 2 {
		for _, n := range []string{"node01", "node02"} {
			c.want(0, n, flux.PhaseProlog, job)
		}
	}
	vni := c.vni("node02", job)
	<-held
	if e := c.notes(7); len(e) != 0 {
		t.Errorf("the broker held it up, and has %q", e)
	}
	c.broker.Before(nil)
	close(release)
	c.until(func() bool { return len(c.notes(7)) > 0 })
	var e struct {
		Context struct {
			VNIs   []core.VNI
			NICs   []string
			TCs    []string
			Limits map[string]struct{ Reserved, Max uint16 }
		}
	}
	if err := json.Unmarshal([]byte(c.notes(7)[0]), &e); err != nil {
		t.Fatal(err)
	}
	if got := core.FormatVNIs(e.Context.VNIs); got != vni {
		t.Errorf("the eventlog shows VNIs %s, and the job's tasks have %s", got, vni)
	}
	services, err := c.nodes["node01"].driver.Services(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var nics []string
	for _, s := range services {
		if s.System || s.Default {
			continue
		}
		nics = append(nics, s.Device)
		for i, l := range s.Limits {
			if n := e.Context.Limits[core.Resource(i).String()]; n.Reserved != l.Reserved || n.Max != l.Max {
				t.Errorf("%s of the service on %s: the eventlog shows %+v, and the NIC has %+v", core.Resource(i), s.Device, n, l)
			}
		}
		if diff := cmp.Diff(s.Classes.Names(), e.Context.TCs); diff != "" {
			t.Error(diff)
		}
	}
	if slices.Sort(nics); !slices.Equal(nics, e.Context.NICs) || len(nics) != 2 {
		t.Errorf("the eventlog shows NICs %q, and services are on %q", e.Context.NICs, nics)
	}
	// The next job's event comes after whatever else of this one's would.
	c.want(0, "node01", flux.PhaseProlog, c.job(8, "node01"))
	c.until(func() bool { return len(c.notes(8)) > 0 })
	if got := c.notes(7); len(got) != 1 {
		t.Errorf("%d events of one job: %q", len(got), got)
	}
}

// TestFluxShowsOnceWhatAJobWasGivenThoughTheServerEnded: before the event was asked for, and after, before the broker's answer came.
func TestFluxShowsOnceWhatAJobWasGivenThoughTheServerEnded(t *testing.T) {
	c := newCluster(t, 4, "node01")
	held, first, second := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	var lookups atomic.Int32
	c.broker.Before(func(topic string) {
		if topic != "job-info.lookup" {
			return
		}
		if lookups.Add(1) == 2 { // the first was for the grant
			held <- struct{}{}
			<-first
		}
	})
	c.want(0, "node01", flux.PhaseProlog, c.job(7, "node01"))
	<-held
	c.halt()
	c.broker.Before(nil)
	close(first)
	if e := c.notes(7); len(e) != 0 {
		t.Errorf("%q", e)
	}
	c.start()
	c.until(func() bool { return len(c.notes(7)) > 0 })

	c.broker.Before(func(topic string) {
		if topic == "job-manager.post-event.post" {
			held <- struct{}{}
			<-second
		}
	})
	c.again(0, "node01", flux.PhaseProlog, c.job(8, "node01"))
	<-held
	c.halt()
	c.broker.Before(nil)
	close(second)
	c.until(func() bool { return len(c.notes(8)) > 0 })
	c.start()
	c.again(0, "node01", flux.PhaseProlog, c.job(9, "node01")) // whose event comes after whatever comes of those before it
	c.until(func() bool { return len(c.notes(9)) > 0 })
	for id := uint64(7); id <= 9; id++ {
		if e := c.notes(id); len(e) != 1 {
			t.Errorf("job %d has %d events: %q", id, len(e), e)
		}
	}
}

// TestFluxAPrologThatWasCancelledWhileItRan: the epilog comes while the prolog is making services, and leaves none.
func TestFluxAPrologThatWasCancelledWhileItRan(t *testing.T) {
	c := newCluster(t, 2, "node01")
	job := c.job(7, "node01")
	making, release := make(chan struct{}), make(chan struct{})
	c.nodes["node01"].driver.set(func(g *gated) { g.create = func() { making <- struct{}{}; <-release } })
	prolog := make(chan core.HookReply, 1)
	go func() { prolog <- c.hook("node01", flux.PhaseProlog, job) }()
	<-making
	c.broker.Post(7, "exception", map[string]any{"type": "cancel", "severity": 0})
	epilog := make(chan core.HookReply, 1)
	go func() { epilog <- c.hook("node01", flux.PhaseEpilog, job) }()
	close(release)
	if r := <-epilog; r.Exit != 0 {
		t.Errorf("epilog: %+v", r)
	}
	if r := <-prolog; r.Exit != 0 {
		t.Errorf("the prolog would drain the node: %+v", r)
	}
	c.broker.End(7)
	c.clean("node01")
	c.want(0, "node01", flux.PhaseProlog, job) // late once more: refused, and nothing is made
	if c.services("node01") != 0 {
		t.Error("a late prolog made services")
	}
	if r := c.want(1, "node01", flux.PhaseShell, job); !strings.Contains(string(r.Stdout), "print weft: ") {
		t.Errorf("%s", r.Stdout)
	}
	c.undrained(1)
}

// TestFluxAnEpilogThatStartsBeforeItsPrologEnded, as Flux does of one that ignores SIGTERM: the server is still being asked, and `clean` comes first of all.
func TestFluxAnEpilogThatStartsBeforeItsPrologEnded(t *testing.T) {
	c := newCluster(t, 2, "node01")
	job := c.job(7, "node01")
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	c.broker.Before(func(topic string) {
		if topic == "job-info.lookup" {
			asked <- struct{}{}
			<-answer
		}
	})
	prolog := make(chan core.HookReply, 1)
	go func() { prolog <- c.hook("node01", flux.PhaseProlog, job) }()
	<-asked
	c.broker.Before(nil)
	for _, name := range []string{"epilog-start", "free", "clean"} {
		c.broker.Post(7, name, nil)
	}
	c.want(0, "node01", flux.PhaseEpilog, job)
	close(answer)
	if r := <-prolog; r.Exit != 0 && r.Exit != flux.ExitAgain {
		t.Errorf("the prolog would drain the node: %+v", r)
	}
	c.want(0, "node01", flux.PhaseProlog, job)
	c.clean("node01")
	c.undrained(1)
}

// TestFluxEpilogAndHousekeepingAtOnce, several of each, while the next job starts on the node: each cleans its own.
func TestFluxEpilogAndHousekeepingAtOnce(t *testing.T) {
	c := newCluster(t, 4, "node01")
	old, next := c.job(7, "node01"), c.job(8, "node01")
	c.want(0, "node01", flux.PhaseProlog, old)
	var group sync.WaitGroup
	gate := make(chan struct{})
	for _, phase := range []string{flux.PhaseEpilog, flux.PhaseHousekeeping, flux.PhaseEpilog, flux.PhaseHousekeeping} {
		group.Go(func() { <-gate; c.want(0, "node01", phase, old) })
	}
	group.Go(func() { <-gate; c.want(0, "node01", flux.PhaseProlog, next) })
	close(gate)
	group.Wait()
	c.broker.End(7)
	c.until(func() bool { return c.services("node01") == 2 })
	if c.vni("node01", next) == "" {
		t.Error("the next job has lost its network")
	}
	c.want(1, "node01", flux.PhaseShell, old)
	c.undrained(1)
}

// TestFluxAFailedPrologOnOneRankOfMany, as recording 06: that node fails, and the others are cleaned though Flux does not wait for their epilogs.
func TestFluxAFailedPrologOnOneRankOfMany(t *testing.T) {
	names := []string{"node01", "node02", "node03", "node04"}
	c := newCluster(t, 1, names...)
	job := c.job(7, names...)
	c.nodes["node03"].driver.set(func(g *gated) { g.refuse = core.Errorf(core.NICFailed, "cxi1: it makes no service") })
	for _, n := range names {
		exit := 0
		if n == "node03" {
			exit = flux.ExitFailed
		}
		if r := c.want(exit, n, flux.PhaseProlog, job); exit != 0 && !strings.Contains(string(r.Stderr), "cxi1: it makes no service") {
			t.Errorf("%s", r.Stderr)
		}
	}
	c.broker.Post(7, "epilog-start", nil)
	c.broker.Post(7, "exception", map[string]any{"type": "prolog", "severity": 0})
	c.broker.Drain(2, "prolog failed for job ƒ8")
	c.broker.Post(7, "free", nil)
	c.broker.Post(7, "clean", nil)
	for _, n := range names[:2] { // of the last no epilog runs: the server's order cleans it
		c.want(0, n, flux.PhaseEpilog, job)
	}
	c.clean(names...)
	// All are clean and the job is over: its VNI, the only one, is free.
	c.again(0, "node01", flux.PhaseProlog, c.job(8, "node01"))
	for _, rank := range []int{0, 1, 3} {
		if why, drained := c.broker.Drained(rank); drained {
			t.Errorf("rank %d is drained: %s", rank, why)
		}
	}
}

// TestFluxLiveReservationsSurviveARestartOfAnything. flux-coral2 forgot them when its plugin was loaded anew.
func TestFluxLiveReservationsSurviveARestartOfAnything(t *testing.T) {
	c := newCluster(t, 2, "node01", "node02")
	job := c.job(7, "node01")
	c.want(0, "node01", flux.PhaseProlog, job)
	vni := c.vni("node01", job)
	for name, restart := range map[string]func(){
		"server": func() { c.halt(); c.start() },
		"broker": func() {
			c.broker.Crash()
			if err := c.broker.Start(); err != nil {
				t.Fatal(err)
			}
		},
		"agent": func() { c.nodes["node01"].halt(); c.boot("node01") },
		"all": func() {
			c.halt()
			c.nodes["node01"].halt()
			c.broker.Stop()
			if err := c.broker.Start(); err != nil {
				t.Fatal(err)
			}
			c.start()
			c.boot("node01")
		},
	} {
		restart()
		id := uint64(100 + len(name))
		other := c.job(id, "node02")
		c.again(0, "node02", flux.PhaseProlog, other)
		if got := c.vni("node02", other); got == vni || got == "" {
			t.Errorf("after a restart of %s another job has VNI %q, and the first has %q", name, got, vni)
		}
		if got := c.vni("node01", job); got != vni || c.services("node01") != 2 {
			t.Errorf("after a restart of %s the job has VNI %q and %d services; it had %q", name, got, c.services("node01"), vni)
		}
		c.want(0, "node02", flux.PhaseEpilog, other)
		c.broker.End(id)
		c.clean("node02")
	}
	if e := c.exceptions(7); e != nil {
		t.Errorf("%q", e)
	}
}

// TestFluxAnEmptyPool: the job waits in its prolog, ends nothing and drains nothing, and starts when a VNI is free. flux-coral2 crashed the job manager.
func TestFluxAnEmptyPool(t *testing.T) {
	c := newCluster(t, 1, "node01", "node02")
	first, second := c.job(7, "node01"), c.job(8, "node02")
	c.want(0, "node01", flux.PhaseProlog, first)
	for range 3 {
		if r := c.want(flux.ExitAgain, "node02", flux.PhaseProlog, second); !strings.Contains(string(r.Stderr), "jobs") {
			t.Errorf("%s", r.Stderr)
		}
	}
	if r := c.want(1, "node02", flux.PhaseShell, second); !strings.HasPrefix(string(r.Stdout), "print weft: ") {
		t.Errorf("a task would start without its network: %s", r.Stdout)
	} else if !strings.Contains(string(r.Stdout), "no VNI is free") { // what its user is told where the prolog gave up
		t.Errorf("it does not say why: %s", r.Stdout)
	}
	c.want(0, "node01", flux.PhaseEpilog, first)
	c.broker.End(7)
	c.again(0, "node02", flux.PhaseProlog, second)
	if c.vni("node02", second) != "1024" {
		t.Error("it has another VNI")
	}
	if e := c.exceptions(8); e != nil {
		t.Errorf("%q", e)
	}
	c.undrained(2)
}

// TestFluxDoctorLooksAtTheBrokersRights: a broker of another owner, whom the block does not name, takes Weft for a guest.
func TestFluxDoctorLooksAtTheBrokersRights(t *testing.T) {
	c := newCluster(t, 1, "node01")
	doctor := func() []agent.FindingRow {
		p := flux.New("flux")
		if err := p.Configure(t.Context(), core.Values{"uri": c.broker.URI()}); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = p.Configure(context.Background(), core.Values{}) }()
		rows := c.nodes["node01"].Doctor(t.Context(), agent.Site{Checks: map[string]core.Checker{"scheduler flux": p}}, 0)
		return slices.DeleteFunc(rows, func(r agent.FindingRow) bool { return r.Of != "scheduler flux" })
	}
	guest := func(r agent.FindingRow) bool {
		return r.Severity == core.Critical.String() && strings.Contains(r.What, "guest") && strings.Contains(r.Remedy, "user") && strings.Contains(r.Remedy, "allow-root-owner")
	}
	if rows := doctor(); len(rows) == 0 || slices.ContainsFunc(rows, guest) {
		t.Errorf("its owner: %+v", rows)
	}
	c.broker.OwnedBy(4242)
	if rows := doctor(); !slices.ContainsFunc(rows, guest) {
		t.Errorf("a guest: %+v", rows)
	}
}

// TestFluxAServiceThatIsBusy: the epilog returns, the node goes on, and no VNI is free before its services are gone. flux-coral2's helper crashed at EBUSY and
// never tried again, and its VNI was free before.
func TestFluxAServiceThatIsBusy(t *testing.T) {
	c := newCluster(t, 1, "node01", "node02")
	first, second := c.job(7, "node01"), c.job(8, "node02")
	c.want(0, "node01", flux.PhaseProlog, first)
	driver := c.nodes["node01"].driver
	driver.set(func(g *gated) { g.busy = true })
	for _, phase := range []string{flux.PhaseEpilog, flux.PhaseHousekeeping} {
		c.want(0, "node01", phase, first)
	}
	c.broker.End(7)
	c.broker.Purge(7)
	tries := driver.destroy.Load()
	c.until(func() bool { return driver.destroy.Load() > tries+1 }) // it goes on by itself
	if r := c.want(flux.ExitAgain, "node02", flux.PhaseProlog, second); c.services("node01") != 2 {
		t.Errorf("the services are gone: %s", r.Stderr)
	}
	driver.set(func(g *gated) { g.busy = false })
	c.again(0, "node02", flux.PhaseProlog, second)
	if c.services("node01") != 0 {
		t.Error("the VNI was free before its services were gone")
	}
	c.undrained(2)
}

// TestFluxMissingServicesStopTheJob on a node where nothing was prepared. flux-coral2's jobs ran with SLINGSHOT_SVC_IDS=-1.
func TestFluxMissingServicesStopTheJob(t *testing.T) {
	c := newCluster(t, 1, "node01", "node02")
	job := c.job(7, "node01", "node02")
	c.want(0, "node01", flux.PhaseProlog, job)
	r := c.want(1, "node02", flux.PhaseShell, job)
	if text := string(r.Stdout); !strings.HasPrefix(text, "print weft: ") || strings.Contains(text, "export") || strings.Contains(text, "-1") {
		t.Errorf("%s", text)
	}
}

// TestFluxADeniedUserDrainsNoNode and is told why in an exception.
func TestFluxADeniedUserDrainsNoNode(t *testing.T) {
	c := newCluster(t, 1, "node01")
	c.broker.Submit(7, alice, map[string]any{"shell": map[string]any{"options": map[string]any{"slingshot": map[string]any{"colour": "blue"}}}})
	c.broker.Alloc(7, []any{brokertest.Lite("0", "0")}, "node01")
	c.want(0, "node01", flux.PhaseProlog, "7")
	c.until(func() bool { return len(c.exceptions(7)) > 0 })
	if e := c.exceptions(7)[0]; !strings.Contains(e, `"type":"weft"`) || !strings.Contains(e, "slingshot.colour") {
		t.Error(e)
	}
	c.want(1, "node01", flux.PhaseShell, "7")
	c.undrained(1)
}

// TestFluxAnAbsentServerDrainsNoNode: the prolog waits within its own limit, and says that it may be tried again.
func TestFluxAnAbsentServerDrainsNoNode(t *testing.T) {
	c := newCluster(t, 1, "node01")
	c.halt()
	job := c.job(7, "node01")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	r, err := c.nodes["node01"].Hook(ctx, core.HookCall{Scheduler: "flux", Phase: flux.PhaseProlog, Env: map[string]string{"FLUX_JOB_ID": job, "FLUX_JOB_USERID": "1000"}, Began: c.began.Add(1)})
	if err != nil || r.Exit != flux.ExitAgain {
		t.Errorf("%+v, %v", r, err)
	}
	c.start()
	c.again(0, "node01", flux.PhaseProlog, job)
	c.undrained(1)
}

// TestFluxSlowPrologsOfABigJob: 2,000 nodes wait for a broker that answers nobody for long; it is asked about the job once, and none of them is given up.
// flux-coral2 gave up each after 30 s.
func TestFluxSlowPrologsOfABigJob(t *testing.T) {
	const nodes = 2000
	c := newCluster(t, 1)
	names := make([]string, nodes)
	for i := range names {
		names[i] = nodeName(i)
	}
	job := c.job(7, names...)
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	c.broker.Before(func(topic string) {
		if topic == "job-info.lookup" {
			asked <- struct{}{}
			<-answer
		}
	})
	r := &running{Server: c.server.Load()}
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	attendAll(ctx, t, r.Server, names)
	errs := make([]error, nodes)
	var group, waiting sync.WaitGroup
	waiting.Add(nodes)
	for i, name := range names {
		group.Go(func() {
			ask, err := c.plugin.Parse(t.Context(), core.HookCall{Scheduler: "flux", Phase: flux.PhaseProlog, Env: map[string]string{"FLUX_JOB_ID": job, "FLUX_JOB_USERID": "1000"}})
			ask.Boot = name
			waiting.Done()
			if err == nil {
				_, err = r.Reserve(t.Context(), name, ask, core.Peer{})
			}
			errs[i] = err
		})
	}
	waiting.Wait()
	<-asked
	c.broker.Before(nil)
	close(answer)
	group.Wait()
	cancel()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		t.Errorf("node %d: %v", i, errs[i])
	}
	if n := c.broker.Asked("job-info.lookup"); n > 3 { // two for what it is, one for whether its eventlog shows already what it was given
		t.Errorf("the broker was asked %d times about one job", n)
	}
	phases, err := c.plugin.Phases(t.Context())
	if err != nil || phases[0].Name != flux.PhaseProlog || phases[0].Limit < 5*time.Minute {
		t.Errorf("a prolog is given up after %v: %v", phases[0].Limit, err)
	}
}

// attendAll keeps the sessions of nodes, until ctx ends.
func attendAll(ctx context.Context, t *testing.T, s *server.Server, names []string) {
	t.Helper()
	var there sync.WaitGroup
	for _, name := range names {
		there.Add(1)
		greet := sync.OnceFunc(there.Done)
		go func() {
			_ = s.Attend(ctx, name, core.Report{Number: 1, Boot: name, Full: true, Devices: []string{"cxi0"}}, nil, func(core.Orders) { greet() })
		}()
	}
	there.Wait()
}
