package daemon

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/daemon/connection"
	"github.com/weft-hpc/weft/dev/schedulertest"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/server"
	"github.com/weft-hpc/weft/store/memory"
	"github.com/weft-hpc/weft/store/storetest"
)

// oneVNI is a policy that grants every job one VNI.
type oneVNI struct{}

func (oneVNI) Decide(f engine.Facts) engine.Decision {
	return engine.Decision{VNIs: []engine.Wanted{{Name: "app", Pool: "jobs"}}, Classes: core.BestEffort, Limits: make([]core.Limits, len(f.Job.Placements))}
}

// loginHalf is a scheduler's half that knows every job but "never", until it is told that one is over.
type loginHalf struct {
	uid   uint32
	drain chan string
	schedulertest.Script
}

func (h *loginHalf) run(key core.Key) core.Run {
	return core.Run{Key: key, Fingerprint: core.Fingerprint{UID: h.uid, Submitted: 1}}
}

func (h *loginHalf) Describe(_ context.Context, key core.Key, _ []byte, from core.Peer) (core.Job, error) {
	if key.Job == "never" {
		return core.Job{}, core.Errorf(core.JobUnknown, "job never: this scheduler knows none")
	}
	return core.Job{Run: h.run(key), GID: h.uid, Placements: []core.Placement{{Hosts: from.Node, Nodes: 1, Cores: 8}}}, nil
}

func (h *loginHalf) Drain(_ context.Context, node, reason string) error {
	h.drain <- node + ": " + reason
	return nil
}

// TestASchedulersHalfOnANode has a server and two agents, with certificates, over the network: a job of n1 is described on login, lives, and ends when login
// says so.
func TestASchedulersHalfOnANode(t *testing.T) {
	dir := t.TempDir()
	if err := identity.Init(dir, []string{"127.0.0.1"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	srv, err := server.New(t.Context(), server.Needs{
		Store: memory.New(), Policy: oneVNI{}, Log: log, At: map[string]string{"f": "login"},
		Allocator: func(engine.Config) (engine.Allocator, error) {
			return allocator.New([]allocator.Pool{{Name: "jobs", Ranges: []allocator.Range{{First: 1024, Last: 1030}}}})
		},
		Config: engine.Config{
			Schedulers: []string{"f"}, Pools: []engine.Pool{{Name: "jobs", Contains: func(v core.VNI) bool { return v >= 1024 && v <= 1030 }}},
		},
		Limits: server.Limits{Tick: 10 * time.Millisecond, Retry: 10 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	defer func() { cancel(); all.Wait() }()
	port, err := connection.Listen(config.Server{Listen: "127.0.0.1:0", TLS: dir}, connection.NewBounds(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	all.Go(func() { _ = port.Serve(ctx, srv) })
	all.Go(func() { _ = srv.Run(ctx) })
	h := &loginHalf{uid: uint32(os.Getuid()), drain: make(chan string, 1), Script: make(schedulertest.Script)}
	begin := func(name string, half map[string]core.SchedulerClient) *agent.Agent {
		t.Helper()
		certs, err := issue(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		way, err := connection.NewLink(port.Addr().String(), certs)
		if err != nil {
			t.Fatal(err)
		}
		a, err := agent.New(t.Context(), agent.Needs{
			Node: name, Boot: name, Driver: sim.New(sim.Options{NICs: 1, Boot: name}), Authority: way, Store: &storetest.Ledger{}, Schedulers: half,
			Log: log, Limits: agent.Limits{Retry: 10 * time.Millisecond, RetryMost: 50 * time.Millisecond},
		})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() { _ = a.Run(ctx); way.Close() })
		return a
	}
	prepare := func(a *agent.Agent, job string) core.Outcome {
		within, end := context.WithTimeout(ctx, 20*time.Second)
		defer end()
		return a.Do(within, core.Intent{Action: core.Prepare, Key: core.Key{JobID: core.JobID{Scheduler: "f", Job: job}}, UID: h.uid, Began: 1}, core.Peer{})
	}
	n1 := begin("n1", nil)
	until := func(what string, ok func() bool) {
		t.Helper()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for late := time.After(30 * time.Second); !ok(); {
			select {
			case <-tick.C:
			case <-late:
				t.Fatal("never: " + what)
			}
		}
	}
	var out core.Outcome
	until("a refusal that names login", func() bool {
		out = prepare(n1, "1")
		return out.Err != nil && out.Err.Reason == core.SchedulerAway && strings.Contains(out.Err.Error(), "login")
	})
	begin("login", map[string]core.SchedulerClient{"f": core.Dispatcher{Of: h}})
	until("job 1 is prepared", func() bool { return prepare(n1, "1").Err == nil })
	if out = prepare(n1, "never"); out.Err == nil || out.Err.Reason != core.JobUnknown || !strings.Contains(out.Err.Error(), "this scheduler knows none") {
		t.Errorf("an error of the half: %v", out.Err)
	}
	taken := func() (n int) {
		if err := srv.Look(ctx, func(m *engine.Machine) { n = m.Figures().Used["jobs"] }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := taken(); n != 1 {
		t.Errorf("%d VNIs are taken", n)
	}
	if _, err := srv.Do(ctx, func(call uint64) engine.Input { return engine.SetDrain{Call: call, Node: "n1", Reason: "a test"} }); err != nil {
		t.Error(err)
	}
	if got := <-h.drain; got != "n1: a test" {
		t.Errorf("login was told to drain %q", got)
	}
	run := h.run(core.Key{JobID: core.JobID{Scheduler: "f", Job: "1"}})
	h.Answer(core.JobStatus{Run: run, State: core.JobFinal})
	until("the VNI of a job that is over is free", func() bool { return taken() == 0 })
}
