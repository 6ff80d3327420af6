package policy

import (
	"os"
	"testing"

	"github.com/weft-hpc/weft/hclfile"
)

// What the shipped policy asks is computed without HCL, and so is what sites ask most. What may fail, or is not known to be simple, is HCL's.
func TestWhichConditionsAreDirect(t *testing.T) {
	shipped, err := os.ReadFile("default.policy.hcl")
	if err != nil {
		t.Fatal(err)
	}
	p, findings := Load([]hclfile.Source{{Name: "default.policy.hcl", Text: shipped}}, Env{Pools: []string{"jobs"}})
	if p == nil {
		t.Fatal(findings)
	}
	for _, r := range p.rules {
		if r.when != nil && r.direct == nil {
			t.Errorf("%s of the shipped policy is not direct", r.title())
		}
	}
	of := func(when string) bool {
		text := "rule \"r\" {\n  when = " + when + "\n  min_nics = 1\n}\n"
		p, findings := Load([]hclfile.Source{{Name: "a.policy.hcl", Text: shipped}, {Name: "b.policy.hcl", Text: []byte(text)}}, Env{Pools: []string{"jobs"}})
		if p == nil {
			t.Fatal(when, findings)
		}
		return p.rules[len(p.rules)-1].direct != nil
	}
	for _, when := range []string{
		`job.nodes >= 64 && job.queue != "debug"`, `contains(["a", "b"], job.account)`, `!(job.user == "ann" || contains(job.groups, "ops"))`, `64 > job.nodes`,
		`contains(job.request.limits, "txqs")`, `job.request.off == false`, `job.nodes == system.nodes`, `job.nodes > 70000`,
		`job.qos == "debug" && job.partition != "x"`, `job.time_limit <= 86400`, `job.time_limit == unlimited`, `now > 1796000000`,
	} {
		if !of(when) {
			t.Errorf("%s is not direct", when)
		}
	}
	for _, when := range []string{
		`job.nodes / 2 > 3`, `job.groups[0] == "a"`, `job.nodes > 1.5`, `upper(job.user) == "ANN"`, `job.request.off ? true : job.nodes > 1`, `job.nodes > 99999999999999999999`,
		`contains(job.groups, job.user)`, `-job.nodes < 1`, `job.nodes > 2 && 1 / job.cores > 1`,
		`now + job.time_limit > 1796000000`, `now > time("2026-11-29T20:00:00Z")`,
	} {
		if of(when) {
			t.Errorf("%s is direct", when)
		}
	}
}
