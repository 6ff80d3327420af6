package node

import (
	"strings"
	"testing"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
)

func TestHealthHasNoCharacterThatHides(t *testing.T) {
	var out strings.Builder
	_ = printHealth(&out, []agent.FindingRow{{Severity: core.Critical.String(), What: "NIC \u202ebad\x1b"}})
	if want := "weft: NIC ?bad?\n"; out.String() != want {
		t.Errorf("%q, not %q", out.String(), want)
	}
}
