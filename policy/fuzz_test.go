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
	f.Fuzz(func(t *testing.T, text string) {
		p, findings := policy.Load(sources(text), env)
		if p == nil {
			if len(findings) == 0 {
				t.Fatal("no policy and no finding")
			}
			return
		}
		d := p.Decide(facts(nil))
		if d.Deny == nil && len(d.VNIs) > 0 && (d.Classes == 0 || len(d.Limits) != 1 || d.VNIs[0].Pool != "jobs") {
			t.Fatalf("%+v", d)
		}
	})
}
