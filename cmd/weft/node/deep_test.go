package node

import (
	"testing"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
)

// TestBlamed: a finding blames the NICs that it carries, and no NIC that its words name.
func TestBlamed(t *testing.T) {
	critical := core.Critical.String()
	for _, c := range []struct {
		severity string
		nics     []string
		blamed   bool
	}{
		{critical, []string{"cxi1"}, true},
		{critical, []string{"cxi0", "cxi1"}, true},
		{critical, []string{"cxi0", "cxi10"}, false},
		{critical, nil, false},
		{"warning", []string{"cxi1"}, false},
		{"of a later release", []string{"cxi1"}, true},
	} {
		seen := []agent.FindingRow{{Severity: c.severity, What: "NIC cxi1 has no link", NICs: c.nics}}
		if blamed(seen, "cxi1") != c.blamed {
			t.Errorf("%s %v: blamed %v", c.severity, c.nics, !c.blamed)
		}
	}
}
