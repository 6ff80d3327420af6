package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// What a node holds and the store does not know is taken over: its VNIs are nobody else's, and the job goes its way.
func TestAdopt(t *testing.T) {
	w := newWorld(t, 4, "n1", "n2")
	run := job("7", "n[1-2]").Run
	held := heldAs(core.HeldReady, run, 1024, 1026)
	held.Services = []core.Service{{Device: "cxi0", ID: 3, Classes: core.BestEffort | core.LowLatency}, {Device: "cxi1", ID: 3, Classes: core.BestEffort | core.LowLatency}}
	w.attach("n1", held)
	w.attach("n2", heldAs(core.HeldReady, run, 1024, 1026))
	w.want(run, Active)
	v := w.views()[0]
	if v.Grant.Classes != core.BestEffort|core.LowLatency {
		t.Errorf("it is shown with the classes %v", v.Grant.Classes)
	}
	if len(w.views()) != 1 || !v.Adopted || v.Joined != 2 || v.VNIs[0].Pool != "jobs" {
		t.Fatalf("%+v", w.views())
	}
	for i, want := range []core.VNI{1027, 1025} {
		if g := w.granted("n1", job(string(rune('a'+i)), "n1"), app()); g.VNIs[0] != want {
			t.Errorf("granted %v, want %v", g.VNIs, want)
		}
	}
	w.refused("n1", job("c", "n1"), app(), core.PoolEmpty)
	w.pass(time.Second)
	w.complete(running(run))
	w.want(run, Active)
	w.final(run)
	w.tell("n1", heldAs(core.HeldClean, run))
	w.want(run, Draining)
	w.tell("n2", heldAs(core.HeldClean, run))
	w.want(run, Quarantined)
}

// A late node of an adopted job gets the job's VNIs, and the rest by what policy says now.
func TestAdoptThenJoin(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	j := job("7", "n[1-2]")
	w.attach("n1", heldAs(core.HeldReady, j.Run, 1050))
	g := w.granted("n2", j, app())
	if !slices.Equal(g.VNIs, []core.VNI{1050}) || g.Classes != core.BestEffort || g.Limits[core.TXQ].Reserved != 8 {
		t.Errorf("%+v", g)
	}
	d := app()
	d.Deny = core.Errorf(core.PolicyDenied, "no")
	w.attach("n3")
	j.Placements[0].Hosts = "n[1-3]"
	w.refused("n3", j, d, core.PolicyDenied)
	w.want(j.Run, Active)
}

// A run that is over cleans what a node still holds of it.
func TestAdoptOfEndedRun(t *testing.T) {
	w, run := draining(t)
	w.tell("n1", heldAs(core.HeldClean, run))
	w.tell("n2", heldAs(core.HeldClean, run))
	w.tick(time.Hour)
	w.want(run, 0)
	acts := w.attach("n3", heldAs(core.HeldReady, run, 1024))
	w.want(run, Draining)
	if len(cleans(acts, "n3")) == 0 {
		t.Errorf("%v", acts)
	}
	w.tell("n3", heldAs(core.HeldClean, run))
	w.want(run, Quarantined)
}

func TestNothingToAdopt(t *testing.T) {
	w := newWorld(t, 100, "n1")
	run := job("7", "n1").Run
	acts := w.attach("n1", heldAs(core.HeldClean, run), heldAs(core.HeldPreparing, job("8", "n1").Run))
	if len(w.views()) != 0 || len(forgets(acts, "n1")) != 1 {
		t.Errorf("%v, %v", w.views(), acts)
	}
}

