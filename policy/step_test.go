package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// TestVNIsOfSteps: they come behind the job's own and count against its quota. No user asks for them.
func TestVNIsOfSteps(t *testing.T) {
	p := load(t, base+`
vni "step" {
  pool   = "jobs"
  count  = 2
  beyond = "refuse"
}
rule "steps" {
  when = true
  vnis = ["step", "app", "job"]
}
quota "few" {
  per  = "user"
  vnis = 3
}
`)
	named := func(name string) engine.Wanted { return engine.Wanted{Name: name, Pool: "jobs"} }
	app, job, step := named("app"), named("job"), named("step")
	for name, c := range map[string]struct {
		change func(*core.Job)
		vnis   []engine.Wanted
		over   string
	}{
		"all":      {func(*core.Job) {}, []engine.Wanted{app, job, step, step}, "this job wants 4"},
		"one VNI":  {func(j *core.Job) { j.Request.VNIs = 1 }, []engine.Wanted{app, step, step}, ""},
		"two VNIs": {func(j *core.Job) { j.Request.VNIs = 2 }, []engine.Wanted{app, job, step, step}, "this job wants 4"},
	} {
		f := facts(c.change)
		d := p.Decide(f)
		if diff := cmp.Diff(c.vnis, d.VNIs); diff != "" || d.Steps != 2 || d.Beyond != engine.BeyondRefuse {
			t.Errorf("%s: %d for steps, beyond %d; VNIs (-want +got):\n%s", name, d.Steps, d.Beyond, diff)
		}
		if over := d.Quotas[0].Over(&d, 0); !strings.Contains(over, c.over) || over != "" && c.over == "" {
			t.Errorf("%s: the quota says %q", name, over)
		}
	}
	d := p.Decide(facts(func(j *core.Job) { j.Request.VNIs = 3 }))
	if d.Deny == nil || !strings.Contains(d.Deny.What, "gives this job 2") {
		t.Errorf("three VNIs: %v", d.Deny)
	}
	for _, a := range p.Explain(facts(func(*core.Job) {})).Attributes {
		const want = "app of jobs, job of jobs, 2 of jobs for steps, beyond which a step is refused"
		if a.Name == "vnis" && a.Value != want {
			t.Errorf("explain says %q, not %q", a.Value, want)
		}
	}
}
