package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
			if got := w.m.node("n1").Drained; got != "" {
				t.Errorf("still drained: %q", got)
			}
			if done := all[Done](w.step(SetDrain{Node: "n1"}))[0]; done.Err != nil {
				t.Error(done.Err)
			}
			w.granted("n1", job("8", "n1"), app())
		})
	}
}

// A node that a person has drained shows its unknown services, too. To resume it is refused then.
func TestBothReasonsOfADrainedNode(t *testing.T) {
	few := core.Report{Changed: true, Devices: []string{"cxi0", "cxi1"}}
	many := few
	many.Unknown = []core.Service{strayService(vniRun(1024, 65)...)}
	crowd := crowdPrefix + "64 VNIs; remove them with `weft clean`"
	w := newWorld(t, 256, "n1")
	set := func(reason string) { w.step(SetDrain{Node: "n1", Reason: reason}) }
	for _, c := range []struct {
		name             string
		do               func()
		drained, trouble string
	}{
		{"a person's reason", func() { set("repair") }, "repair", ""},
		{"too many come", func() { w.more("n1", many) }, "repair", crowd},
		{"the person resumes it", func() { set("") }, crowd, crowd},
		{"the NICs cannot be read", func() { w.more("n1", core.Report{Changed: true, Fault: core.UnreadPrefix + "x"}) },
			core.UnreadPrefix + "x", core.UnreadPrefix + "x"},
		{"they can", func() { w.more("n1", many) }, crowd, crowd},
		{"its NICs are accepted", func() { w.step(Accept{Node: "n1"}) }, crowd, crowd},
		{"the services are gone", func() { w.more("n1", few) }, "", ""},
		{"too many come again", func() { w.more("n1", many) }, crowd, crowd},
		{"the bound is higher", func() { w.cfg.Rules.Unknown = 65; w.step(Configure{w.cfg}) }, "", ""},
	} {
		c.do()
		for n := range w.m.Nodes("") {
			if n.Drained != c.drained || n.Trouble != c.trouble {
				t.Errorf("%s: drained %q, trouble %q", c.name, n.Drained, n.Trouble)
			}
		}
		if done := all[Done](w.last); len(done) > 0 && (done[0].Err != nil) != (c.name == "the person resumes it") {
			t.Errorf("%s: %v", c.name, done[0].Err)
		}
	}
}

// The VNIs of a node beyond the bound were given to jobs. When it comes under the bound again, an alarm names both.
func TestVNIOfAJobIsHeldForAnUnknownService(t *testing.T) {
	w := newWorld(t, 66, "n2", "n3")
	w.begin("n1", core.Report{Unknown: []core.Service{strayService(vniRun(1024, 65)...)}})
	a, b := job("7", "n2"), job("8", "n3")
	shared := append(w.granted("n2", a, app()).VNIs, w.granted("n3", b, app()).VNIs...)
	few := core.Report{Changed: true, Devices: []string{"cxi0", "cxi1"}, Unknown: []core.Service{strayService(shared...)}}
	alarms := func(acts []Action) (texts []string) {
		for _, s := range all[Say](acts) {
			if s.Level == Alarm {
				texts = append(texts, fmt.Sprint(s.VNIs, s.Text))
			}
		}
		return texts
	}
	const also = "unknown services on n1 and job slurm/"
	want := []string{"[1024]" + also + "7 hold the same VNIs", "[1025]" + also + "8 hold the same VNIs"}
	if d := cmp.Diff(want, alarms(w.more("n1", few))); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	// It stays with the live job, and with the service when the job is over.
	w.granted("n2", a, app())
	w.final(a.Run)
	w.tell("n2", heldAs(core.HeldClean, a.Run))
	w.tick(time.Hour)
	w.want(a.Run, 0)
	if got := w.holders(shared[0]); len(got) != 1 || !got[0].Unknown {
		t.Errorf("%+v", got)
	}
	// A job that a node shows to hold the VNI of two others is named with both.
	w.tell("n2", heldAs(core.HeldReady, a.Run, shared...))
	want = []string{
		"[1025]job slurm/7 and job slurm/8 hold the same VNIs",
		"[1024 1025]job slurm/7 and unknown services on n1 hold the same VNIs",
	}
	if d := cmp.Diff(want, alarms(w.last)); d != "" {
		t.Errorf("-want +got\n%s", d)
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

// A node that hides its NICs in turn holds no more than the bound.
func TestHiddenServicesCount(t *testing.T) {
	w := newWorld(t, 256)
	w.begin("n1", core.Report{Unknown: []core.Service{strayService(vniRun(1024, 40)...)}})
	other := []core.Service{strayService(vniRun(1100, 40)...)}
	w.more("n1", core.Report{Changed: true, Devices: []string{"cxi1"}, Unknown: other})
	if got := w.m.Figures().Used["jobs"]; got != 40 || w.m.node("n1").Drained == "" {
		t.Errorf("%d VNIs are held, want 40; drained %q", got, w.m.node("n1").Drained)
	}
	w.more("n1", core.Report{Changed: true, Devices: []string{"cxi0", "cxi1"}})
	w.tick(time.Hour)
	if got := w.m.Figures().Used["jobs"]; got != 0 || w.m.node("n1").Drained != "" {
		t.Errorf("%d VNIs are held, want none; drained %q", got, w.m.node("n1").Drained)
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

// TestUnknownServicesAreNoJobs: a node that holds them and a job has one job.
func TestUnknownServicesAreNoJobs(t *testing.T) {
	w := newWorld(t, 256)
	w.begin("n1", core.Report{Unknown: []core.Service{strayService(1024)}})
	w.granted("n1", job("7", "n1"), app())
	for n := range w.m.Nodes("") {
		if n.Name == "n1" && (n.Jobs != 1 || w.m.Open("n1") != 2) {
			t.Errorf("%d jobs of %d reservations, want 1 of 2", n.Jobs, w.m.Open("n1"))
		}
	}
}

// TestUnknownServiceOfANICBeyondTheInventory: a NIC that came after the inventory was taken leaves again. Its service
// is out of sight and not gone. A server that starts again knows that, too.
func TestUnknownServiceOfANICBeyondTheInventory(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		w := newWorld(t, 256)
		one, both := []string{"cxi1"}, []string{"cxi0", "cxi1"}
		stray := []core.Service{strayService(1024)} // on cxi0
		w.begin("n1", core.Report{Devices: one})
		w.more("n1", core.Report{Changed: true, Devices: both, Unknown: stray})
		held := func(when string, want int) {
			t.Helper()
			w.tick(time.Hour)
			if got := w.m.Figures().Used["jobs"]; got != want {
				t.Errorf("restarted %v, %s: %d VNIs are held, want %d", restarted, when, got, want)
			}
		}
		held("the service is seen", 1)
		if restarted {
			w.restart()
			w.begin("n1", core.Report{Devices: one})
		} else {
			w.more("n1", core.Report{Changed: true, Devices: one})
		}
		held("its NIC is away", 1)
		w.more("n1", core.Report{Changed: true, Devices: both, Unknown: stray})
		held("its NIC is back", 1)
		w.more("n1", core.Report{Changed: true, Devices: both})
		held("the service is gone", 0)
		w.more("n1", core.Report{Changed: true, Devices: one})
		if got := w.m.nodes["n1"].Beyond; len(got) > 0 {
			t.Errorf("the node is still asked for %v", got)
		}
	}
}
