package policy_test

import (
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// topology has n1 to n4 in one group and n5 to n8 in another.
func topology(t interface {
	Helper()
	Fatal(args ...any)
}) *engine.Topology {
	t.Helper()
	top, err := engine.NewTopology([]string{"n[1-4]", "n[5-8]"})
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// A rule for jobs that are spread over groups is for those alone, whether it is computed directly or by HCL.
func TestSpreadIsKnown(t *testing.T) {
	for _, when := range []string{"job.spread > 1", "1 + job.spread > 2"} {
		p := load(t, base, rule(when))
		for hosts, want := range map[string]bool{"n[1-4]": false, "n[4-5]": true, "n[7-8]": false, "n[1-8]": true} {
			f := facts(func(j *core.Job) { j.Placements[0].Hosts = hosts })
			f.System.Topology = topology(t)
			if d := p.Decide(f); d.Deny != nil || (len(d.Rules) == 1) != want {
				t.Errorf("%s: job on %s: rules %v, %v", when, hosts, d.Rules, d.Deny)
			}
			f.System.Topology = nil
			if d := p.Decide(f); d.Deny != nil || len(d.Rules) != 0 {
				t.Errorf("%s: job on %s without a topology: rules %v, %v", when, hosts, d.Rules, d.Deny)
			}
			f.Spread = 2 // as a server found it out before
			if d := p.Decide(f); len(d.Rules) != 1 {
				t.Errorf("%s: job spread over 2 groups: rules %v, %v", when, d.Rules, d.Deny)
			}
		}
	}
}

// The trace shows the figure.
func TestSpreadIsExplained(t *testing.T) {
	p := load(t, base, rule("job.spread > 2"))
	f := facts(func(j *core.Job) { j.Placements[0].Hosts = "n[4-5]" })
	f.System.Topology = topology(t)
	for _, b := range p.Explain(f).Blocks {
		if b.Name == "r" {
			if want := "when: job.spread > 2 is false: job.spread is 2"; b.Why != want {
				t.Errorf("%q, want %q", b.Why, want)
			}
			return
		}
	}
	t.Error("the rule is not in the trace")
}
