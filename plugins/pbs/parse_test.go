package pbs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/pbs"
)

func TestParse(t *testing.T) {
	const begin = `{"v":1,"job":"42.pbs1","user":"ann","uid":1001,"run_count":2}`
	for name, c := range map[string]struct {
		phase, stdin string
		want         core.Intent
	}{
		"begin":    {"execjob_begin", begin, core.Intent{Action: core.Prepare, Key: key("42.pbs1", 2), UID: 1001, Note: []byte(`{"v":1}`), Began: 5}},
		"launch":   {"execjob_launch", begin, core.Intent{Action: core.Environment, Key: key("42.pbs1", 0), UID: 1001, Began: 5}},
		"end":      {"execjob_end", begin, core.Intent{Action: core.CleanUp, Key: key("42.pbs1", 0), UID: 1001, Began: 5}},
		"abort":    {"execjob_abort", `{"v":1,"job":"43[7].pbs1"}`, core.Intent{Action: core.CleanUp, Key: key("43[7].pbs1", 0), Began: 5}},
		"startup":  {"exechost_startup", `{"v":1}`, core.Intent{Action: core.Running}},
		"periodic": {"exechost_periodic", `{"v":1,"jobs":["2.pbs1","1.pbs1","2.pbs1"]}`, core.Intent{Action: core.Running, Alive: []core.Key{key("1.pbs1", 0), key("2.pbs1", 0)}, Began: 5}},
		"no jobs":  {"exechost_periodic", `{"v":1,"jobs":[]}`, core.Intent{Action: core.Running, Began: 5}},
		"obit": {"jobobit", `{"v":1,"job":"42.pbs1","user":"ann","run_count":2,"submitted":7,"resources":{"ncpus":"1"}}`, core.Intent{
			Action: core.CleanUp, Key: key("42.pbs1", 2), Note: []byte(`{"v":1,"facts":{"user":"ann","submitted":7}}`), Began: 5,
		}},
		"runjob": {"runjob", `{"v":1,"job":"42.pbs1","user":"ann","run_count":2,"resources":{"slingshot_off":"True"}}`, core.Intent{
			Action: core.Room, Key: key("42.pbs1", 3), Note: []byte(`{"v":1,"facts":{"user":"ann","wanted":{"off":"True"}}}`), Began: 5,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Call = "id"
			got, err := pbs.New("tioga").Parse(t.Context(), core.HookCall{ID: "id", Scheduler: "tioga", Phase: c.phase, Stdin: []byte(c.stdin), Began: 5})
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
	for name, c := range map[string]struct{ phase, stdin, says string }{
		"no such event":    {"execjob_prologue", `{"v":1}`, "no such event"},
		"nothing":          {"execjob_begin", "", "event: "},
		"another version":  {"execjob_begin", `{"v":2,"job":"1.pbs1"}`, "speaks version 2"},
		"no job":           {"execjob_begin", `{"v":1}`, "job id"},
		"an array":         {"execjob_begin", `{"v":1,"job":"43[].pbs1","uid":1,"run_count":1}`, "43[].pbs1"},
		"a path":           {"execjob_end", `{"v":1,"job":"../../1.pbs1"}`, "job id"},
		"an option":        {"jobobit", `{"v":1,"job":"-Wforce"}`, "job id"},
		"no user":          {"execjob_begin", `{"v":1,"job":"1.pbs1","uid":null,"user":"ann","run_count":1}`, `knows no user "ann"`},
		"no run_count":     {"execjob_begin", `{"v":1,"job":"1.pbs1","uid":1}`, "run_count"},
		"run_count 0":      {"execjob_begin", `{"v":1,"job":"1.pbs1","uid":1,"run_count":0}`, "run_count"},
		"no list of jobs":  {"exechost_periodic", `{"v":1,"jobs":null}`, "list of jobs"},
		"a job without id": {"exechost_periodic", `{"v":1,"jobs":["1.pbs1",""]}`, "job id"},
		"too long":         {"execjob_begin", `{"v":1,"job":"` + strings.Repeat("1", 300<<10) + `"}`, "bytes"},
		"too many facts":   {"runjob", `{"v":1,"job":"1.pbs1","exec_vnode":"` + strings.Repeat("n", 100<<10) + `"}`, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pbs.New("tioga").Parse(t.Context(), core.HookCall{Scheduler: "tioga", Phase: c.phase, Stdin: []byte(c.stdin)})
			if err == nil || !strings.Contains(core.AsError(err).Line(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzEvent(f *testing.F) {
	f.Add("execjob_begin", []byte(`{"v":1,"job":"42.pbs1","user":"ann","uid":1001,"run_count":2}`))
	f.Add("exechost_periodic", []byte(`{"v":1,"jobs":["2.pbs1"]}`))
	f.Add("runjob", []byte(`{"v":1,"job":"42.pbs1","resources":{"slingshot_off":"True"}}`))
	f.Fuzz(func(t *testing.T, phase string, stdin []byte) {
		ask, err := pbs.New("tioga").Parse(t.Context(), core.HookCall{Scheduler: "tioga", Phase: phase, Stdin: stdin, Began: 3})
		if err != nil {
			return
		}
		if ask.Action == core.Running {
			for _, k := range ask.Alive {
				if core.CheckJobID(k.Job) != nil {
					t.Errorf("job %q", k.Job)
				}
			}
			return
		}
		if core.CheckJobID(ask.Key.Job) != nil || len(ask.Note) > core.MaxNote || ask.Action == core.Prepare && ask.Key.Generation == 0 {
			t.Errorf("ask %+v", ask)
		}
	})
}

// What each event says of each class of failure; the hook file's own tests show what PBS makes of it.
func TestRender(t *testing.T) {
	errs := []*core.Error{
		nil, core.Errorf(core.PolicyDenied, "job tioga/7: DEDICATED_ACCESS needs\nmembership of group ops\x1b[2J"), core.Errorf(core.JobEnded, "job tioga/7: this run is over"),
		core.Errorf(core.NotPlaced, "job tioga/7: it is not placed here"), core.Errorf(core.PoolEmpty, "pool jobs: it is empty"), core.Errorf(core.NICFailed, "node n1: cxi1: ENXIO"),
		core.Errorf(core.BadCall, "job id: it is empty"),
	}
	for _, e := range errs[1:] {
		_ = e.WithRemedy("mend it so")
	}
	phases, err := pbs.New("tioga").Phases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, p := range phases {
		fmt.Fprintf(&out, "== %s: %v, root %v, job %v, reads %d bytes, within %v\n", p.Name, p.Action, p.Root, p.Job, p.Stdin, p.Limit)
		for _, e := range errs {
			o := core.Outcome{Action: p.Action, Key: key("7.pbs1", 1), Err: e}
			if p.Action == core.Environment && e == nil {
				o.Environment = granted
			}
			if e == nil {
				o.Warnings, o.Pending = []string{"cxi0: txqs: 3 of 12"}, p.Action == core.CleanUp
			}
			r, err := pbs.New("tioga").Render(t.Context(), core.HookCall{Phase: p.Name}, o)
			if err != nil || (r.Exit != 0) != (p.Action == core.Environment && e != nil) || len(r.Stderr) > 0 {
				t.Errorf("%s: %v: %+v, %v", p.Name, e, r, err)
			}
			out.Write(r.Stdout)
		}
	}
	path := filepath.Join("testdata", "render.golden")
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, v := range []core.Variable{{Name: "A", Value: "x\ny"}, {Name: "A B"}, {Name: ""}, {Name: "1A"}, {Name: "A", Value: `\`}} {
		_, err := pbs.New("tioga").Render(t.Context(), core.HookCall{Phase: pbs.PhaseLaunch}, core.Outcome{Environment: []core.Variable{v}})
		if reason(err) != core.InternalFault {
			t.Errorf("%+v can be told to a task: %v", v, err)
		}
	}
}
