package refusal_test

import (
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
)

func TestTrial(t *testing.T) {
	fail := refusal.Step{Name: "LOW_LATENCY", Errno: "EINVAL"}
	for name, c := range map[string]struct {
		steps  []refusal.Step
		failed int
		all    bool
	}{
		"good":           {[]refusal.Step{{Name: "device"}, {Name: "LNI"}, {Name: "BULK_DATA"}}, 0, false},
		"no device":      {[]refusal.Step{{Name: "device", Errno: "EACCES"}}, 1, true},
		"no LNI":         {[]refusal.Step{{Name: "device"}, {Name: "LNI", Errno: "EPERM"}}, 1, true},
		"one class":      {[]refusal.Step{{Name: "device"}, {Name: "LNI"}, fail, {Name: "BULK_DATA"}}, 1, false},
		"the only class": {[]refusal.Step{{Name: "device"}, {Name: "LNI"}, fail}, 1, true},
		"none of classes": {
			[]refusal.Step{{Name: "device"}, {Name: "LNI"}, fail, {Name: "BULK_DATA", Errno: "EPERM"}}, 2, true,
		},
	} {
		trial := refusal.Trial{Steps: c.steps}
		failed, all := trial.Failed()
		if len(failed) != c.failed || all != c.all {
			t.Errorf("%s: %v, %v", name, failed, all)
		}
		for _, s := range failed {
			meaning, remedy := s.Meaning()
			if meaning == "" || meaning == "the NIC failed" || remedy == "" {
				t.Errorf("%s: %v means %q, %q", name, s, meaning, remedy)
			}
		}
	}
	other := refusal.Step{Name: "LNI", Errno: "EIO"}
	if meaning, remedy := other.Meaning(); meaning != "the NIC failed" || remedy != core.NICRemedy {
		t.Errorf("another number means %q, %q", meaning, remedy)
	}
}
