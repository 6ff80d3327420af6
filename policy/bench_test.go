package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/policy"
)

var sink engine.Decision

func BenchmarkDefault(b *testing.B) {
	files, findings := policy.Read(".")
	if findings != nil {
		b.Fatal(text(findings))
	}
	p, findings := policy.Load(files, env)
	if p == nil {
		b.Fatal(text(findings))
	}
	f := facts(nil)
	b.ReportAllocs()
	for b.Loop() {
		sink = p.Decide(f)
	}
	b.ReportMetric(budget, "budget-ns/op")
}

// budget is what a decision may take, in ns.
const budget = 100_000

// hundred are 100 rules, of which the job's data lets three survive.
func hundred() string {
	var rules strings.Builder
	for i := range 97 {
		fmt.Fprintf(&rules, "rule \"r%d\" {\n  match {\n    users  = [\"u%d\", \"v%d\"]\n    queues = [\"batch\"]\n  }\n  when     = job.nodes >= %d && job.queue != \"debug\"\n  min_nics = 1\n}\n", i, i, i, i)
	}
	for i := range 3 {
		fmt.Fprintf(&rules, "rule \"s%d\" {\n  match { users = [\"ann\"] }\n  when     = job.nodes >= 1 && contains(job.groups, \"phys\") && job.queue != \"debug\"\n  min_nics = 2\n}\n", i)
	}
	return rules.String()
}

func BenchmarkHundredRules(b *testing.B) {
	p := load(b, base, hundred())
	f := facts(nil)
	if d := p.Decide(f); d.Deny != nil || len(d.Rules) != 3 {
		b.Fatalf("%+v", d)
	}
	b.ReportAllocs()
	for b.Loop() {
		sink = p.Decide(f)
	}
	b.ReportMetric(budget, "budget-ns/op")
}

func BenchmarkManyShares(b *testing.B) {
	p := load(b, base)
	f := facts(func(j *core.Job) {
		j.Shares = nil
		for i := range 1000 {
			j.Shares = append(j.Shares, core.Share{Hosts: fmt.Sprintf("n%d", i), Nodes: 1, Cores: 64 + i%4})
		}
	})
	b.ReportAllocs()
	for b.Loop() {
		sink = p.Decide(f)
	}
}

func BenchmarkLoadHundredRules(b *testing.B) {
	files := sources(base, hundred())
	b.ReportAllocs()
	for b.Loop() {
		if p, _ := policy.Load(files, env); p == nil {
			b.Fatal("it does not load")
		}
	}
}
