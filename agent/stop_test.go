package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
)

// TestAnAgentThatStopsLeavesHooksToTheNext: the adapter words no refusal, so weft-hook makes the call again at the next
// agent. A refusal in the scheduler's words would end the job or drain the node.
func TestAnAgentThatStopsLeavesHooksToTheNext(t *testing.T) {
	for name, needs := range map[string]func() agent.Needs{
		"the server answers slowly": func() agent.Needs { return agent.Needs{Authority: &authority{slow: time.Minute}} },
		"the server is away":        func() agent.Needs { return agent.Needs{Authority: away{authority: &authority{}}} },
		"the driver hangs": func() agent.Needs {
			d := &driver{NICDriver: sim.New(sim.Options{NICs: 2, Boot: "b"}), hung: 7, free: make(chan struct{})}
			return agent.Needs{Authority: &authority{}, Driver: d}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &speaking{}
				n := needs()
				n.Hooks, n.Requeuers = map[string]core.Hooks{"s": s}, map[string]core.SchedulerClient{"s": core.Dispatcher{Of: s}}
				a, stop := run(t, n)
				time.AfterFunc(time.Second, stop)
				reply, err := a.Hook(t.Context(), core.HookCall{Scheduler: "s", Phase: "prolog", Began: time.Now().UnixNano()})
				if core.ReasonOf(err) != core.ServerAway || len(reply.Stderr) > 0 || len(s.told) > 0 || len(s.blamed) > 0 {
					t.Errorf("%v, %q; requeued %v, blamed %v", err, reply.Stderr, s.told, s.blamed)
				}
			})
		})
	}
}
