package policy_test

import (
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/policy"
)

// Policy grants no wish for less than the shipped floor: where a NIC has nothing left, the job would start with none.
func TestLessThanTheFloor(t *testing.T) {
	files, _, findings := policy.Gather([]string{"."})
	if findings != nil {
		t.Fatal(text(findings))
	}
	p, findings := policy.Load(files, policy.Env{Pools: []string{"jobs"}, Schedulers: []string{"local"}, Nodes: "n[1-4]"})
	if findings != nil {
		t.Fatal(text(findings))
	}
	floor := p.Decide(facts(nil)).Floor
	for r, least := range floor {
		if least == 0 {
			continue
		}
		for what, ask := range map[string]core.LimitRequest{
			"def 0":           {PerCore: u16(0)},
			"res 0":           {Reserved: u16(0)},
			"res below":       {Reserved: u16(least - 1)},
			"max 0":           {Max: u16(0)},
			"max below":       {Max: u16(least - 1)},
			"def with max":    {PerCore: u16(1000), Max: u16(least - 1)},
			"res 0, max well": {Reserved: u16(0), Max: u16(100)},
		} {
			got := p.Decide(facts(func(j *core.Job) { j.Request.Limits[r] = ask }))
			if got.Deny == nil || got.Deny.Reason != core.PolicyDenied || !strings.Contains(got.Deny.What, "at least") {
				t.Errorf("%v: %s: refused with %v, granted %+v", core.Resource(r), what, got.Deny, got.Limits)
			}
		}
	}
	if floor[core.PTE] != 6 {
		t.Errorf("the shipped floor is %v", floor)
	}
}
