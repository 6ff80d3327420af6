package agent_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

// TestObservedHooksSayNothing whatever the server answers. The job stays as it is when jobs are served.
func TestObservedHooksSayNothing(t *testing.T) {
	for name, says := range map[string]*core.Error{
		"observed":           core.Errorf(core.Observed, "only observed"),
		"the server is away": core.Errorf(core.ServerAway, "server: gone"),
		"denied":             core.Errorf(core.PolicyDenied, "no"),
		"the node is bad":    core.Errorf(core.NodeDrained, "no"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, server, mode := newRundir(t), &refuser{&authority{}, says}, agent.ServesNone
				a, _ := run(t, agent.Needs{
					Authority: server, Hooks: map[string]core.Hooks{"s": &adapter{}}, Environ: d.Environs(), Rundir: d,
					Mode: func(string) agent.Mode { return mode },
				})
				silent := func(phase string, uid uint32) {
					t.Helper()
					began := time.Now()
					r := hooked(t, a, phase, uid)
					if r.Exit != 0 || len(r.Stdout)+len(r.Stderr) > 0 || time.Since(began) > time.Second {
						t.Errorf("%s: %+v after %v", phase, r, time.Since(began))
					}
				}
				silent("asked", 7) // a job from before
				silent("prolog", 0)
				silent("asked", 7)
				mode = agent.ServesAll
				silent("asked", 7)
				mode = agent.ServesNone
				silent("epilog", 0)
				if d.Exempted(one) {
					t.Error("the job is over, and still exempt")
				}
			})
		})
	}
}

// TestAServedJobEndsAsItBegan although its scheduler is only observed by then.
func TestAServedJobEndsAsItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, mode := newRundir(t), agent.ServesAll
		a, _ := run(t, agent.Needs{
			Authority: &authority{}, Hooks: map[string]core.Hooks{"s": &adapter{}}, Environ: d.Environs(), Rundir: d,
			Mode: func(string) agent.Mode { return mode },
		})
		if r := hooked(t, a, "prolog", 0); r.Exit != 0 {
			t.Fatalf("prolog: %+v", r)
		}
		mode = agent.ServesNone
		if r := hooked(t, a, "asked", 7); r.Exit != 0 || !strings.Contains(string(r.Stdout), "export SLINGSHOT_VNIS=") {
			t.Errorf("a later task: %+v", r)
		}
		if r := hooked(t, a, "epilog", 0); r.Exit != 0 {
			t.Errorf("epilog: %+v", r)
		}
		if _, err := rundir.Dir(d).Environ(one); err == nil {
			t.Error("its variables are left")
		}
	})
}

// TestSomeJobsAreServed: the server says which. One that it refuses fails, on a node where some are served.
func TestSomeJobsAreServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, server := newRundir(t), &refuser{&authority{}, core.Errorf(core.Observed, "only observed")}
		a, _ := run(t, agent.Needs{
			Authority: server, Hooks: map[string]core.Hooks{"s": &adapter{}}, Environ: d.Environs(), Rundir: d,
			Mode: func(string) agent.Mode { return agent.ServesSome },
		})
		for _, phase := range []string{"prolog", "asked", "epilog"} {
			if r := hooked(t, a, phase, 0); r.Exit != 0 || len(r.Stdout)+len(r.Stderr) > 0 {
				t.Errorf("%s of an observed job: %+v", phase, r)
			}
		}
		server.says = core.Errorf(core.PolicyDenied, "no")
		if r := hooked(t, a, "prolog", 0); r.Exit == 0 {
			t.Errorf("prolog of a denied job: %+v", r)
		}
		if r := hooked(t, a, "asked", 7); r.Exit == 0 {
			t.Errorf("a task of a denied job: %+v", r)
		}
	})
}
