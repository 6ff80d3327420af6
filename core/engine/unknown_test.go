package engine

import (
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// vniRun is n VNIs from first on.
func vniRun(first, n int) []core.VNI {
	out := make([]core.VNI, n)
	for i := range out {
		out[i] = core.VNI(first + i)
	}
	return out
}

// A node whose unknown services hold more than the bound is out of service alone: other nodes get those VNIs, and it
// comes back when they are gone.
func TestOneNodeCannotTakeThePool(t *testing.T) {
	few, more := strayService(vniRun(1024, 4)...), strayService(vniRun(1028, 62)...)
	for _, c := range []struct {
		name   string
		strays []core.Service
		left   int // VNIs that stay held
	}{
		{"one service with all", []core.Service{strayService(vniRun(1024, 256)...)}, 0},
		{"the small one is held", []core.Service{more, few}, 4},
		{"as many as the bound", []core.Service{strayService(vniRun(1024, 64)...)}, 64},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, 256)
			w.attach("n2")
			w.begin("n1", core.Report{Unknown: c.strays})
			crowded := c.left < 64
			if got := w.m.Figures().Used["jobs"]; got != c.left {
				t.Errorf("%d VNIs are held, want %d", got, c.left)
			}
			if got := w.m.node("n1").Drained; (got != "") != crowded {
				t.Errorf("drained: %q", got)
			}
			g := w.granted("n2", job("7", "n[1-2]"), app())
			if len(g.VNIs) == 0 {
				t.Fatal("the other node got nothing")
			}
			if !crowded {
				w.granted("n1", job("7", "n[1-2]"), app())
				return
			}
			w.refused("n1", job("7", "n[1-2]"), app(), core.NodeDrained)
			w.refused("n1", job("8", "n1"), app(), core.NodeDrained)
			if done := all[Done](w.step(SetDrain{Node: "n1"}))[0]; done.Err == nil {
				t.Error("resumed although the services are still there")
			}
			w.more("n1", core.Report{Changed: true, Devices: []string{"cxi0", "cxi1"}})
			if done := all[Done](w.step(SetDrain{Node: "n1"}))[0]; done.Err != nil {
				t.Error(done.Err)
			}
			w.granted("n1", job("8", "n1"), app())
		})
	}
}

// Weft gives back what an older release held of a node beyond the bound.
func TestHeldBeyondTheBoundIsGivenBack(t *testing.T) {
	w := newWorld(t, 256)
	w.cfg.Rules.Unknown = 256
	w.step(Configure{w.cfg})
	w.begin("n1", core.Report{Unknown: []core.Service{strayService(vniRun(1024, 256)...)}})
	if got := w.m.Figures().Used["jobs"]; got != 256 {
		t.Fatalf("%d VNIs are held", got)
	}
	w.cfg.Rules.Unknown = 64
	w.step(Configure{w.cfg})
	w.tick(time.Hour)
	if got := w.m.Figures().Used["jobs"]; got != 0 || w.m.node("n1").Drained == "" {
		t.Errorf("%d VNIs are held, drained %q", got, w.m.node("n1").Drained)
	}
}

// On its servers a data service's own service holds nothing; elsewhere, or with another VNI too, it is unknown.
func TestServiceOfADataServicesOwnServer(t *testing.T) {
	for _, c := range []struct {
		name, node string
		vnis       []core.VNI
		held       int
	}{
		{"on its server", "n1", vniRun(1024, 16), 0},
		{"elsewhere", "n2", vniRun(1024, 16), 16},
		{"with a VNI of none", "n1", append(vniRun(1024, 16), 7), 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, 16)
			w.begin(c.node, core.Report{Unknown: []core.Service{strayService(c.vnis...)}})
			if got := w.m.Figures().Used["jobs"]; got != 16 {
				t.Fatalf("%d VNIs are held before the server is declared", got)
			}
			w.cfg.Pools[0].Serves = func(node string) bool { return node == "n1" }
			w.step(Configure{w.cfg})
			w.tick(time.Hour)
			if got := w.m.Figures().Used["jobs"]; got != c.held {
				t.Errorf("%d VNIs are held, want %d", got, c.held)
			}
		})
	}
}