// A node that was left out of the recovery comes back with another VNI than its job was granted anew: both are held, and only the granted one is given on.
func TestHeldWithOtherVNIs(t *testing.T) {
	w := newWorld(t, 2, "n1", "n2", "n3")
	j := job("7", "n[1-3]")
	g := w.granted("n1", j, app())
	other := core.VNI(1024 + 1025 - int(g.VNIs[0]))
	w.attach("n2", heldAs(core.HeldReady, j.Run, other))
	w.refused("n3", job("8", "n3"), app(), core.PoolEmpty)
	if late := w.granted("n3", j, app()); !slices.Equal(late.VNIs, g.VNIs) {
		t.Errorf("n3 gets %v, n1 got %v", late.VNIs, g.VNIs)
	}
	w.restart()
	for _, n := range []string{"n1", "n2", "n3"} {
		w.attach(n, heldAs(core.HeldReady, j.Run, g.VNIs...))
	}
	w.refused("n3", job("8", "n3"), app(), core.PoolEmpty)
	if got := w.holders(other); len(got) != 1 || got[0].Job.Run != j.Run {
		t.Errorf("%v", got)
	}
	w.pass(time.Second)
	w.final(j.Run)
	for _, n := range []string{"n1", "n2", "n3"} {
		w.tell(n, heldAs(core.HeldClean, j.Run))
	}
	w.tick(time.Hour)
	if got := w.m.Figures().Used["jobs"]; got != 0 {
		t.Errorf("%d are in use at the end", got)
	}
}

func strayService(vnis ...core.VNI) core.Service {
	return core.Service{Device: "cxi0", ID: 5, Owner: core.UID(1000), VNIs: vnis}
}

// Services that nobody recorded keep their VNIs from everybody until they are gone; nobody is ordered to remove them.
func TestUnknownServices(t *testing.T) {
	w := newWorld(t, 2)
	other := strayService(1025)
	other.Device, other.ID = "cxi1", 9
	acts := w.begin("n1", core.Report{Unknown: []core.Service{strayService(1025), other, strayService(200), strayService(1, 10)}})
	if v := w.views(); len(v) != 1 || !v[0].Unknown || v[0].State != Held {
		t.Fatalf("%+v", v)
	}
	if len(cleans(acts, "n1")) != 0 || len(cleans(w.tick(time.Hour), "n1")) != 0 {
		t.Error("ordered to clean what Weft did not make")
	}
	if g := w.granted("n1", job("7", "n1"), app()); g.VNIs[0] != 1024 {
		t.Fatalf("granted %v", g.VNIs)
	}
	w.refused("n1", job("8", "n1"), app(), core.PoolEmpty)
	w.restart()
	w.begin("n1", core.Report{Unknown: []core.Service{other}})
	if v := w.views(); len(v) != 2 || v[0].State != Held {
		t.Fatalf("%+v", v)
	}
	w.more("n1", core.Report{})
	if w.views()[0].State != Held {
		t.Fatal("a report that does not list services says nothing of them")
	}
	w.more("n1", core.Report{Changed: true, Devices: []string{"cxi0"}})
	if w.views()[0].State != Held {
		t.Fatal("what stands on a NIC that is away is not gone")
	}
	gone := core.Report{Changed: true, Devices: []string{"cxi0", "cxi1"}}
	w.more("n1", gone)
	if w.views()[0].State != Quarantined {
		t.Fatal("not in quarantine although it is gone")
	}
	there := gone
	there.Unknown = []core.Service{other}
	w.more("n1", there)
	if v := w.views(); v[0].State != Held || len(v) != 2 {
		t.Fatalf("%+v", v)
	}
	w.more("n1", gone)
	w.tick(time.Hour)
	if got := w.m.Figures().Used["jobs"]; got != 1 || len(w.views()) != 1 {
		t.Errorf("%d are in use, %v", got, w.views())
	}
}

// An unknown service that shares the VNI of a job: the VNI is free when both are gone.
func TestUnknownServiceWithAJobsVNI(t *testing.T) {
	w := newWorld(t, 1, "n1", "n2")
	j := job("7", "n1")
	g := w.granted("n1", j, app())
	w.begin("n2", core.Report{Unknown: []core.Service{strayService(g.VNIs...)}})
	if got := w.holders(g.VNIs[0]); len(got) != 2 {
		t.Fatalf("%d hold it", len(got))
	}
	w.pass(time.Second)
	w.final(j.Run)
	w.tell("n1", heldAs(core.HeldClean, j.Run))
	w.tick(time.Hour)
	w.want(j.Run, 0)
	w.refused("n1", job("8", "n1"), app(), core.PoolEmpty)
	w.reboot("n2")
	w.tick(time.Hour)
	w.granted("n1", job("9", "n1"), app())
}
