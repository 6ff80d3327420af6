package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/policy"
)

func TestClassesThatAreGiven(t *testing.T) {
	rule := func(text string) string {
		return "rule \"r\" {\n  traffic_classes = [\"DEDICATED_ACCESS\"]\n" + text + "\n}\n"
	}
	top := core.BestEffort | core.LowLatency
	const (
		asks  = `contains(job.request.traffic_classes, "BULK_DATA")`
		other = `contains(job.request.traffic_classes, "LOW_LATENCY")`
	)
	for when, want := range map[string]core.Classes{
		"job.nodes > 99":                    top | core.DedicatedAccess,
		"job.nodes > 99 && job.nodes < 3":   top,
		`job.user != "ann"`:                 top | core.DedicatedAccess,
		asks:                                top,
		"job.nodes > 9 && " + asks:          top,
		"!" + asks:                          top | core.DedicatedAccess,
		asks + " || " + other:               top,
		asks + " || job.nodes > 9":          top | core.DedicatedAccess,
		"!(" + asks + " || " + other + ")":  top | core.DedicatedAccess,
		"job.request.off && (" + asks + ")": top,
	} {
		if got := load(t, base, rule("  when = "+when)).Classes(); got != want {
			t.Errorf("when %s: %v, want %v", when, got, want)
		}
	}
	if got := load(t, base, rule("")).Classes(); got != core.DedicatedAccess {
		t.Errorf("a rule for every job leaves of the top: %v", got)
	}
}

// TestShippedPoliciesFitAStockNIC: no job of a shipped policy gets a class without asking that is not in LL_BE_BD_ET.
// That is profile 2, which the driver has by default (active_qos_profile in cass_tc.c of 12.0.0 to 14.0.1).
func TestShippedPoliciesFitAStockNIC(t *testing.T) {
	for _, folder := range []string{".", "sites/slurm-hpe-slingshot", "sites/flux-el-capitan", "sites/pbs-daos"} {
		files, _, findings := policy.Gather([]string{folder})
		if findings != nil {
			t.Fatal(text(findings))
		}
		p, findings := policy.Load(files, policy.Env{Pools: []string{"jobs"}, Services: []string{"daos"}})
		if findings != nil {
			t.Fatal(text(findings))
		}
		if lacks := p.Classes() &^ (core.LowLatency | core.BestEffort | core.BulkData); lacks != 0 {
			t.Errorf("%s: a stock NIC lacks %v", folder, lacks)
		}
	}
}

// Whatever the rules, a job that asks for no class gets none beyond Classes.
func TestClassesCoverEachJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for i := range rapid.IntRange(1, 4).Draw(t, "rules") {
			when := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
				"job.nodes > 2", "job.nodes < 4", "!(job.nodes > 2)", `job.user == "ann"`, `contains(job.groups, "ops")`,
				`contains(job.request.traffic_classes, "BULK_DATA")`, `!contains(job.request.traffic_classes, "BULK_DATA")`,
				`(contains(job.request.traffic_classes, "BULK_DATA") || job.nodes > 2)`,
			}), 1, 3).Draw(t, "when"), " && ")
			class := rapid.SampledFrom(core.ClassNames()).Draw(t, "class")
			fmt.Fprintf(&text, "rule \"%d\" {\n  when = %s\n  traffic_classes = [%q]\n}\n", i, when, class)
		}
		p := load(t, base, text.String())
		job := jobs(t)
		job.Request.Classes = 0
		if d := p.Decide(engine.Facts{Job: job}); d.Classes&^p.Classes() != 0 {
			t.Fatalf("it gets %v, and %v are given: %+v\n%s", d.Classes, p.Classes(), job, text.String())
		}
	})
}
