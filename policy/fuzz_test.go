package policy_test

import (
	"os"
	"testing"

	"github.com/weft-hpc/weft/policy"
)

func FuzzLoad(f *testing.F) {
	shipped, err := os.ReadFile("default.policy.hcl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(shipped))
	f.Add(base + wide)
	f.Add(base + rule("job.nodes / 0 > 1 ? job.request.off : contains(job.groups, \"a${1}\")"))
	f.Add(base + rule("length(concat(job.groups, split(\",\", join(\"-\", job.groups)))) % 2 == 0"))
	f.Add(base + quotas)
	f.Add(base + site)
	f.Add(base + rule("strlen(join(\"xxxx\", split(\"\", join(\"xxxx\", job.groups)))) > regex(\"(a+)+$\", job.user)[0]"))
	f.Fuzz(func(t *testing.T, text string) {
		p, findings := policy.Load(sources(text), env)
		if p == nil {
			if len(findings) == 0 {
				t.Fatal("no policy and no finding")
			}
			return
		}
		d := p.Decide(facts(nil))
		if x := p.Explain(facts(nil)); (x.Decision.Deny == nil) != (d.Deny == nil) || len(x.Decision.VNIs) != len(d.VNIs) || len(x.Decision.Quotas) != len(d.Quotas) {
			t.Fatalf("Explain: %+v, Decide: %+v", x.Decision, d)
		}
		if d.Deny == nil && len(d.VNIs) > 0 && (d.Classes == 0 || len(d.Limits) != 1 || d.VNIs[0].Pool != "jobs") {
			t.Fatalf("%+v", d)
		}
	})
}
