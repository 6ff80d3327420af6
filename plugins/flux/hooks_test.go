package flux

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

func TestParse(t *testing.T) {
	env := func(id string, more ...string) map[string]string {
		e := map[string]string{"FLUX_JOB_ID": id, "FLUX_JOB_USERID": "1000"}
		for i := 0; i < len(more); i += 2 {
			e[more[i]] = more[i+1]
		}
		return e
	}
	for name, c := range map[string]struct {
		phase string
		env   map[string]string
		want  core.Intent
	}{
		"prolog":                 {"prolog", env("ƒ9y6M3wD"), core.Intent{Action: core.Prepare, Key: key(oneF58), UID: 1000}},
		"prolog of a unit":       {"prolog", env("f9y6M3wD"), core.Intent{Action: core.Prepare, Key: key(oneF58), UID: 1000}},
		"epilog":                 {"epilog", env("ƒ9y6M3wD"), core.Intent{Action: core.CleanUp, Key: key(oneF58), UID: 1000}},
		"epilog by a number":     {"epilog", env("341366013952"), core.Intent{Action: core.CleanUp, Key: key(oneF58), UID: 1000}},
		"shell":                  {"shell", env("ƒ9y6M3wD", "FLUX_JOB_ID_PATH", "/ƒ9y6M3wD"), core.Intent{Action: core.Environment, Key: key(oneF58), UID: 7, Step: "/ƒ9y6M3wD"}},
		"shell of an inner job":  {"shell", env("ƒ9y6M3wD", "FLUX_JOB_ID_PATH", "/ƒ9y6M3wD/ƒ21"), core.Intent{Action: core.Environment, Key: key(oneF58), UID: 7, Step: "/ƒ9y6M3wD/ƒ21"}},
		"shell of an older Flux": {"shell", env("ƒ9y6M3wD"), core.Intent{Action: core.Environment, Key: key(oneF58), UID: 7}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Began, c.want.Call = 5, "id"
			got, err := New("tioga").Parse(t.Context(), core.HookCall{ID: "id", Scheduler: "tioga", Phase: c.phase, Env: c.env, Began: 5, Peer: core.Peer{UID: 7}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOneNodeSpeaks for a job while the server is away: that of its first rank.
func TestOneNodeSpeaks(t *testing.T) {
	p, b := adapter(t)
	for ranks, want := range map[string]bool{"3": true, "3-7": true, "[3,9]": true, "2-3": false, "4": false, "": false, "x": false} {
		b.Attr("rank", "3")
		for _, phase := range []string{PhaseProlog, PhaseEpilog} {
			env := map[string]string{"FLUX_JOB_ID": "ƒ2", "FLUX_JOB_USERID": "1000", "FLUX_JOB_RANKS": ranks}
			got, err := p.Parse(t.Context(), core.HookCall{Scheduler: "tioga", Phase: phase, Env: env})
			if err != nil || got.Speaks != (want && phase == PhaseProlog) {
				t.Errorf("%s of ranks %q: %t, %v", phase, ranks, got.Speaks, err)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		phase, id, uid, path, says string
	}{
		"no such hook":  {"taskprolog", "ƒ2", "1", "", "no such hook"},
		"no job":        {"prolog", "", "1", "", "job id"},
		"a path":        {"epilog", "../ƒ2", "1", "", "job id"},
		"no user":       {"prolog", "ƒ2", "", "", "FLUX_JOB_USERID"},
		"nobody":        {"prolog", "ƒ2", "4294967296", "", "FLUX_JOB_USERID"},
		"a forged path": {"shell", "ƒ2", "1", "/ƒ2\nexport LD_PRELOAD=x", "job id"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New("tioga").Parse(t.Context(), core.HookCall{Scheduler: "tioga", Phase: c.phase, Env: map[string]string{"FLUX_JOB_ID": c.id, "FLUX_JOB_USERID": c.uid, "FLUX_JOB_ID_PATH": c.path}})
			checkError(t, err, core.BadCall, c.says)
		})
	}
}

func TestPhases(t *testing.T) {
	phases, err := New("tioga").Phases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, p := range phases {
		fmt.Fprintf(&b, "%s: %v root=%v job=%v step=%v variables=%v limit=%v\n", p.Name, p.Action, p.Root, p.Job, p.Step, p.Variables, p.Limit)
		if p.Name == PhaseProlog && p.Limit >= 30*time.Minute {
			t.Errorf("the prolog may wait %v, and Flux ends it after 30m", p.Limit)
		}
	}
	golden(t, "phases", b.String())
}

// outcomes are one of each kind.
func outcomes() []core.Outcome {
	environment := []core.Variable{{Name: "SLINGSHOT_VNIS", Value: "1024,1030"}, {Name: "FI_CXI_COLL_JOB_ID", Unset: true}, {Name: "FI_CXI_COLL_JOB_STEP_ID", Value: "/ƒ9y6M3wD/ƒ21"}}
	all := []core.Outcome{
		{Environment: environment}, {Warnings: []string{"cxi1: les: 8 of 16"}}, {Pending: true},
		{Environment: []core.Variable{{Name: "X", Value: "a\nexport Y=b"}}},
	}
	for _, r := range []core.Reason{
		core.PolicyDenied, core.BadRequest, core.OverQuota, core.JobEnded, core.NoRecord, core.PoolEmpty, core.ServerAway, core.TimedOut, core.Recovering, core.Cancelled,
		core.NICMissing, core.ServiceBusy, core.NotAllowed, core.BadCall,
	} {
		all = append(all, core.Outcome{Err: core.Errorf(r, "job tioga/ƒ9y6M3wD: it is\nso").WithRemedy("do this")})
	}
	for i := range all {
		all[i].Key = key(oneF58)
	}
	return all
}

func TestRender(t *testing.T) {
	var b strings.Builder
	for _, phase := range []string{PhaseProlog, PhaseShell, PhaseEpilog} {
		for _, o := range outcomes() {
			r, err := New("tioga").Render(t.Context(), core.HookCall{Phase: phase}, o)
			reason := core.Reason("-")
			if o.Err != nil {
				reason = o.Err.Reason
			}
			fmt.Fprintf(&b, "%s %s: exit %d, %q, %q, %v\n", phase, reason, r.Exit, r.Stdout, r.Stderr, err)
		}
	}
	golden(t, "render", b.String())
}

// TestOnlyANodesOwnFaultDrainsIt: a scriptlet's exit code other than 0 and 75 makes Flux drain the node.
func TestOnlyANodesOwnFaultDrainsIt(t *testing.T) {
	for _, a := range core.Reasons() {
		for _, phase := range []string{PhaseProlog, PhaseEpilog} {
			r, err := New("tioga").Render(t.Context(), core.HookCall{Phase: phase}, core.Outcome{Err: core.Errorf(a.Reason, "x")})
			if err != nil {
				t.Fatal(err)
			}
			if drains := r.Exit != 0 && r.Exit != ExitAgain; drains != (a.Scope == core.ScopeNode) {
				t.Errorf("%s in %s: exit %d, and its class is %v", a.Reason, phase, r.Exit, a.Scope)
			}
			if r.Exit == ExitAgain && phase != PhaseProlog {
				t.Errorf("%s in %s: nobody tries again there", a.Reason, phase)
			}
		}
		// No task runs without its isolation, whatever the reason.
		r, err := New("tioga").Render(t.Context(), core.HookCall{Phase: PhaseShell}, core.Outcome{Err: core.Errorf(a.Reason, "x")})
		if err != nil || r.Exit == 0 || !strings.HasPrefix(string(r.Stdout), "print weft: ") {
			t.Errorf("%s in the shell: %+v, %v", a.Reason, r, err)
		}
	}
}
