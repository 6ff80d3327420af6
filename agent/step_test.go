package agent_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hook/rundir"
)

// steps is an adapter whose hook is a step's.
type steps struct{}

func (steps) Parse(_ context.Context, call core.HookCall) (core.Intent, error) {
	in := ask(core.Prepare, "s", "1", 7)
	in.Began, in.Joins, in.Tells = time.Now().UnixNano(), true, true
	return in, nil
}

func (steps) Render(_ context.Context, _ core.HookCall, o core.Outcome) (core.HookReply, error) {
	if o.Err != nil {
		return core.HookReply{Stdout: []byte(o.Err.What), Exit: 1}, nil
	}
	lines, err := core.Lines(o.Environment)
	return core.HookReply{Stdout: lines}, err
}

// TestAStepAfterARestart: it joins services that a restart of the NICs has ended, and does not start.
func TestAStepAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := sim.New(sim.Options{Dir: t.TempDir(), NICs: 2, Boot: "b", NoSync: true})
		hooks := map[string]core.Hooks{"s": steps{}}
		a, _ := run(t, agent.Needs{Driver: d, Hooks: hooks, Authority: &authority{orders: make(chan core.Orders)}})
		step := func() core.HookReply {
			t.Helper()
			got, err := a.Hook(t.Context(), core.HookCall{Scheduler: "s", Peer: root})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		for range 2 {
			if got := step(); got.Exit != 0 || !strings.Contains(string(got.Stdout), "export SLINGSHOT_SVC_IDS=") {
				t.Errorf("a step: %q", got.Stdout)
			}
		}
		if err := d.SetFault(t.Context(), sim.Fault{Kind: sim.Reload}); err != nil {
			t.Fatal(err)
		}
		if got := step(); got.Exit == 0 || !strings.Contains(string(got.Stdout), "its driver was loaded again") {
			t.Errorf("after the restart: %q", got.Stdout)
		}
	})
}

// asking is an adapter whose steps ask for a depth, or make a mistake.
type asking struct{ steps }

func (asking) Parse(_ context.Context, call core.HookCall) (core.Intent, error) {
	action := core.Prepare
	if call.Phase == "task" {
		action = core.Environment
	}
	in := ask(action, "s", "1", 7)
	in.Step, in.Joins, in.Tells = "3", action == core.Prepare, action == core.Prepare
	if call.Env["DEPTH"] != "" {
		in.Request.Depth = 3
	}
	if call.Env["MISTAKE"] != "" {
		return in, core.Errorf(core.BadRequest, "a mistake")
	}
	return in, nil
}

func (s asking) Render(ctx context.Context, call core.HookCall, o core.Outcome) (core.HookReply, error) {
	r, err := s.steps.Render(ctx, call, o)
	r.Stdout = append(r.Stdout, strings.Join(o.Warnings, " ")...)
	return r, err
}

// TestAStepThatAsksForMore fails alone: its job's services stay, and other steps start. A step of a job that ran before
// Weft starts whatever it asks for.
func TestAStepThatAsksForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := rundir.Dir(t.TempDir())
		a, _ := run(t, agent.Needs{
			Hooks: map[string]core.Hooks{"s": asking{}}, Authority: &authority{orders: make(chan core.Orders)}, Rundir: dir,
		})
		for _, c := range []struct {
			phase, asks string
			exempt      bool
			says        string
		}{
			{phase: "step", says: "export SLINGSHOT_VNIS=1024"},
			{phase: "step", asks: "DEPTH", says: "its step 3 asks for depth 3"},
			{phase: "step", asks: "MISTAKE", says: "a mistake"},
			{phase: "task", asks: "DEPTH", says: "its step 3 asks for depth 3"},
			{phase: "step", says: "export SLINGSHOT_VNIS=1024"},
			{phase: "step", asks: "MISTAKE", exempt: true},
		} {
			if c.exempt {
				if err := dir.Exempt(core.JobID{Scheduler: "s", Job: "1"}); err != nil {
					t.Fatal(err)
				}
			}
			call := core.HookCall{Scheduler: "s", Phase: c.phase, Peer: root, Env: map[string]string{c.asks: "x"}}
			got, err := a.Hook(t.Context(), call)
			fails := c.asks != "" && !c.exempt
			if err != nil || (got.Exit != 0) != fails || !strings.Contains(string(got.Stdout), c.says) {
				t.Errorf("%+v: %d %q, %v", c, got.Exit, got.Stdout, err)
			}
		}
	})
}

// TestATaskThatCallsIsWarnedOnce: its job's warnings reach the job's first task, as by the job's file.
func TestATaskThatCallsIsWarnedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		phases := []rundir.Phase{{HookPhase: core.HookPhase{Name: "task", Action: core.Environment, First: []string{"TASK"}}}}
		a, _ := run(t, agent.Needs{
			Hooks:     map[string]core.Hooks{"s": asking{}},
			Authority: &authority{orders: make(chan core.Orders), warns: []string{"few"}},
			HookTable: rundir.Hooks{Schedulers: []rundir.Scheduler{{Name: "s", Type: "s", Phases: phases}}},
		})
		a.Do(t.Context(), ask(core.Prepare, "s", "1", 7), root)
		for _, c := range []struct {
			env  map[string]string
			told bool
		}{
			{map[string]string{"TASK": "0"}, true}, {map[string]string{"TASK": "1"}, false}, {nil, false},
			{map[string]string{"TASK": "0", rundir.Warned: "1"}, false},
		} {
			got, err := a.Hook(t.Context(), core.HookCall{Scheduler: "s", Phase: "task", Peer: root, Env: c.env})
			out := string(got.Stdout)
			if err != nil || strings.Contains(out, "few") != c.told || strings.Contains(out, rundir.Warned+"=1") != c.told {
				t.Errorf("%v: %q, %v", c.env, out, err)
			}
		}
	})
}
