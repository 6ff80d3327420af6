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
	files, _, findings := policy.Gather([]string{"."})
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

// many are n rules, of which the job's data lets at most three survive; when is the condition of those.
func many(n int, when string) string {
	var rules strings.Builder
	for i := range n {
		if i < 3 {
			fmt.Fprintf(&rules, "rule \"s%d\" {\n  match { users = [\"ann\"] }\n  when     = %s\n  min_nics = %d\n}\n", i, fmt.Sprintf(when, i), i+1)
			continue
		}
		fmt.Fprintf(&rules, "rule \"r%d\" {\n  match {\n    users  = [\"u%d\", \"v%d\"]\n    queues = [\"batch\"]\n  }\n  when     = job.nodes >= %d && job.queue != \"debug\"\n  min_nics = 1\n}\n", i, i, i, i%60)
	}
	return rules.String()
}

// The two kinds of conditions: those that are computed directly, and those that are HCL's.
const (
	direct = `job.nodes > 2%d || job.nodes >= 1 && contains(job.groups, "phys") && job.queue != "debug"`
	inHCL  = `job.nodes >= 1 + %d - 9 && contains(job.groups, lower("PHYS")) && job.queue != "debug"`
)

// BenchmarkRules decides with n rules of which three whens must be evaluated; it must grow with those, not with n.
func BenchmarkRules(b *testing.B) {
	for _, c := range []struct{ name, when string }{{"direct", direct}, {"hcl", inHCL}} {
		for _, n := range []int{1, 10, 100, 1000} {
			b.Run(fmt.Sprintf("when=%s/rules=%d", c.name, n), func(b *testing.B) {
				p := load(b, base, many(n, c.when))
				f := facts(nil)
				if d := p.Decide(f); d.Deny != nil || len(d.Rules) != min(n, 3) {
					b.Fatalf("%+v", d)
				}
				b.ReportAllocs()
				for b.Loop() {
					sink = p.Decide(f)
				}
				b.ReportMetric(budget, "budget-ns/op")
			})
		}
	}
}

// BenchmarkLoad loads n rules; the budget is for 1000.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			files := sources(base, many(n, direct))
			b.ReportAllocs()
			for b.Loop() {
				if p, findings := policy.Load(files, env); p == nil {
					b.Fatal(text(findings))
				}
			}
			b.ReportMetric(200, "budget-ms/1000-rules")
		})
	}
}

// BenchmarkExplain says how the decision with 100 rules came about.
func BenchmarkExplain(b *testing.B) {
	p := load(b, base, many(100, direct))
	f := facts(nil)
	b.ReportAllocs()
	for b.Loop() {
		traced = p.Explain(f)
	}
}

var traced policy.Trace

func BenchmarkManyShares(b *testing.B) {
	p := load(b, base)
	f := facts(func(j *core.Job) {
		j.Placements = nil
		for i := range 1000 {
			j.Placements = append(j.Placements, core.Placement{Hosts: fmt.Sprintf("n%d", i), Nodes: 1, Cores: 64 + i%4})
		}
	})
	b.ReportAllocs()
	for b.Loop() {
		sink = p.Decide(f)
	}
}
