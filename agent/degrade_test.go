package agent_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/store/storetest"
)

// refuser is a server that gives an error, or never answers.
type refuser struct {
	*authority
	says *core.Error
}

func (r *refuser) Reserve(ctx context.Context, node string, ask core.Intent, peer core.Peer) (core.Grant, error) {
	switch {
	case r.says == nil:
		return r.authority.Reserve(ctx, node, ask, peer)
	case r.says.Reason == core.ServerAway: // as the agent's own line waits for it
		<-ctx.Done()
	}
	return core.Grant{}, r.says
}

// degrades counts.
type degrades struct {
	agent.Meter
	of []core.Reason
}

func (d *degrades) Hooked(string, string, core.Reason, time.Duration) {}
func (d *degrades) Driven(string, core.Reason, time.Duration)         {}
func (d *degrades) Linked(bool)                                       {}
func (d *degrades) Short(string)                                      {}
func (d *degrades) Degraded(_ string, r core.Reason)                  { d.of = append(d.of, r) }

// TestDegrade: on_failure = "degrade" lets a job run without variables where Weft cannot serve, and nowhere else.
func TestDegrade(t *testing.T) {
	for name, c := range map[string]struct {
		says *core.Error
		off  bool // policy has on_failure = "refuse"
		uid  uint32
		self []string // schedulers whose users start their jobs themselves
		runs bool
	}{
		"the server is away":                {says: core.Errorf(core.ServerAway, "server: gone"), runs: true},
		"its store takes nothing":           {says: core.Errorf(core.StoreFailed, "server: full"), runs: true},
		"its store is recovering":           {says: core.Errorf(core.Recovering, "server: new"), runs: true},
		"policy refuses":                    {says: core.Errorf(core.ServerAway, "server: gone"), off: true},
		"denied":                            {says: core.Errorf(core.PolicyDenied, "no")},
		"over its quota":                    {says: core.Errorf(core.OverQuota, "no")},
		"the scheduler does not answer":     {says: core.Errorf(core.SchedulerAway, "no")},
		"the node is drained":               {says: core.Errorf(core.NodeDrained, "no")},
		"the node is not known to the site": {says: core.Errorf(core.NodeUnnamed, "no")},
		"too many who wait":                 {says: core.Errorf(core.Overloaded, "no")},
		"a forged owner":                    {says: core.Errorf(core.NotAllowed, "no")},
		"a user's own call":                 {says: core.Errorf(core.ServerAway, "server: gone"), uid: 7},
		"the owner, who starts jobs":        {says: core.Errorf(core.ServerAway, "server: gone"), uid: 7, self: []string{"s"}, runs: true},
		"another user, who starts jobs":     {says: core.Errorf(core.ServerAway, "server: gone"), uid: 8, self: []string{"s"}},
		"the owner, of another scheduler":   {says: core.Errorf(core.ServerAway, "server: gone"), uid: 7, self: []string{"t"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, counts, server := newRundir(t), &degrades{}, &refuser{&authority{}, c.says}
				a, _ := run(t, agent.Needs{
					Authority: server, Meter: counts, Hooks: map[string]core.Hooks{"s": &adapter{}}, Environ: d.Environs(), Rundir: d,
					Degrade: func() bool { return !c.off }, Machine: node.Config{SelfService: c.self},
				})
				old := rundir.EnvironPath(d.Environs(), one)
				if err := rundir.WriteEnviron(old, rundir.Environ{UID: 7, Variables: []core.Variable{{Name: "SLINGSHOT_VNIS", Value: "1024"}}}, 7); err != nil {
					t.Fatal(err)
				}
				r := hooked(t, a, "prolog", c.uid)
				out := string(r.Stdout)
				if (r.Exit == 0) != c.runs || strings.Contains(out, "export") || c.runs != strings.Contains(out, "unset SLINGSHOT_VNIS\n") {
					t.Fatalf("prolog: %d %q %q", r.Exit, out, r.Stderr)
				}
				if d.Exempted(one) != c.runs || (len(counts.of) == 1) != c.runs {
					t.Errorf("its tasks run: %v; counted: %v", d.Exempted(one), counts.of)
				}
				task := hooked(t, a, "asked", 7)
				if (task.Exit == 0) != c.runs || strings.Contains(string(task.Stdout), "export") {
					t.Errorf("a task: %d %q %q", task.Exit, task.Stdout, task.Stderr)
				}
				if !c.runs {
					return
				}
				if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("tasks find the variables of an earlier run: %v", err)
				}
				if hooked(t, a, "epilog", 8); !d.Exempted(one) {
					t.Error("another user ended the exemption")
				}
				server.says = nil // it is back: a prepare of the job ends the exemption
				if r := hooked(t, a, "prolog", 0); r.Exit != 0 || d.Exempted(one) {
					t.Errorf("prolog again: %d %q, its tasks are exempt: %v", r.Exit, r.Stderr, d.Exempted(one))
				}
				server.says = c.says
				if r := hooked(t, a, "epilog", 0); r.Exit != 0 {
					t.Errorf("epilog: %d %q", r.Exit, r.Stderr)
				}
				if task := hooked(t, a, "asked", 7); task.Exit == 0 {
					t.Error("a task runs after the job's end")
				}
			})
		})
	}
}

