package policy

import (
	"strings"
	"testing"

	"github.com/weft-hpc/weft/policy"
	"github.com/weft-hpc/weft/policy/facts"
)

// What a job is called cannot look like a line of the answer.
func TestExplainedNamesStayInTheirLine(t *testing.T) {
	var out strings.Builder
	e := explained{
		Job:   facts.Job{ID: "7\ngranted", User: "ann\ngranted", Nodes: "n1\ngranted", Cores: 1},
		Trace: policy.Trace{Blocks: []policy.Block{{Outcome: policy.Matched, Bounds: []policy.Bound{{Subject: "user ann\ngranted", Most: 1}}}}},
	}
	e.Deny = &policy.Denial{What: "no"}
	printExplained(&out, e)
	if strings.Contains(out.String(), "\ngranted") {
		t.Errorf("a name begins a line:\n%s", out.String())
	}
}
