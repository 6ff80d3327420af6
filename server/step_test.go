package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// TestStepsAreShown: a job shows which step has which VNI, and a VNI shows its step.
func TestStepsAreShown(t *testing.T) {
	v := engine.View{Steps: []engine.Draw{{Step: "17", VNI: 1025, Nodes: 1}, {Step: "18", Nodes: 2}}}
	v.VNIs = []engine.Taken{{VNI: 1024, Pool: "jobs", Name: "app"}, {VNI: 1025, Pool: "jobs", Name: "step"}}
	want := []StepRow{{"17", 1025, 1}, {"18", 0, 2}}
	if diff := cmp.Diff(want, jobDetail(v, nil, true).Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if s := jobDetail(v, nil, false).Steps; len(s) > 0 {
		t.Errorf("another user sees %v", s)
	}
	for vni, name := range map[core.VNI]string{1024: "app", 1025: "step 17"} {
		if got := vniRow(engine.Holder{VNI: vni, View: v}).Name; got != name {
			t.Errorf("VNI %d is %q", vni, got)
		}
	}
}
