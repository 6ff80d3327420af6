package engine

import (
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

func done(t *testing.T, acts []Action) Done {
	t.Helper()
	d := all[Done](acts)
	if len(d) != 1 {
		t.Fatalf("an operator's call ended %d times: %v", len(d), acts)
	}
	return d[0]
}

// Forget ends a job and writes off the nodes that cannot speak; its quarantine is as any.
func TestForget(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	j := job("7", "n[1-2]")
	w.granted("n1", j, app())
	w.granted("n2", j, app())
	if d := done(t, w.step(Forget{Call: 1, Job: core.JobID{Scheduler: "slurm", Job: "8"}})); d.Err == nil || d.Err.Reason != core.NotThere {
		t.Errorf("%+v", d)
	}
	w.detach("n1")
	w.detach("n2")
	if d := done(t, w.step(Forget{Call: 2, Job: j.JobID})); d.Err != nil || d.Count != 1 || d.Call != 2 {
		t.Errorf("%+v", d)
	}
	w.want(j.Run, Quarantined)
	w.tick(time.Minute - 1)
	w.want(j.Run, Quarantined)
	w.tick(1)
	w.want(j.Run, 0)
}

func TestForgetOfHeld(t *testing.T) {
	w, run := draining(t)
	w.tell("n1", heldAs(core.HeldClean, run))
	w.detach("n2")
	w.tick(time.Hour)
	w.want(run, Held)
	if d := done(t, w.step(Forget{Call: 3, Serial: 99})); d.Err == nil || d.Err.What != "reservation 99: nothing is held for it any more" {
		t.Errorf("%v", d.Err)
	}
	done(t, w.step(Forget{Call: 1, Serial: w.views()[0].Serial}))
	w.want(run, Quarantined)
	// The node comes back with it all the same.
	if acts := w.attach("n2", heldAs(core.HeldReady, run, 1024)); len(cleans(acts, "n2")) == 0 {
		t.Errorf("%v", acts)
	}
	w.want(run, Draining)
}

// Nobody's word removes a service: while a node is in contact and shows it, it is held.
func TestForgetOfAnUnknownService(t *testing.T) {
	w := newWorld(t, 8)
	w.begin("n1", core.Report{Unknown: []core.Service{strayService(1024)}})
	serial := w.views()[0].Serial
	if d := done(t, w.step(Forget{Call: 1, Serial: serial})); d.Err == nil || d.Err.Reason != core.NotAllowed {
		t.Errorf("%v", d)
	}
	if v := w.views(); len(v) != 1 || v[0].State != Held || v[0].Unclean != 1 {
		t.Errorf("it is not held any more: %+v", v)
	}
}

// A resize leaves live reservations their VNIs; what lies outside stays held and is not given again.
func TestConfigureResizes(t *testing.T) {
	w := newWorld(t, 4, "n1")
	j := job("7", "n1")
	g := w.granted("n1", j, app())
	w.pools[0].Ranges[0].First, w.pools[0].Ranges[0].Last = 2000, 2001
	if err := w.alloc.Resize(w.pools); err != nil {
		t.Fatal(err)
	}
	w.step(Configure{w.cfg})
	if h := w.holders(g.VNIs[0]); len(h) != 1 {
		t.Errorf("%v", h)
	}
	w.restart()
	w.attach("n1")
	for _, id := range []string{"a", "b"} {
		if v := w.granted("n1", job(id, "n1"), app()).VNIs[0]; v < 2000 {
			t.Errorf("granted %d", v)
		}
	}
	w.refused("n1", job("c", "n1"), app(), core.PoolEmpty)
	w.pools[0].Ranges[0].First, w.pools[0].Ranges[0].Last = 1024, 1024
	w.restart()
	w.attach("n1")
	w.refused("n1", job("c", "n1"), app(), core.PoolEmpty)
	w.pass(time.Second)
	w.final(j.Run)
	w.tell("n1", heldAs(core.HeldClean, j.Run))
	w.tick(time.Hour)
	if v := w.granted("n1", job("c", "n1"), app()).VNIs[0]; v != 1024 {
		t.Errorf("granted %d", v)
	}
}

// Without its scheduler a job is neither joined nor freed, until the scheduler is back or an administrator says so.
func TestConfigureTakesASchedulerOut(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	j := job("7", "n[1-2]")
	w.granted("n1", j, app())
	w.cfg.Schedulers = []string{"flux"}
	w.step(Configure{w.cfg})
	w.pass(time.Second)
	w.final(j.Run)
	w.want(j.Run, Active)
	w.refused("n2", j, app(), core.BadCall)
	w.restart()
	w.attach("n1")
	w.want(j.Run, Active)
	w.cfg.Schedulers = []string{"flux", "slurm"}
	w.step(Configure{w.cfg})
	w.pass(time.Second)
	w.final(j.Run)
	w.want(j.Run, Draining)
}

// The store keeps the text of each policy that a live reservation names, and no other.
func TestPolicyTexts(t *testing.T) {
	w := newWorld(t, 100, "n1")
	texts := func(want ...string) {
		t.Helper()
		n := 0
		for s := range w.store {
			if s.Table == TableText {
				n++
			}
		}
		for _, h := range want {
			if _, ok := w.store[Text{Hash: h}.Slot()]; !ok {
				t.Errorf("the text of %s is missing", h)
			}
		}
		if n != len(want) {
			t.Errorf("%d texts are kept, want %v", n, want)
		}
	}
	texts()
	a, b := job("a", "n1"), job("b", "n1")
	w.granted("n1", a, app())
	texts("p1")
	w.cfg.Policy = Text{"p2", "vnis = []"}
	w.step(Configure{w.cfg})
	next := app()
	next.Policy = "p2"
	w.granted("n1", b, next)
	texts("p1", "p2")
	w.restart()
	w.attach("n1")
	w.pass(time.Second)
	w.final(a.Run)
	w.tell("n1", heldAs(core.HeldClean, a.Run))
	w.tick(time.Hour)
	texts("p2")
	// Decided by the policy before, while the new one came in.
	w.cfg.Policy = Text{"p3", "vnis = []"}
	w.step(Configure{w.cfg})
	w.pass(time.Second)
	w.final(b.Run)
	w.tell("n1", heldAs(core.HeldClean, b.Run))
	w.tick(time.Hour)
	texts()
	// And two came in meanwhile.
	w.by = Text{"p2", "vnis = []"}
	w.cfg.Policy = Text{"p4", "vnis = [] "}
	w.step(Configure{w.cfg})
	w.granted("n1", job("c", "n1"), next)
	texts("p2")
	if got := w.m.Text("p2"); got != w.by.Text {
		t.Errorf("the text of p2 is %q", got)
	}
	w.restart()
	texts("p2")
	if got := w.m.Text("p2"); got != w.by.Text {
		t.Errorf("after a restart the text of p2 is %q", got)
	}
}

func TestTombstonesAreBounded(t *testing.T) {
	w := newWorld(t, 10, "n1")
	stones := []Record{}
	for i := range uint64(MaxTombstones) {
		run := job("t", "n1").Run
		run.Submitted = int64(i)
		stones = append(stones, Tombstone{i + 1, run})
	}
	for _, s := range stones {
		w.store[s.Slot()] = s
	}
	meta := w.store[Meta{}.Slot()].(Meta)
	meta.Serial = MaxTombstones
	w.store[Slot{Table: TableMeta}] = meta
	w.restart()
	w.attach("n1")
	j := job("7", "n1")
	w.granted("n1", j, app())
	w.pass(time.Second)
	w.final(j.Run)
	w.tell("n1", heldAs(core.HeldClean, j.Run))
	w.tick(time.Hour)
	n := 0
	for s := range w.store {
		if s.Table == TableTombstone {
			n++
		}
	}
	if _, oldest := w.store[stones[0].Slot()]; n != MaxTombstones || oldest || len(w.m.ended) != MaxTombstones || !w.m.isEnded(j.Run) {
		t.Errorf("%d are in the store, %d in memory, the oldest: %v", n, len(w.m.ended), oldest)
	}
}

// What was given last is given again last, across a restart too; an adopted VNI does not change that.
func TestCursorAcrossRestart(t *testing.T) {
	w := newWorld(t, 10, "n1")
	for _, id := range []string{"a", "b", "c"} {
		j := job(id, "n1")
		w.granted("n1", j, app())
		if id == "a" {
			continue
		}
		w.pass(time.Second)
		w.final(j.Run)
		w.tell("n1", heldAs(core.HeldClean, j.Run))
		w.tick(time.Hour)
	}
	w.restart()
	w.attach("n1", heldAs(core.HeldReady, job("z", "n1").Run, 1033))
	w.restart()
	w.attach("n1", heldAs(core.HeldReady, job("z", "n1").Run, 1033))
	if v := w.granted("n1", job("d", "n1"), app()).VNIs[0]; v != 1027 {
		t.Errorf("granted %d, want 1027: 1024 to 1026 were given before", v)
	}
}

// TestJobByItsShortID: PBS's commands take 1017 for 1017.pbs1. A job of another scheduler with that whole id comes first.
func TestJobByItsShortID(t *testing.T) {
	w := newWorld(t, 100, "n1")
	for _, id := range []string{"1017.pbs1", "12[3].pbs1", "18.pbs1", "18"} {
		w.granted("n1", job(id, "n1"), app())
	}
	scheduler := job("18", "n1").Scheduler
	for id, want := range map[string]string{"1017": "1017.pbs1", "12[3]": "12[3].pbs1", "18": "18", "12": "", "101": ""} {
		got := ""
		for _, v := range w.m.Job(core.JobID{Scheduler: scheduler, Job: id}) {
			got += v.Job.Job
		}
		if got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}
