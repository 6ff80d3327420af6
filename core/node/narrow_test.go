package node

import (
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
)

// TestWhatAStepAsksFor: each option of a step is obeyed where less than the job's grant is enough, repeats what the job
// asked for, or is refused by name.
func TestWhatAStepAsksFor(t *testing.T) {
	n := func(v uint16) *uint16 { return &v }
	limit := func(l core.LimitRequest) (all [core.NumResources]core.LimitRequest) {
		all[core.CT] = l
		return all
	}
	const three = core.LowLatency | core.BulkData | core.BestEffort
	plain := core.Grant{VNIs: []core.VNI{20, 21, 22}, Steps: 2, Classes: three, Request: &core.Request{}}
	asked := plain
	asked.VNIs = []core.VNI{20, 23, 21, 22}
	asked.Request = &core.Request{
		JobVNI: true, VNIs: 2, Classes: three, Depth: 64, Exact: true, Collectives: true, SingleNode: true,
		Limits: limit(core.LimitRequest{PerCore: n(4), Reserved: n(8), Max: n(16)}), Warnings: []string{"no effect"},
	}
	one := core.Grant{VNIs: []core.VNI{20}, Classes: three, Request: &core.Request{}}
	none := core.Grant{Request: &core.Request{Off: true}}
	unknown := plain
	unknown.Request = nil
	const shared = "the job's steps share its one service on each NIC"
	for _, c := range []struct {
		job   core.Grant
		ask   core.Request
		says  string // empty: it is obeyed
		class core.Classes
	}{
		{job: plain, class: three},
		{job: plain, ask: core.Request{Classes: core.BulkData}, class: core.BulkData},
		{job: plain, ask: core.Request{Classes: three}, class: three},
		{
			job: plain, ask: core.Request{Classes: core.BulkData | core.DedicatedAccess},
			says: "traffic class DEDICATED_ACCESS",
		},
		{job: plain, ask: core.Request{VNIs: 1}, class: three},
		{job: plain, ask: core.Request{VNIs: 2}, says: "2 VNIs: the job has 1"},
		{job: plain, ask: core.Request{JobVNI: true}, class: three}, // second to the step's own
		{job: one, ask: core.Request{JobVNI: true}, says: "a VNI of the whole job: the job has none"},
		{job: plain, ask: core.Request{SingleNode: true}, class: three},
		{job: plain, ask: core.Request{Collectives: true}, says: "collectives: the job has none"},
		{job: plain, ask: core.Request{Depth: 64}, says: "depth 64: " + shared},
		{job: plain, ask: core.Request{Exact: true}, says: "no_adjust_limits: " + shared},
		{job: plain, ask: core.Request{Limits: limit(core.LimitRequest{PerCore: n(4)})}, says: "a limit of cts: " + shared},
		{job: plain, ask: core.Request{Limits: limit(core.LimitRequest{Reserved: n(0)})}, says: "a limit of cts: " + shared},
		{job: plain, ask: core.Request{Limits: limit(core.LimitRequest{Max: n(4)})}, says: "a limit of cts: " + shared},

		{job: asked, ask: *asked.Request, class: three},
		{job: asked, ask: core.Request{VNIs: 2, Depth: 64, Limits: asked.Request.Limits}, class: three},
		{job: asked, ask: core.Request{Depth: 65}, says: "depth 65"},
		{job: asked, ask: core.Request{Limits: limit(core.LimitRequest{Max: n(17)})}, says: "a limit of cts"},

		{job: none, ask: core.Request{Off: true}},
		{job: none, ask: core.Request{Classes: core.BulkData}, says: "traffic class BULK_DATA: the job has none"},
		{job: none, ask: core.Request{SingleNode: true}, says: "a VNI: the job has none"},
		{job: unknown, ask: core.Request{Depth: 64}, class: three}, // of a server that does not say what the job asked for
	} {
		g, err := narrow(c.job, "3", c.ask)
		switch {
		case c.says == "" && (err != nil || g.Classes != c.class || len(g.VNIs) != len(c.job.VNIs)):
			t.Errorf("%+v: %v, %v, %v", c.ask, g.Classes, g.VNIs, err)
		case c.says == "":
		case err == nil || err.Reason != core.BadRequest || !strings.Contains(err.What, "its step 3 asks for "+c.says):
			t.Errorf("%+v: %v, not %q", c.ask, err, c.says)
		}
	}
	if g, err := narrow(plain, "3", core.Request{Off: true}); err != nil || len(g.VNIs)+g.Steps > 0 {
		t.Errorf("a step without a network has %v, %v", g.VNIs, err)
	}
	w := news(core.Grant{Warnings: []string{"a"}}, core.Request{Warnings: []string{"a", "b"}})
	if strings.Join(w, " ") != "b" {
		t.Errorf("warnings of a step: %q", w)
	}
}

// TestAStepHasLess: a step that has drawn a VNI may have fewer traffic classes, or no network. The job's other tasks
// have all, and a step that asks for more has nothing.
func TestAStepHasLess(t *testing.T) {
	b := stepBench(func(string) *core.Drawn { return &core.Drawn{VNI: 22} })
	grant := b.grant
	b.grant = func(r Reserve) (core.Grant, *core.Error) {
		g, err := grant(r)
		g.Request, g.Classes = &core.Request{}, core.LowLatency|core.BulkData
		return g, err
	}
	b.stepHook("0", 100)
	shown := func(step string, ask core.Request) (string, core.Outcome) {
		c := b.hook(core.Intent{Action: core.Environment, Key: job("7", 0), Step: step, Request: ask}, 1000)
		out := ""
		for _, v := range b.replies[c].Environment {
			if v.Name == envClasses || v.Name == envVNIs {
				out += v.Value + " "
			}
		}
		return out, b.replies[c]
	}
	for _, c := range []struct {
		step string
		ask  core.Request
		want string
	}{
		{"", core.Request{}, "20,21 0x6 "},
		{"0", core.Request{}, "22,21 0x6 "},
		{"0", core.Request{Classes: core.BulkData, Warnings: []string{"no effect"}}, "22,21 0x4 "},
		{"0", core.Request{Off: true}, "  "},
	} {
		got, o := shown(c.step, c.ask)
		if got != c.want || len(o.StepWarnings) != len(c.ask.Warnings) {
			t.Errorf("step %s with %+v: %q, %v", c.step, c.ask, got, o)
		}
	}
	if _, o := shown("0", core.Request{Depth: 3}); o.Err == nil || len(o.Environment) > 0 {
		t.Errorf("a step that asks for more: %+v", o)
	}
}
