package engine

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

// TestWhatNodesGave: the server knows what each NIC of a job really has, and why it is less, from the nodes' reports.
func TestWhatNodesGave(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2", "n3")
	j := job("7", "n[1-3]")
	j.Placements[0].Nodes = 3
	g := w.granted("n1", j, app())
	w.granted("n2", j, app())
	w.granted("n3", j, app())
	few, all := core.Limits{core.CT: {Max: 1, Reserved: 1}}, core.Limits{core.CT: {Max: 64, Reserved: 64}}
	held := func(limits ...core.Limits) core.Held {
		h := heldAs(core.HeldReady, j.Run, g.VNIs...)
		for i, l := range limits {
			h.Services = append(h.Services, core.Service{Device: fmt.Sprint("cxi", i), Limits: l})
			if l == few {
				h.Warnings = []string{"NIC cxi0: cts: 1 reserved instead of 64: the NIC has no more left"}
			}
		}
		return h
	}
	says := func() []*Fit {
		var out []*Fit
		for _, n := range w.m.NodesOf(w.m.Job(j.JobID)[0].Serial, 0, 10) {
			out = append(out, n.Fit)
		}
		return out
	}
	preparing := held(few)
	preparing.State = core.HeldPreparing
	w.tell("n1", preparing)
	if d := cmp.Diff([]*Fit{nil, nil, nil}, says()); d != "" {
		t.Error(d)
	}
	w.tell("n1", held(few, all, all))
	w.tell("n2", held(few, all, all))
	w.tell("n3", held(all, all, all))
	short := &Fit{NICs: []NICFit{{"cxi0", few}, {"cxi[1-2]", all}}, Warnings: held(few).Warnings}
	want := []*Fit{short, short, {NICs: []NICFit{{"cxi[0-2]", all}}}}
	got := says()
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got[0] != got[1] {
		t.Error("two nodes that say the same do not share it")
	}
	w.tell("n1", heldAs(core.HeldClean, j.Run))
	if d := cmp.Diff(want, says()); d != "" {
		t.Error("after the job's end:", d)
	}
	flood := held(all)
	flood.Warnings = make([]string, 2*maxWarnings)
	w.tell("n3", flood)
	if n := len(says()[2].Warnings); n != maxWarnings {
		t.Errorf("%d warnings of one node are kept", n)
	}
}