// While an agent cannot read its ledger, nobody else sees whose call it is: root may degrade a job, and the owner of one
// that he starts himself.
func TestDegradeWithoutALedger(t *testing.T) {
	for name, c := range map[string]struct {
		uid  uint32
		self []string
		runs bool
	}{
		"root":                            {runs: true},
		"the owner, who starts jobs":      {uid: 7, self: []string{"s"}, runs: true},
		"another user, who starts jobs":   {uid: 8, self: []string{"s"}},
		"the owner, of another scheduler": {uid: 7, self: []string{"t"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, ledger := newRundir(t), &broken{Store: &storetest.Ledger{}}
				a, _ := run(t, agent.Needs{
					Authority: &authority{}, Store: ledger, Hooks: map[string]core.Hooks{"s": &adapter{}}, Environ: d.Environs(), Rundir: d,
					Degrade: func() bool { return true }, Machine: node.Config{SelfService: c.self},
				})
				ledger.set(errors.New("input/output error"))
				if out := a.Do(t.Context(), ask(core.Prepare, "s", "2", 7), root); core.ReasonOf(out.Err) != core.StoreFailed {
					t.Fatalf("the ledger does not fail: %v", out.Err)
				}
				if r := hooked(t, a, "prolog", c.uid); (r.Exit == 0) != c.runs || d.Exempted(one) != c.runs {
					t.Errorf("prolog: %d %q; its tasks run: %v", r.Exit, r.Stderr, d.Exempted(one))
				}
			})
		})
	}
}

// The agent that comes next may have a server.
func TestNoDegradeAtTheAgentsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newRundir(t)
		a, stop := run(t, agent.Needs{
			Authority: &refuser{&authority{}, core.Errorf(core.ServerAway, "server: gone")}, Hooks: map[string]core.Hooks{"s": &adapter{}},
			Environ: d.Environs(), Rundir: d, Degrade: func() bool { return true },
		})
		time.AfterFunc(time.Second, stop)
		r, err := a.Hook(t.Context(), call("prolog", 0))
		if core.ReasonOf(err) != core.ServerAway || d.Exempted(one) {
			t.Errorf("prolog: %v, %q; its tasks run: %v", err, r.Stderr, d.Exempted(one))
		}
	})
}

// Who starts jobs himself can have a prepare refused under any id that he likes: that ends no job's exemption. But no
// task runs of a job that was refused for good.
func TestAUsersRefusedPrepare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, server := newRundir(t), &refuser{&authority{}, core.Errorf(core.PolicyDenied, "no")}
		a, _ := run(t, agent.Needs{
			Authority: server, Hooks: map[string]core.Hooks{"s": &adapter{}}, Environ: d.Environs(), Rundir: d, Machine: node.Config{SelfService: []string{"s"}},
		})
		if err := d.Exempt(one); err != nil {
			t.Fatal(err)
		}
		if task := hooked(t, a, "asked", 7); task.Exit != 0 {
			t.Fatalf("a task of an exempt job: %q", task.Stderr)
		}
		if r := hooked(t, a, "prolog", 7); r.Exit == 0 || !d.Exempted(one) {
			t.Errorf("prolog: %d %q; exempt: %v", r.Exit, r.Stderr, d.Exempted(one))
		}
		if task := hooked(t, a, "asked", 7); task.Exit == 0 {
			t.Error("a task of a job that was denied runs")
		}
	})
}
