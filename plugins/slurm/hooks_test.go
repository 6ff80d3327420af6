package slurm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

func key(job string, generation uint32) core.Key {
	return core.Key{JobID: core.JobID{Scheduler: "tioga", Job: job}, Generation: generation}
}

func TestParse(t *testing.T) {
	// As slurmd 22.05.8 sets them.
	prolog := map[string]string{
		"SLURM_JOB_ID": "1", "SLURM_JOB_UID": "1001", "SLURM_JOB_RESTART_COUNT": "2", "SLURM_NODELIST": "n[1-3]", "SLURM_JOB_CPUS_PER_NODE": "5,1(x2)",
	}
	with := func(more ...string) map[string]string {
		env := map[string]string{}
		for k, v := range prolog {
			env[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			env[more[i]] = more[i+1]
		}
		return env
	}
	step := func(id, node string) map[string]string {
		return map[string]string{"SLURM_JOB_ID": "1", "SLURM_JOB_UID": "1001", "SLURM_STEP_ID": id, "SLURM_NODEID": node}
	}
	for name, c := range map[string]struct {
		phase string
		env   map[string]string
		want  core.Intent
	}{
		"prolog": {"prolog", prolog, core.Intent{Action: core.Prepare, Key: key("1", 2), UID: 1001, Note: []byte(`{"v":1,"job":"1","nodes":"n[1-3]","cpus":"5,1(x2)"}`), Speaks: true}},
		"component of a het job": {"prolog", with("SLURM_HET_JOB_ID", "1", "SLURM_JOB_ID", "2"), core.Intent{
			Action: core.Prepare, Key: key("1", 2), UID: 1001, Note: []byte(`{"v":1,"job":"2","nodes":"n[1-3]","cpus":"5,1(x2)"}`),
		}},
		"first run": {"prolog", map[string]string{"SLURM_JOB_ID": "7", "SLURM_JOB_UID": "0"}, core.Intent{Action: core.Prepare, Key: key("7", 0), Note: []byte(`{"v":1,"job":"7"}`)}},
		"task":      {"taskprolog", map[string]string{"SLURM_JOB_ID": "1", "SLURM_STEP_ID": "0"}, core.Intent{Action: core.Environment, Key: key("1", 0), UID: 1001, Step: "0"}},
		// A user may carry what he likes into a task.
		"task with a leader": {"taskprolog", map[string]string{"SLURM_JOB_ID": "1", "SLURM_HET_JOB_ID": "9"}, core.Intent{Action: core.Environment, Key: key("1", 0), UID: 1001}},
		"batch script":       {"taskprolog", map[string]string{"SLURM_JOB_ID": "1"}, core.Intent{Action: core.Environment, Key: key("1", 0), UID: 1001}},
		"batch step":         {"taskprolog", map[string]string{"SLURM_JOB_ID": "1", "SLURM_STEP_ID": "4294967291"}, core.Intent{Action: core.Environment, Key: key("1", 0), UID: 1001}},
		"forged step":        {"taskprolog", map[string]string{"SLURM_JOB_ID": "1", "SLURM_STEP_ID": "0\nexport LD_PRELOAD=x"}, core.Intent{Action: core.Environment, Key: key("1", 0), UID: 1001}},
		// As spank/weft.c sends them.
		"first step": {"step", step("0", "0"), core.Intent{
			Action: core.Prepare, Key: key("1", core.AnyGeneration), UID: 1001, Step: "0", Note: []byte(`{"v":1,"job":"1"}`), Speaks: true, Tells: true,
		}},
		"a later step": {"step", step("3", "1"), core.Intent{
			Action: core.Prepare, Key: key("1", core.AnyGeneration), UID: 1001, Step: "3", Note: []byte(`{"v":1,"job":"1"}`), Joins: true, Tells: true,
		}},
		"a script": {"step", step("4294967291", "0"), core.Intent{
			Action: core.Prepare, Key: key("1", core.AnyGeneration), UID: 1001, Note: []byte(`{"v":1,"job":"1"}`), Speaks: true, Tells: true,
		}},
		"epilog":           {"epilog", prolog, core.Intent{Action: core.CleanUp, Key: key("1", 0), UID: 1001}},
		"epilog of a part": {"epilog", with("SLURM_HET_JOB_ID", "1", "SLURM_JOB_ID", "2"), core.Intent{Action: core.CleanUp, Key: key("1", 0), UID: 1001}},
		"another node":     {"prolog", with("SLURM_NODELIST", "m1,n[1-3]"), core.Intent{Action: core.Prepare, Key: key("1", 2), UID: 1001, Note: []byte(`{"v":1,"job":"1","nodes":"m1,n[1-3]","cpus":"5,1(x2)"}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Began, c.want.Call = 5, "id"
			call := core.HookCall{ID: "id", Scheduler: "tioga", Phase: c.phase, Env: c.env, Node: "n1", Began: 5}
			if c.phase == PhaseTaskProlog {
				call.Peer.UID = 1001
			}
			got, err := New("tioga").Parse(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		phase string
		env   map[string]string
		says  string
	}{
		"no such hook":   {"epilogslurmctld", nil, "no such hook"},
		"no job":         {"prolog", nil, "job id"},
		"not a number":   {"prolog", map[string]string{"SLURM_JOB_ID": "1_2", "SLURM_JOB_UID": "1"}, `"1_2"`},
		"a path":         {"taskprolog", map[string]string{"SLURM_JOB_ID": "../1"}, `"../1"`},
		"an option":      {"epilog", map[string]string{"SLURM_JOB_ID": "-1", "SLURM_JOB_UID": "1"}, `"-1"`},
		"forged leader":  {"prolog", map[string]string{"SLURM_JOB_ID": "1", "SLURM_JOB_UID": "1", "SLURM_HET_JOB_ID": "x"}, `"x"`},
		"no uid":         {"prolog", map[string]string{"SLURM_JOB_ID": "1"}, "no uid"},
		"uid too high":   {"prolog", map[string]string{"SLURM_JOB_ID": "1", "SLURM_JOB_UID": "4294967296"}, "no uid"},
		"restart count":  {"prolog", map[string]string{"SLURM_JOB_ID": "1", "SLURM_JOB_UID": "1", "SLURM_JOB_RESTART_COUNT": "-1"}, `"-1"`},
		"zero":           {"prolog", map[string]string{"SLURM_JOB_ID": "0", "SLURM_JOB_UID": "1"}, `"0"`},
		"leading zeros":  {"prolog", map[string]string{"SLURM_JOB_ID": "01", "SLURM_JOB_UID": "1"}, `"01"`},
		"number too big": {"prolog", map[string]string{"SLURM_JOB_ID": "4294967296", "SLURM_JOB_UID": "1"}, `"4294967296"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New("tioga").Parse(t.Context(), core.HookCall{Scheduler: "tioga", Phase: c.phase, Env: c.env})
			checkError(t, err, core.BadCall, c.says)
		})
	}
}

// What Parse reads must be what weft-hook sends.
func TestPhasesNameEveryVariable(t *testing.T) {
	phases, err := New("tioga").Phases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, p := range phases {
		got += fmt.Sprintf("%s: %v, root %v, job %v, step %v, within %v, reads %v\n", p.Name, p.Action, p.Root, p.Job, p.Step, p.Limit, p.Variables)
	}
	golden(t, "phases", got)
}

func TestRender(t *testing.T) {
	granted := []core.Variable{
		{Name: "FI_CXI_COLL_JOB_ID", Unset: true}, {Name: "SLINGSHOT_VNIS", Value: "2000,2001"}, {Name: "SLINGSHOT_DEVICES", Value: "cxi0,cxi1"},
		{Name: "FI_CXI_COLL_JOB_STEP_ID", Unset: true}, {Name: "SLINGSHOT_TCS", Value: "0xa"},
	}
	deny := core.Errorf(core.PolicyDenied, "job tioga/7: DEDICATED_ACCESS needs\nmembership of group ops\x1b[2J")
	empty := core.Errorf(core.PoolEmpty, "pool jobs: it is empty")
	broken := core.Errorf(core.NICFailed, "node n1: cxi1: no service can be made: ENXIO")
	var all strings.Builder
	for _, c := range []struct {
		what  string
		phase string
		o     core.Outcome
	}{
		{"granted", PhaseProlog, core.Outcome{Environment: granted}},
		{"granted with a warning", PhaseProlog, core.Outcome{Environment: granted, Warnings: []string{"cxi0: txqs: 3 of 12"}}},
		{"refused job", PhaseProlog, core.Outcome{Err: deny}},
		{"system cannot", PhaseProlog, core.Outcome{Err: empty}},
		{"node at fault", PhaseProlog, core.Outcome{Err: broken}},
		{"call not understood", PhaseProlog, core.Outcome{Err: core.Errorf(core.BadCall, "job id: it is empty")}},
		{"granted", PhaseTaskProlog, core.Outcome{Environment: granted}},
		{"no network wanted", PhaseTaskProlog, core.Outcome{Environment: []core.Variable{{Name: "SLINGSHOT_VNIS", Unset: true}}}},
		{"refused job", PhaseTaskProlog, core.Outcome{Err: deny}},
		{"node at fault", PhaseTaskProlog, core.Outcome{Err: broken}},
		{"granted", PhaseStep, core.Outcome{Environment: granted}},
		{"refused job", PhaseStep, core.Outcome{Err: deny}},
		{"node at fault", PhaseStep, core.Outcome{Err: broken}},
		{"clean", PhaseEpilog, core.Outcome{}},
		{"busy", PhaseEpilog, core.Outcome{Key: key("7", 0), Pending: true, Warnings: []string{"cxi0: service 4 is busy"}}},
		{"node at fault", PhaseEpilog, core.Outcome{Err: broken}},
		{"agent stops", PhaseEpilog, core.Outcome{Err: core.Errorf(core.ServerAway, "agent of n1: it is stopping")}},
	} {
		r, err := New("tioga").Render(t.Context(), core.HookCall{Phase: c.phase}, c.o)
		if err != nil {
			t.Fatal(c.what, err)
		}
		fmt.Fprintf(&all, "== %s: %s: exit %d\n%s", c.phase, c.what, r.Exit, prefixed("out ", r.Stdout)+prefixed("err ", r.Stderr))
	}
	golden(t, "render", all.String())
}

func prefixed(with string, text []byte) string {
	out := ""
	for l := range strings.Lines(string(text)) {
		out += with + l
	}
	return out
}

// A variable that would be two lines is an attack on the task or a bug of ours; either way no task may be told half of it.
func TestRenderRefusesVariablesThatAreNotOneLine(t *testing.T) {
	for _, v := range []core.Variable{{Name: "A", Value: "x\nexport LD_PRELOAD=y"}, {Name: "A B", Value: "x"}, {Name: ""}, {Name: "A=B"}, {Name: "1A"}, {Name: "A", Value: "\x00"}, {Name: "A\nunset B", Unset: true}} {
		_, err := New("tioga").Render(t.Context(), core.HookCall{Phase: PhaseTaskProlog}, core.Outcome{Environment: []core.Variable{v}})
		checkError(t, err, core.InternalFault, "does not fit in one line")
	}
}

// TestStepWarnsOnce: a job has one task that prints its warnings, whoever runs the steps.
func TestStepWarnsOnce(t *testing.T) {
	for name, c := range map[string]struct {
		step, node, warned string
		prints             bool
	}{
		"the script":               {"4294967291", "0", "0", true},
		"the first step":           {"0", "0", "0", true},
		"another node":             {"0", "1", "0", false},
		"another step":             {"1", "0", "0", false},
		"a step of a script":       {"0", "0", "7", false},
		"a job begun in a job's":   {"0", "0", "6", true},
		"the step of salloc's own": {"4294967290", "0", "0", true},
	} {
		env := map[string]string{"SLURM_JOB_ID": "7", "SLURM_STEP_ID": c.step, "SLURM_NODEID": c.node, "WEFT_WARNED": c.warned}
		o := core.Outcome{Key: key("7", 0), Environment: []core.Variable{{Name: "A", Value: "1"}}, Warnings: []string{"few"}}
		r, err := New("tioga").Render(t.Context(), core.HookCall{Phase: PhaseStep, Env: env}, o)
		want := "export A=1\n"
		if c.prints {
			want += "export WEFT_WARNED=7\nprint weft: warning: few\nprint weft: `weft job 7` shows all nodes of the job\n"
		}
		if string(r.Stdout) != want || err != nil {
			t.Errorf("%s: %q, %v", name, r.Stdout, err)
		}
	}
}
