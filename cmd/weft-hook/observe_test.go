package main

import (
	"os"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/hook/rundir"
)

// watched is a node on which jobs are only observed, and which no agent answers.
func watched(t *testing.T) rundir.Dir {
	t.Helper()
	p := plan(patient)
	phases := p.Schedulers[0].Phases
	for i := range phases {
		phases[i].Observe = true
		if phases[i].Action == core.Environment {
			phases[i].Leave = core.HookReply{Stdout: []byte("leave\n")}
		}
	}
	d := place(t)
	must(t, d.WriteHooks(p))
	return d
}

// TestObservedHooksFailNobody without an agent, with one that hangs and while Weft is bypassed. The job stays as it is
// when jobs are served again.
func TestObservedHooksFailNobody(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, d rundir.Dir){
		"no agent":        func(*testing.T, rundir.Dir) {},
		"an agent is ill": func(t *testing.T, d rundir.Dir) { listen(t, d.RootSocket(), nil) },
		"Weft is bypassed": func(t *testing.T, d rundir.Dir) {
			must(t, d.WriteBypass(time.Now().Add(time.Hour), time.Now()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := watched(t)
			prepare(t, d)
			silent := func(phase, out string) {
				t.Helper()
				got := run(t, how{}, "--dir", string(d), "tioga", phase)
				if got.exit != 0 || got.out != out || got.err != "" || got.took > patient/2 {
					t.Errorf("%s: %+v", phase, got)
				}
			}
			silent("taskprolog", "leave\n") // a job from before
			silent("prolog", "")
			hooks, err := d.Hooks()
			must(t, err)
			phases := hooks.Schedulers[0].Phases
			for i := range phases {
				phases[i].Observe = false
			}
			must(t, d.WriteHooks(hooks))
			silent("taskprolog", "leave\n")
			for i := range phases {
				phases[i].Observe = true
			}
			must(t, d.WriteHooks(hooks))
			silent("epilog", "")
			if d.Exempted(core.JobID{Scheduler: "tioga", Job: "7"}) {
				t.Error("the job is over, and still exempt")
			}
		})
	}
}

// TestAJobThatIsServed keeps its variables while others are only observed. Its Epilog asks the agent.
func TestAJobThatIsServed(t *testing.T) {
	d := watched(t)
	leave(t, d, "7", uint32(os.Getuid()), exports)
	if got := run(t, how{}, "--dir", string(d), "tioga", "taskprolog"); got.exit != 0 || got.out != exports {
		t.Errorf("a task: %+v", got)
	}
	serve(t, d.RootSocket(), 0o600, listener.Root(), echo)
	if got := run(t, how{}, "--dir", string(d), "tioga", "epilog"); got.exit != 3 {
		t.Errorf("the agent was not told: %+v", got)
	}
}
