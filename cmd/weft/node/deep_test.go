package node

import (
	"testing"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
)

// TestBlamed reads the NICs of the agent's findings, and of those of the driver "cxi".
func TestBlamed(t *testing.T) {
	critical := core.Critical.String()
	for _, c := range []struct {
		severity, what string
		blamed         bool
	}{
		{critical, "NIC cxi1 has no link", true},
		{critical, "NIC cxi[0-1] has no link", true},
		{critical, "NIC cxi[0,2]: its default service is enabled: NIC cxi1", false},
		{critical, "NIC cxi0, cxi1: users cannot open its device file", true},
		{critical, "NIC cxi0, cxi2, cxi10: libfabric leaves it out: it has no network device", false},
		{critical, "NIC cxi1: its services cannot be read", true},
		{critical, "Weft is bypassed here", false},
		{"warning", "NIC cxi1 has no link", false},
		{"of a later release", "NIC cxi1 has no link", true},
	} {
		if blamed([]agent.FindingRow{{Severity: c.severity, What: c.what}}, "cxi1") != c.blamed {
			t.Errorf("%s %s: blamed %v", c.severity, c.what, !c.blamed)
		}
	}
}
