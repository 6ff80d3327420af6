package agent_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/drivers/sim"
)

// drawing is a server that gives each step the second VNI of its job.
type drawing struct{ *authority }

func (d drawing) Reserve(ctx context.Context, node string, ask core.Intent, peer core.Peer) (core.Grant, error) {
	g, err := d.authority.Reserve(ctx, node, ask, peer)
	g.VNIs, g.Steps = append(g.VNIs, 999), 1
	if ask.Step != "" {
		g.Drawn = &core.Drawn{VNI: 999}
	}
	return g, err
}

// overs are the steps that the node has told as over.
func (d drawing) overs() (out []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.reports {
		for _, s := range r.Steps {
			if s.Over {
				out = append(out, s.Step)
			}
		}
	}
	return out
}

// stepHook is an adapter whose call's arguments are an action and a step.
type stepHook struct{ steps }

func (h stepHook) Parse(ctx context.Context, call core.HookCall) (core.Intent, error) {
	in, err := h.steps.Parse(ctx, call)
	in.Step, in.StepNodes = call.Args[0], 1
	if call.Phase == "end" {
		in.Action = core.StepEnd
	}
	return in, err
}

// TestAStepLivesAsItsProcess: the process that calls keeps the step, or the parent of weft-hook. The step is over when
// that process says so or is gone, whatever has its pid then. A user's process keeps nothing.
func TestAStepLivesAsItsProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		all := map[int32]agent.Process{}
		start := func(pid int32, start uint64, parent int32, root bool) {
			mu.Lock()
			defer mu.Unlock()
			all[pid] = agent.Process{Keeper: node.Keeper{PID: pid, Start: start}, Parent: parent, Root: root}
		}
		end := func(pid int32) {
			mu.Lock()
			defer mu.Unlock()
			delete(all, pid)
		}
		processes := func(pid int32) (agent.Process, error) {
			mu.Lock()
			defer mu.Unlock()
			if p, ok := all[pid]; ok {
				return p, nil
			}
			return agent.Process{}, errors.New("no such process")
		}
		server := drawing{&authority{orders: make(chan core.Orders)}}
		needs := agent.Needs{Hooks: map[string]core.Hooks{"s": stepHook{}}, Authority: server, Process: processes}
		needs.Ended = func(context.Context, node.Keeper) error { return errors.New("this kernel has no pidfds") }
		needs.Driver = sim.New(sim.Options{Dir: t.TempDir(), NICs: 2, Boot: "b", NoSync: true})
		a, _ := run(t, needs)
		call := func(phase, step string, pid int32, parent bool) string {
			t.Helper()
			peer := core.Peer{PID: pid}
			in := core.HookCall{Scheduler: "s", Phase: phase, Args: []string{step}, Parent: parent, Peer: peer}
			got, err := a.Hook(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			return string(got.Stdout)
		}
		over := func(want string) {
			t.Helper()
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if got := strings.Join(server.overs(), " "); got != want {
				t.Errorf("over are steps %q, not %q", got, want)
			}
		}
		start(10, 1, 1, true)
		start(20, 1, 1, true)
		start(21, 1, 20, true)
		start(30, 1, 1, false)
		start(40, 1, 1, true)
		if got := call("", "0", 10, false); !strings.Contains(got, "export SLINGSHOT_VNIS=999,") {
			t.Errorf("a step has %q", got)
		}
		call("", "1", 21, true)
		call("", "3", 40, false)
		if got := call("", "2", 30, false); !strings.Contains(got, "its step 2 is over") {
			t.Errorf("a user's process: %q", got)
		}
		end(21) // weft-hook
		over("")
		end(20)
		over("1")
		start(10, 2, 1, true) // another process with the pid
		over("1 0")
		call("end", "3", 40, false)
		over("1 0 3")
		if got := call("", "3", 40, false); !strings.Contains(got, "its step 3 is over") {
			t.Errorf("a step that has ended: %q", got)
		}
	})
}

// TestAStepIsOverAtOnce: the end of its process ends it, with no look between.
func TestAStepIsOverAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := drawing{&authority{orders: make(chan core.Orders)}}
		needs := agent.Needs{Hooks: map[string]core.Hooks{"s": stepHook{}}, Authority: server}
		needs.Driver = sim.New(sim.Options{Dir: t.TempDir(), NICs: 2, Boot: "b", NoSync: true})
		needs.Process = func(pid int32) (agent.Process, error) {
			return agent.Process{Keeper: node.Keeper{PID: pid, Start: 1}, Root: true}, nil
		}
		ends := make(chan struct{})
		waits := 0
		needs.Ended = func(ctx context.Context, k node.Keeper) error {
			waits++
			select {
			case <-ends:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		a, _ := run(t, needs)
		for range 2 {
			in := core.HookCall{Scheduler: "s", Args: []string{"0"}, Peer: core.Peer{PID: 10}}
			if _, err := a.Hook(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		close(ends)
		synctest.Wait()
		if got := strings.Join(server.overs(), " "); got != "0" || waits != 1 {
			t.Errorf("over are steps %q; %d wait for one process", got, waits)
		}
	})
}

// TestAwaitEnd waits for real processes.
func TestAwaitEnd(t *testing.T) {
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := agent.ReadProcess(int32(c.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancelCause(t.Context())
	stop(nil)
	if err := agent.AwaitEnd(stopped, p.Keeper); err == nil {
		t.Error("an agent that stops: a process that lives is told as gone")
	}
	other := p.Keeper
	other.Start++
	if err := agent.AwaitEnd(t.Context(), other); err != nil {
		t.Errorf("another process has the pid: %v", err)
	}
	ended := make(chan error)
	go func() { ended <- agent.AwaitEnd(t.Context(), p.Keeper) }()
	select {
	case err := <-ended:
		t.Errorf("it lives: %v", err)
	default:
	}
	_ = in.Close()
	if err := <-ended; err != nil { // it is a zombie
		t.Errorf("its end: %v", err)
	}
	_ = c.Wait()
	if err := agent.AwaitEnd(t.Context(), p.Keeper); err != nil {
		t.Errorf("it is gone: %v", err)
	}
}

// TestThisProcess: /proc says of this test what the kernel does.
func TestThisProcess(t *testing.T) {
	p, err := agent.ReadProcess(int32(os.Getpid()))
	is := p.Parent == int32(os.Getppid()) && p.PID == int32(os.Getpid()) && p.Root == (os.Getuid() == 0)
	if err != nil || !is || p.Start == 0 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := agent.ReadProcess(0); err == nil {
		t.Errorf("process 0: %+v", p)
	}
}
