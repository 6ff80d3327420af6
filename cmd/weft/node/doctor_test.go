package node

import (
	"strings"
	"testing"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
)

func TestHealthHasNoCharacterThatHides(t *testing.T) {
	const evil = "NIC \u202ebad\x1b\ngood  n1"
	rows := []agent.FindingRow{{Severity: core.Critical.String(), Of: "driver", What: evil, Evidence: evil, Remedy: evil}}
	var out strings.Builder
	_ = printHealth(&out, rows)
	printFindings(&out, rows)
	const flat = "NIC ?bad? good  n1\n"
	want := "weft: " + flat + "critical  " + flat + "          driver: " + flat + "          remedy: " + flat
	if out.String() != want {
		t.Errorf("%q, not %q", out.String(), want)
	}
}
