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
