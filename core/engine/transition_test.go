package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// draining is a world in which slurm/7 of n1 and n2 is over.
func draining(t *testing.T) (*world, core.Run) {
	w := newWorld(t, 100, "n1", "n2", "n3")
	j := job("7", "n[1-2]")
	w.granted("n1", j, app())
	w.granted("n2", j, app())
	w.pass(time.Second)
	acts := w.final(j.Run)
	for _, n := range []string{"n1", "n2"} {
		if got := cleans(acts, n); len(got) != 1 || got[0] != j.Run {
			t.Fatalf("%s is ordered to clean %v", n, got)
		}
	}
	return w, j.Run
}

// A VNI returns to its pool only when every node that joined is clean and the quarantine is over.
func TestDrainToFree(t *testing.T) {
	w, run := draining(t)
	w.want(run, Draining)
	acts := w.tell("n1", heldAs(core.HeldClean, run))
	if got := forgets(acts, "n1"); len(got) != 1 {
		t.Errorf("n1 may not forget: %v", acts)
	}
	w.tell("n3", heldAs(core.HeldClean, run)) // it never joined
	w.want(run, Draining)
	w.tick(time.Hour)
	w.want(run, Draining)
	w.tell("n2", heldAs(core.HeldClean, run))
	w.want(run, Quarantined)
	w.tick(time.Minute - 1)
	w.want(run, Quarantined)
	if got := w.m.Figures().Used["jobs"]; got != 1 {
		t.Errorf("%d VNIs are in use during the quarantine", got)
	}
	w.now.Wall = w.now.Wall.Add(-1000 * time.Hour) // a jump of the clock changes nothing
	w.tick(1)
	w.want(run, 0)
	if got := w.m.Figures().Used["jobs"]; got != 0 {
		t.Errorf("%d VNIs are in use after all", got)
	}
	w.pass(1)
	w.refused("n1", job("7", "n[1-2]"), app(), core.JobRelaunch)
	w.restart()
	w.attach("n1")
	w.pass(time.Second)
	w.refused("n1", job("7", "n[1-2]"), app(), core.JobRelaunch)
}

// Nothing joins a job that is over, whatever the scheduler says by then. What it says after the end puts the job back
// into the queue; what it said before counts for nothing.
func TestNobodyJoinsWhatIsOver(t *testing.T) {
	w, run := draining(t)
	late := job("7", "n[1-3]")
	in := w.ask("n3", late)
	w.step(in)
	in.Said = &Said{Began: w.now.Uptime, Job: late, Decision: app()}
	if acts := w.step(in); !described(acts, in.Call) || len(all[Refused](acts)) > 0 {
		t.Errorf("an answer as old as the end: %v", acts)
	}
	w.pass(1)
	in.Said.Began = w.now.Uptime
	if got := all[Fail](w.step(in)); len(got) != 1 || got[0].Key != run.Key || !got[0].Again {
		t.Errorf("the scheduler is told %+v", got)
	}
	w.refused("n1", late, app(), core.JobRelaunch)
	w.tell("n1", heldAs(core.HeldClean, run))
	w.detach("n2")
	w.tick(DefaultRules.Away)
	w.want(run, Held)
	w.pass(1)
	w.refused("n3", late, app(), core.JobRelaunch)
	w.reboot("n2")
	w.want(run, Quarantined)
	w.pass(1)
	w.refused("n3", late, app(), core.JobRelaunch)
}

// graves are the runs that are over, by serial.
func (m *Machine) graves() map[core.Run]uint64 {
	out := map[core.Run]uint64{}
	for run, g := range m.ended {
		out[run] = g.serial
	}
	return out
}

func TestQuarantineAgainAfterRestart(t *testing.T) {
	w, run := draining(t)
	w.tell("n1", heldAs(core.HeldClean, run))
	w.tell("n2", heldAs(core.HeldClean, run))
	w.tick(time.Minute - 1)
	w.restart()
	w.tick(time.Minute - 1)
	w.want(run, Quarantined)
	w.tick(1)
	w.want(run, 0)
}

