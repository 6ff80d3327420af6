package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

// adapter says in lines what it is to say, and hangs or fails on demand.
type adapter struct {
	hang chan struct{} // until it is closed
	fail atomic.Bool
}

func (a *adapter) Phases(context.Context) ([]core.HookPhase, error) {
	id := []string{"JOB_ID"}
	return []core.HookPhase{
		{Name: "prolog", Action: core.Prepare, Root: true, Job: id, Limit: 8 * time.Second},
		{Name: "task", Action: core.Environment, Job: id, Step: []string{"STEP"}, First: []string{"TASK"}, Limit: 8 * time.Second},
		{Name: "asked", Action: core.Environment, Limit: 8 * time.Second}, // no variable says which job: no file can answer
		{Name: "epilog", Action: core.CleanUp, Root: true, Job: id, Limit: 8 * time.Second},
	}, nil
}

func (a *adapter) Parse(_ context.Context, call core.HookCall) (core.Intent, error) {
	actions := map[string]core.Action{"prolog": core.Prepare, "task": core.Environment, "asked": core.Environment, "epilog": core.CleanUp}
	return core.Intent{
		Action: actions[call.Phase], Key: core.Key{JobID: core.JobID{Scheduler: call.Scheduler, Job: call.Env["JOB_ID"]}}, UID: 7, Began: time.Now().UnixNano(),
	}, nil
}

func (a *adapter) Render(ctx context.Context, call core.HookCall, o core.Outcome) (core.HookReply, error) {
	if o.Action == core.Environment && a.hang != nil {
		select {
		case <-a.hang:
		case <-ctx.Done():
			return core.HookReply{}, ctx.Err()
		}
	}
	if o.Action == core.Environment && a.fail.Load() {
		return core.HookReply{}, core.Errorf(core.InternalFault, "adapter: broken")
	}
	if o.Err != nil {
		return core.HookReply{Stderr: []byte(o.Err.Line()), Exit: 1}, nil
	}
	var out bytes.Buffer
	for _, v := range o.Environment {
		if v.Unset {
			fmt.Fprintf(&out, "unset %s\n", v.Name)
		} else {
			fmt.Fprintf(&out, "export %s=%s\n", v.Name, v.Value)
		}
	}
	for _, w := range o.Warnings {
		fmt.Fprintf(&out, "print %s\n", w)
	}
	return core.HookReply{Stdout: out.Bytes()}, nil
}

// collective makes an authority grant collectives, so that a step's id counts.
type collective struct{ *authority }

func (c collective) Reserve(ctx context.Context, node string, ask core.Intent, peer core.Peer) (core.Grant, error) {
	g, err := c.authority.Reserve(ctx, node, ask, peer)
	g.Warnings = []string{"few"}
	g.Collective = &core.Collective{JobID: "7", Token: "t", URL: "u", Addresses: 1, MinNodes: 2}
	return g, err
}

// fronted is an agent whose adapter weft-hook may call for.
func fronted(t *testing.T, a *adapter, server core.Authority) (*agent.Agent, rundir.Dir) {
	t.Helper()
	d := newRundir(t)
	hooks := map[string]core.Hooks{"s": a}
	table, err := agent.HookTable(t.Context(), "n1", map[string]string{"s": "slurm"}, hooks, rundir.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	ag, _ := run(t, agent.Needs{Authority: server, Hooks: hooks, Environ: d.Environs(), Rundir: d, HookTable: table})
	return ag, d
}

// newRundir is the run directory of a node that has just booted.
func newRundir(t *testing.T) rundir.Dir {
	t.Helper()
	d := rundir.Dir(filepath.Join(t.TempDir(), "weft"))
	if err := os.Mkdir(string(d), 0o755); err != nil {
		t.Fatal(err)
	}
	return d
}

func call(phase string, uid uint32) core.HookCall {
	return core.HookCall{Scheduler: "s", Phase: phase, Env: map[string]string{"JOB_ID": "1"}, Peer: core.Peer{UID: uid}}
}

var one = core.JobID{Scheduler: "s", Job: "1"}

func hooked(t *testing.T, a *agent.Agent, phase string, uid uint32) core.HookReply {
	t.Helper()
	r, err := a.Hook(t.Context(), call(phase, uid))
	if err != nil {
		t.Fatalf("%s: %v", phase, err)
	}
	return r
}

// weft.so asks the agent itself, and its default names the scheduler by its type.
func TestASchedulerByItsType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := fronted(t, &adapter{}, &authority{})
		for name, known := range map[string]bool{"s": true, "slurm": true, "other": false} {
			c := call("prolog", 0)
			c.Scheduler = name
			r, err := a.Hook(t.Context(), c)
			if (err == nil) != known || r.Exit != 0 {
				t.Errorf("scheduler %s: %v: exit %d, %s", name, err, r.Exit, r.Stderr)
			}
		}
	})
}

func TestThePreparesFileAnswersTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, d := fronted(t, &adapter{}, collective{&authority{}})
		if err := d.Exempt(one); err != nil { // by an earlier run, which went by
			t.Fatal(err)
		}
		if r := hooked(t, a, "prolog", 0); r.Exit != 0 {
			t.Fatalf("%s", r.Stderr)
		}
		if d.Exempted(one) {
			t.Error("a job that was prepared is still exempt")
		}
		e, err := d.Environ(one) // at once: its tasks start now
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Replies) != 1 {
			t.Errorf("the file answers %d phases, want the one in which a variable names the job", len(e.Replies))
		}
		asked := hooked(t, a, "task", 7)
		reply, ok := e.Replies["task"].For("")
		if diff := cmp.Diff(asked, reply); diff != "" || !ok {
			t.Errorf("the file and the agent differ: %s", diff)
		}
		want := string(asked.Stdout) + "export WEFT_WARNED=1\nprint few\n"
		if first, ok := e.First["task"].For(""); !ok || string(first.Stdout) != want || len(e.First) != 1 {
			t.Errorf("the first task is told %q, want %q", first.Stdout, want)
		}
		stepped, ok := e.Replies["task"].For("3")
		if out := string(stepped.Stdout); !ok || strings.Count(out, "export FI_CXI_COLL_JOB_STEP_ID=3\n") != 1 || strings.Contains(out, "unset FI_CXI_COLL_JOB_STEP_ID") {
			t.Errorf("for a step it says %q", stepped.Stdout)
		}
		if r := hooked(t, a, "epilog", 0); r.Exit != 0 {
			t.Fatalf("%s", r.Stderr)
		}
		if _, err := d.Environ(one); err == nil {
			t.Error("the file outlived its job")
		}
		if r := hooked(t, a, "task", 7); r.Exit == 0 {
			t.Errorf("a task of a job that is over was told %q", r.Stdout)
		}
	})
}

// TestAnAdapterThatHangs costs the tasks' file and nothing else: neither the writer nor the job.
func TestAnAdapterThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ad := &adapter{}
		a, d := fronted(t, ad, &authority{})
		ad.hang = make(chan struct{})
		began := time.Now()
		if r := hooked(t, a, "prolog", 0); r.Exit != 0 {
			t.Fatalf("%s", r.Stderr)
		}
		if took := time.Since(began); took > agent.DefaultLimits.Hook/4 {
			t.Errorf("the prepare took %s", took)
		}
		e, err := d.Environ(one)
		if err != nil || len(e.Replies) != 0 || len(e.Variables) == 0 {
			t.Errorf("the file has %+v, %v", e, err)
		}
		// The job ends while the adapter is at it: what it says later must not bring the file back.
		if r := hooked(t, a, "epilog", 0); r.Exit != 0 {
			t.Fatalf("%s", r.Stderr)
		}
		close(ad.hang)
		synctest.Wait()
		if _, err := d.Environ(one); err == nil {
			t.Error("the file came back")
		}
	})
}

func TestAnAdapterThatCannotSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ad := &adapter{}
		a, d := fronted(t, ad, &authority{})
		ad.fail.Store(true)
		if r := hooked(t, a, "prolog", 0); r.Exit != 0 {
			t.Fatalf("%s", r.Stderr)
		}
		if e, err := d.Environ(one); err != nil || len(e.Replies) != 0 {
			t.Errorf("the file has %+v, %v", e, err)
		}
	})
}

func TestTasksOfAnExemptJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, d := fronted(t, &adapter{}, &authority{})
		if r := hooked(t, a, "asked", 7); r.Exit == 0 {
			t.Errorf("a task without a record was told %q", r.Stdout)
		}
		if err := d.Exempt(one); err != nil {
			t.Fatal(err)
		}
		r := hooked(t, a, "asked", 7)
		if r.Exit != 0 || strings.Contains(string(r.Stdout), "export") || !strings.Contains(string(r.Stdout), "unset SLINGSHOT_VNIS\n") {
			t.Errorf("a task of an exempt job: %d %q %q", r.Exit, r.Stdout, r.Stderr)
		}
		if r := hooked(t, a, "epilog", 7); r.Exit == 0 || !d.Exempted(one) {
			t.Errorf("a user ended the exemption of a job: %d", r.Exit)
		}
		if r := hooked(t, a, "epilog", 0); r.Exit != 0 || d.Exempted(one) {
			t.Errorf("the job is over and still exempt: %d %s", r.Exit, r.Stderr)
		}
	})
}

func TestFrontIsWhatAdaptersSay(t *testing.T) {
	ad := &adapter{}
	table, err := agent.HookTable(t.Context(), "n1", map[string]string{"b": "slurm", "a": "slurm"}, map[string]core.Hooks{"b": ad, "a": ad, "plain": struct{ core.Hooks }{}, "none": unphased{}}, rundir.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Schedulers) != 2 || table.Schedulers[0].Name != "a" || table.Schedulers[1].Name != "b" {
		t.Errorf("got %+v", table.Schedulers)
	}
	for _, p := range table.Schedulers[0].Phases {
		unsets := p.Action == core.Prepare || p.Action == core.Environment
		if out := string(p.Bypass.Stdout); unsets != strings.Contains(out, "unset SLINGSHOT_SVC_IDS\n") || strings.Contains(out, "export") || p.Bypass.Exit != 0 {
			t.Errorf("%s says while Weft is bypassed: %q", p.Name, out)
		}
	}
	ad.fail.Store(true)
	other, types := &adapter{}, map[string]string{"a": "slurm", "b": "slurm"}
	got, err := agent.HookTable(t.Context(), "n1", types, map[string]core.Hooks{"a": ad, "b": other}, rundir.Hooks{})
	if err == nil || !strings.Contains(err.Error(), "scheduler a: ") || strings.Contains(err.Error(), "scheduler b: ") {
		t.Errorf("an adapter that cannot say it: %v", err)
	}
	if len(got.Schedulers) != 1 || got.Schedulers[0].Name != "b" {
		t.Errorf("what the others say: %+v", got.Schedulers)
	}
	got, err = agent.HookTable(t.Context(), "n1", types, map[string]core.Hooks{"a": ad, "b": other}, table)
	if diff := cmp.Diff(table, got); diff != "" || err == nil {
		t.Errorf("what was told before holds on: %v\n%s", err, diff)
	}
	types["a"] = "pbs"
	if got, _ = agent.HookTable(t.Context(), "n1", types, map[string]core.Hooks{"a": ad}, table); len(got.Schedulers) != 0 {
		t.Errorf("what was told of another type's adapter: %+v", got.Schedulers)
	}
}

// unphased is the facade of an adapter that no hook calls for.
type unphased struct{ core.Hooks }

func (unphased) Phases(context.Context) ([]core.HookPhase, error) {
	return nil, core.Errorf(core.NotSupported, "phases: none")
}

// What tasks of a job's later run are told is kept while the node removes what is left of the earlier run.
func TestTheLaterRunsRepliesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := begins(t, newRundir(t))
		for n.adapter.generation = range uint32(2) {
			if n.adapter.generation == 1 {
				n.adapter.hang = make(chan struct{})
			}
			if r := hooked(t, n.Agent, "prolog", 0); r.Exit != 0 {
				t.Fatalf("%s", r.Stderr)
			}
		}
		earlier := core.Clean{Run: core.Run{Key: core.Key{JobID: one}, Fingerprint: core.Fingerprint{UID: 7, Submitted: 1}}, VNIs: []core.VNI{1024}}
		n.server.orders <- core.Orders{Head: core.Head{Store: "x", Epoch: 1, Revision: 2}, Clean: []core.Clean{earlier}}
		synctest.Wait()
		close(n.adapter.hang)
		synctest.Wait()
		e, err := rundir.ReadEnviron(rundir.EnvironPath(n.dir.Environs(), one))
		if err != nil || e.Generation != 1 || e.Replies["task"].Reply.Stdout == nil {
			t.Errorf("%+v, %v", e, err)
		}
	})
}
