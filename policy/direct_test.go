package policy_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core/engine"
)

// simple draws a condition of the kind that is computed without HCL.
func simple(t *rapid.T, depth int) string {
	amount := rapid.SampledFrom([]string{"job.nodes", "job.cores", "job.spread", "job.uid", "job.gid", "job.request.vnis", "job.request.depth", "system.nodes", "job.time_limit", "now", "unlimited", "0", "1", "2", "8", "64", "(4)"})
	word := rapid.SampledFrom([]string{"job.id", "job.scheduler", "job.user", "job.account", "job.queue", "job.partition", "job.qos", "job.reservation", "job.constraints", `""`, `"ann"`, `"io"`, `"\u00e9"`, `"tioga"`, `"slurm"`})
	variable := rapid.SampledFrom([]string{"job.id", "job.user", "job.account", "job.queue", "job.qos"})
	truth := rapid.SampledFrom([]string{"job.request.off", "job.request.job_vni", "job.request.single_node_vni", "job.request.collectives", "true", "false"})
	most := 5
	if depth > 0 {
		most = 9
	}
	switch rapid.IntRange(0, most).Draw(t, "form") {
	case 0:
		return truth.Draw(t, "truth")
	case 1:
		return amount.Draw(t, "a") + rapid.SampledFrom([]string{" == ", " != ", " < ", " <= ", " > ", " >= "}).Draw(t, "op") + amount.Draw(t, "b")
	case 2:
		a := word.Draw(t, "a")
		b := word.Filter(func(b string) bool { return a != "job.scheduler" || b[0] != '"' || b == `"tioga"` || b == `"slurm"` }).Draw(t, "b")
		if b == "job.scheduler" && a[0] == '"' && a != `"tioga"` && a != `"slurm"` {
			a = "job.user"
		}
		return a + rapid.SampledFrom([]string{" == ", " != "}).Draw(t, "op") + b
	case 3:
		return fmt.Sprintf("contains(job.groups, %s)", rapid.SampledFrom([]string{`"phys"`, `"ops"`, `"\u00e9"`, `""`}).Draw(t, "group"))
	case 4:
		return fmt.Sprintf("contains(job.request.traffic_classes, %q)", rapid.SampledFrom([]string{"LOW_LATENCY", "DEDICATED_ACCESS", "BULK_DATA", "BEST_EFFORT"}).Draw(t, "class"))
	case 5:
		if rapid.Bool().Draw(t, "limits") {
			return fmt.Sprintf("contains(job.request.limits, %q)", rapid.SampledFrom([]string{"txqs", "les", "tles"}).Draw(t, "limit"))
		}
		return fmt.Sprintf(`contains(["ann", "io", "\u00e9"], %s)`, variable.Draw(t, "variable"))
	case 6:
		return "!(" + simple(t, depth-1) + ")"
	case 7:
		return "(" + simple(t, depth-1) + ") == (" + simple(t, depth-1) + ")"
	default:
		return "(" + simple(t, depth-1) + ")" + rapid.SampledFrom([]string{" && ", " || "}).Draw(t, "op") + "(" + simple(t, depth-1) + ")"
	}
}

// What is computed without HCL is what HCL gives: the same condition, once alone, and once beside what only HCL can do.
func TestDirectConditions(t *testing.T) {
	seen := map[int]int{}
	one := func(t *rapid.T) {
		when := simple(t, 3)
		quick, slow := load(t, base, rule(when)), load(t, base, rule("("+when+") && strlen(job.user) >= 0"))
		for range 10 {
			f := engine.Facts{Job: jobs(t), System: engine.System{Nodes: 8, Topology: topology(t)}, Now: rapid.Int64Range(0, 9).Draw(t, "now")}
			a, b := quick.Decide(f), slow.Decide(f)
			seen[len(a.Rules)]++
			if len(a.Rules) != len(b.Rules) || a.MinNICs != b.MinNICs || (a.Deny == nil) != (b.Deny == nil) {
				t.Fatalf("%s is %d directly and %d in HCL for %+v", when, len(a.Rules), len(b.Rules), f.Job)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		for range 5 { // enough even for a short run, which draws a fifth as often
			one(t)
		}
	})
	if seen[0] < 20 || seen[1] < 20 {
		t.Errorf("the conditions were false %d times and true %d times: the test shows nothing", seen[0], seen[1])
	}
}