// The longest quarantine of its pools counts, and that of no pool for VNIs whose pool is gone.
func TestQuarantineOfPools(t *testing.T) {
	w, run := draining(t)
	w.cfg.Rules.Quarantine = 2 * time.Minute
	w.cfg.Pools = nil
	w.step(Configure{w.cfg})
	w.tell("n1", heldAs(core.HeldClean, run))
	w.tell("n2", heldAs(core.HeldClean, run))
	w.tick(2*time.Minute - 1)
	w.want(run, Quarantined)
	w.tick(1)
	w.want(run, 0)
}

// Orders are repeated, at first contact and then, for nodes that are not clean.
func TestOrdersAreRepeated(t *testing.T) {
	w, run := draining(t)
	w.tell("n1", heldAs(core.HeldClean, run))
	if acts := w.tick(DefaultRules.Repeat - time.Second); len(cleans(acts, "n2")) != 0 {
		t.Error("repeated too soon")
	}
	acts := w.tick(time.Second)
	if len(cleans(acts, "n1")) != 0 || len(cleans(acts, "n2")) != 1 {
		t.Errorf("%v", acts)
	}
	w.detach("n2")
	if acts := w.tick(DefaultRules.Repeat); len(cleans(acts, "n2")) != 0 {
		t.Error("an order to a node that is away")
	}
	if acts := w.attach("n2", heldAs(core.HeldReady, run, 1024)); len(cleans(acts, "n2")) != 1 {
		t.Errorf("the first orders of a session: %v", acts)
	}
	if acts := w.tell("n2", heldAs(core.HeldReady, run, 1024)); len(cleans(acts, "n2")) != 1 {
		t.Errorf("a node that says ready must be told: %v", acts)
	}
	w.restart()
	if acts := w.attach("n2"); len(cleans(acts, "n2")) != 1 {
		t.Errorf("after a restart: %v", acts)
	}
}

// An order names the VNIs, so that a node whose record is lost can see whether its NICs are clean.
func TestOrdersNameVNIs(t *testing.T) {
	w, run := draining(t)
	for _, o := range all[Order](w.attach("n2")) {
		if c := o.Orders.Clean; len(c) != 1 || !slices.Equal(c[0].VNIs, []core.VNI{1024}) || c[0].Run != run || o.Session != w.session {
			t.Errorf("%+v", o)
		}
	}
}

func TestHeldByAwayNode(t *testing.T) {
	w, run := draining(t)
	w.tell("n1", heldAs(core.HeldClean, run))
	w.detach("n2")
	w.tick(DefaultRules.Away - 1)
	w.want(run, Draining)
	w.tick(1)
	w.want(run, Held)
	if why := w.views()[0].Why; !strings.Contains(why, "out of contact: n2") {
		t.Errorf("it waits for %q", why)
	}
	n := len(w.store)
	w.tick(time.Hour)
	if len(w.written) != 0 || len(w.store) != n {
		t.Errorf("nothing happened and %v was written", w.written)
	}
	w.attach("n2", heldAs(core.HeldCleaning, run, 1024))
	w.want(run, Draining)
	w.tell("n2", heldAs(core.HeldClean, run))
	w.want(run, Quarantined)
}

func TestHeldByBusyNode(t *testing.T) {
	w, run := draining(t)
	busy := heldAs(core.HeldBusy, run, 1024)
	w.tell("n1", heldAs(core.HeldClean, run))
	w.tell("n2", busy)
	w.tick(DefaultRules.Busy - 1)
	w.tell("n2", busy)
	w.want(run, Draining)
	w.tick(1)
	w.want(run, Held)
	if why := w.views()[0].Why; why != "busy: n2" {
		t.Errorf("it waits for %q", why)
	}
	w.detach("n2") // a moment out of contact is no news
	w.tick(time.Second)
	w.want(run, Held)
	w.attach("n2", busy)
	w.want(run, Held)
	w.tell("n2", heldAs(core.HeldCleaning, run, 1024))
	w.want(run, Draining)
}

