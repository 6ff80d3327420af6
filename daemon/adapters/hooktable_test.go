package adapters

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/sdk"
	"github.com/weft-hpc/weft/store/storetest"
)

// actAs makes the test's own binary a plugin.
const actAs = "ADAPTERS_TEST_ACT_AS"

func TestMain(m *testing.M) {
	if os.Getenv(actAs) == "adapter" {
		sdk.Serve(phasedByPID{}, sdk.WithName("adapter"))
		return
	}
	goleak.VerifyTestMain(m)
}

// phasedByPID is an adapter of whose phases each process has its own.
type phasedByPID struct{}

func (phasedByPID) Parse(context.Context, core.HookCall) (core.Intent, error) {
	return core.Intent{}, core.Errorf(core.BadCall, "no")
}

func (phasedByPID) Render(context.Context, core.HookCall, core.Outcome) (core.HookReply, error) {
	return core.HookReply{}, nil
}

func (phasedByPID) Phases(context.Context) ([]core.HookPhase, error) {
	return []core.HookPhase{{Name: "prolog", Action: core.Prepare, Root: true, Variables: []string{"PID_" + strconv.Itoa(os.Getpid())}, Limit: time.Second}}, nil
}

// TestHooksAreWhatThePluginOfNowSays has an adapter as a process: what weft-hook reads is what it says, when it is started again what it says then, and what
// it said last when it does not start.
func TestHooksAreWhatThePluginOfNowSays(t *testing.T) {
	dir, err := os.MkdirTemp("", "weft") // t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run, log := rundir.Dir(dir), slog.New(slog.NewTextHandler(io.Discard, nil))
	plugins, err := host.New(host.Options{Dir: dir, Log: log, Limits: host.Limits{Backoff: time.Millisecond, Start: 20 * time.Second, Patience: 20 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plugins.Close(context.Background()) }()
	program := host.Self()
	program.Env = []string{actAs + "=adapter"}
	p, err := plugins.Start(t.Context(), host.Spec{Kind: host.Scheduler, Name: "tioga", Program: program})
	if err != nil {
		t.Fatal(err)
	}
	a := &Node{node: "n1", types: map[string]string{"tioga": "slurm"}, Hooks: map[string]core.Hooks{"tioga": p.Hooks()}}
	f := NewHookTable(t.Context(), a, run, serves, log)
	if err := f.Write(); err != nil {
		t.Fatal(err)
	}
	if a.Agent, err = agent.New(t.Context(), agent.Needs{Node: "n1", Boot: "b", Driver: sim.New(sim.Options{NICs: 1}), Store: &storetest.Ledger{}, HookTable: f.Hooks(), Log: log}); err != nil {
		t.Fatal(err)
	}
	wants := func(pid int) bool {
		h, err := run.Hooks()
		return err == nil && len(h.Schedulers) == 1 && len(h.Schedulers[0].Phases) == 1 && h.Schedulers[0].Phases[0].Variables[0] == "PID_"+strconv.Itoa(pid)
	}
	first := p.Status().PID
	if !wants(first) {
		t.Fatalf("at the start: %+v", f.Hooks())
	}
	ctx, cancel := context.WithCancel(t.Context())
	var kept sync.WaitGroup
	kept.Go(func() { f.Keep(ctx, plugins) })
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := p.Status().PID
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(20 * time.Second); !wants(second); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("process %d took the place of %d, and weft-hook is told what that said", second, first)
		}
	}
	cancel()
	kept.Wait()
	a.Hooks["tioga"] = cannotTell{}
	if last := NewHookTable(t.Context(), a, run, serves, log); len(last.Hooks().Schedulers) != 1 || last.fault == "" {
		t.Errorf("an agent whose adapter does not start: %+v", last.Hooks())
	}
}

// cannotTell is an adapter whose plugin does not start.
type cannotTell struct{ core.Hooks }

func (cannotTell) Phases(context.Context) ([]core.HookPhase, error) {
	return nil, core.Errorf(core.PluginAway, "scheduler tioga: %w", errors.New("exit status 1"))
}

func serves(string) bool { return false }

// TestObservedSchedulersAreMarked for weft-hook, which then fails no hook, and only they.
func TestObservedSchedulersAreMarked(t *testing.T) {
	h := rundir.Hooks{Schedulers: []rundir.Scheduler{
		{Name: "a", Phases: []rundir.Phase{{}, {}}}, {Name: "b", Phases: []rundir.Phase{{Observe: true}}},
	}}
	observe(&h, func(scheduler string) bool { return scheduler == "a" })
	for _, s := range h.Schedulers {
		for _, p := range s.Phases {
			if p.Observe != (s.Name == "a") {
				t.Errorf("scheduler %s is marked: %v", s.Name, p.Observe)
			}
		}
	}
}
