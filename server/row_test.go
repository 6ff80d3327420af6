package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// TestGot: nodes that say the same of a job share a row, and who says nothing has none. Strangers learn nothing of it.
func TestGot(t *testing.T) {
	few := core.Limits{core.CT: {Max: 2, Reserved: 1}}
	all := core.Limits{core.CT: {Max: 64, Reserved: 64}}
	short := engine.Fit{
		NICs:     []engine.NICFit{{NICs: "cxi[0-3]", Limits: few}},
		Warnings: []string{"NIC cxi[0-3]: cts: 1 reserved instead of 64"},
	}
	again, full := short, engine.Fit{NICs: []engine.NICFit{{NICs: "cxi[0-3]", Limits: all}}}
	nodes := []engine.NodeView{
		{Node: "n1", Fit: &short}, {Node: "n10", Fit: &again}, {Node: "n2", Fit: &short},
		{Node: "n3", Fit: &full}, {Node: "n4"},
	}
	type row struct {
		Nodes, NICs string
		CTs         [2]int
		Warnings    []string
	}
	var rows []row
	for _, g := range jobDetail(engine.View{}, nodes, true).Got {
		rows = append(rows, row{g.Nodes, g.NICs[0].NICs, g.NICs[0].Limits["cts"], g.Warnings})
	}
	want := []row{{"n[1-2,10]", "cxi[0-3]", [2]int{1, 2}, short.Warnings}, {"n3", "cxi[0-3]", [2]int{64, 64}, nil}}
	if d := cmp.Diff(want, rows); d != "" {
		t.Error(d)
	}
	if got := jobDetail(engine.View{}, nodes, false).Got; got != nil {
		t.Errorf("a stranger sees %v", got)
	}
}