// A restart leaves what was held as it was until the nodes have spoken.
func TestHeldAcrossRestart(t *testing.T) {
	w, run := draining(t)
	w.tell("n1", heldAs(core.HeldClean, run))
	w.tell("n2", heldAs(core.HeldBusy, run, 1024))
	w.tick(DefaultRules.Busy)
	w.restart()
	w.tick(time.Second)
	w.want(run, Held)
	w.attach("n2", heldAs(core.HeldBusy, run, 1024))
	w.want(run, Held)
	w.restart()
	w.attach("n2")
	w.want(run, Draining)
	w.reboot("n2")
	w.want(run, Quarantined)
}

// A loss of contact while the job is active counts from its beginning.
func TestHeldAtOnceWhenLongAway(t *testing.T) {
	w := newWorld(t, 100, "n1")
	j := job("7", "n1")
	w.granted("n1", j, app())
	w.detach("n1")
	w.tick(time.Hour)
	w.want(j.Run, Active)
	w.final(j.Run)
	w.want(j.Run, Held)
}

// A node that turns out to hold a run after it was clean takes it out of quarantine.
func TestQuarantineEndsWhenANodeStillHolds(t *testing.T) {
	w, run := draining(t)
	w.tell("n1", heldAs(core.HeldClean, run))
	w.tell("n2", heldAs(core.HeldClean, run))
	w.want(run, Quarantined)
	acts := w.attach("n1", heldAs(core.HeldReady, run, 1024))
	w.want(run, Draining)
	if len(cleans(acts, "n1")) != 1 {
		t.Errorf("%v", acts)
	}
	w.tick(time.Hour)
	w.want(run, Draining)
}

func TestManyQuarantinesEndInTurn(t *testing.T) {
	w := newWorld(t, maxFreed+10, "n1")
	for i := range maxFreed + 10 {
		j := job(time.Duration(i).String(), "n1")
		in := w.ask("n1", j)
		in.Said = &Said{Began: w.now.Uptime, Job: j, Decision: app()}
		w.m.Step(w.now, in)
	}
	w.pass(time.Second)
	for _, r := range w.m.serials {
		w.m.Step(w.now, Answer{Scheduler: "slurm", Began: w.now.Uptime, Jobs: core.Jobs{Jobs: []core.JobStatus{{Run: r.Job.Run, State: core.JobFinal}}}})
	}
	w.boots["n1"] = "n1-boot2"
	w.m.Step(w.now, Report{"n1", 99, core.Report{Number: 1, Full: true, Boot: "n1-boot2"}})
	w.pass(time.Hour)
	w.m.Step(w.now, Tick{})
	if got := w.m.Figures().Used["jobs"]; got != 10 {
		t.Errorf("%d are left after one tick, want 10", got)
	}
	w.m.Step(w.now, Tick{})
	if got := w.m.Figures().Used["jobs"]; got != 0 {
		t.Errorf("%d are left after two ticks", got)
	}
}

// The longest quarantine of a job's pools counts to its last moment, in whatever order the job has them.
func TestQuarantineOfUnlikePools(t *testing.T) {
	for _, pools := range [][]string{{"jobs"}, {"slow"}, {"fast"}, {"slow", "jobs"}, {"jobs", "slow"}, {"fast", "slow", "jobs"}, {"slow", "fast"}} {
		t.Run(strings.Join(pools, ","), func(t *testing.T) {
			w := newWorld(t, 7)
			w.usePools(modelPools)
			w.attach("n1")
			d, longest := app(), time.Duration(0)
			d.VNIs = nil
			for _, p := range modelPools {
				if slices.Contains(pools, p.name) {
					longest = max(longest, p.quarantine)
				}
			}
			for _, p := range pools {
				d.VNIs = append(d.VNIs, Wanted{p, p})
			}
			j := job("7", "n1")
			w.granted("n1", j, d)
			w.final(j.Run)
			w.tell("n1", heldAs(core.HeldClean, j.Run))
			if longest > 0 {
				w.tick(longest - 1)
				w.want(j.Run, Quarantined)
			}
			w.tick(1)
			w.want(j.Run, 0)
		})
	}
}
