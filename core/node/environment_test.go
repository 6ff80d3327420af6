package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

func TestStepEnvironment(t *testing.T) {
	plain := Entry{Grant: core.Grant{VNIs: []core.VNI{1024}, Classes: core.BestEffort}, Services: []core.Service{{Device: "cxi0", ID: 3}}}
	collective := plain
	collective.Grant.Collective = &core.Collective{JobID: "7", Token: "t", URL: "u", Addresses: 1, MinNodes: 64}
	for name, test := range map[string]struct {
		entry Entry
		step  string
		ok    bool
	}{
		"nothing granted":    {Entry{}, "3", false},
		"no collectives":     {plain, "3", false},
		"no step":            {collective, "", false},
		"a step":             {collective, "3", true},
		"a step with a name": {collective, "3.extern", true},
	} {
		t.Run(name, func(t *testing.T) {
			environment := Environment(test.entry)
			got, ok := WithStep(environment, test.step)
			if ok != test.ok {
				t.Errorf("makes a difference: %v, want %v", ok, test.ok)
			}
			var want []core.Variable
			for _, v := range environment {
				if !test.ok || v.Name != envStep {
					want = append(want, v)
				}
				if test.ok && v.Name == envJob {
					want = append(want, core.Variable{Name: envStep, Value: test.step})
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(want, StepEnvironment(test.entry, test.step)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(Environment(test.entry), environment); diff != "" {
				t.Errorf("it changed what it was given: %s", diff)
			}
		})
	}
}
