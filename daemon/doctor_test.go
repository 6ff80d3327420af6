package daemon

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/adapters"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

type cloned int

func (c cloned) Check(context.Context) ([]core.Finding, error) {
	twin := core.Finding{Severity: core.Critical, What: "a node has two hosts", Evidence: strings.Repeat("x", 300)}
	notice := core.Finding{Severity: core.Notice}
	return append([]core.Finding{notice}, slices.Repeat([]core.Finding{twin}, int(c))...), nil
}

// A certificate that is in the image of every node is one finding for each of them: the reply has the worst, and says
// how many more there are.
func TestDoctorOfManyTwinsFitsIntoAReply(t *testing.T) {
	out, err := doctor(cloned(11_136))(t.Context(), core.Peer{}, hook.Request{})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(out)
	rows := out.([]agent.FindingRow)
	last := rows[len(rows)-1]
	if len(text) > listener.DefaultReply || rows[0].Severity != "critical" || !strings.Contains(last.What, "not shown: ") {
		t.Errorf("%d bytes; the first is %s, the last %q", len(text), rows[0].Severity, last.What)
	}
}

// No node sees the configuration of a scheduler whose own server asks Weft's.
func TestTheServersDoctorAsksSchedulers(t *testing.T) {
	d := &serverDaemon{hooks: &adapters.Server{}}
	if !slices.ContainsFunc(d.checks(nil), func(c core.Checker) bool { return c == core.Checker(d.hooks) }) {
		t.Error("it does not")
	}
	d.hooks = nil
	if n := len(d.checks(nil)); n != 3 {
		t.Errorf("%d checks without hooks beside the server", n)
	}
}
