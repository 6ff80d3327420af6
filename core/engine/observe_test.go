package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// observe has the jobs of slurm and flux observed, but for those within o.
func (w *world) observe(o Observed) {
	w.cfg.Observe = map[string]Observed{"slurm": o, "flux": {}}
	w.step(Configure{w.cfg})
}

// TestAnObservedJobGetsNothing and goes on. One that was served before keeps its VNIs.
func TestAnObservedJobGetsNothing(t *testing.T) {
	w := newWorld(t, 8, "n1", "n2", "n3")
	served := job("7", "n[1-2]")
	g := w.granted("n1", served, app())
	w.observe(Observed{})
	if again := w.granted("n2", served, app()); !slices.Equal(g.VNIs, again.VNIs) {
		t.Errorf("the other node of a job that is served has VNIs %v, not %v", again.VNIs, g.VNIs)
	}
	in := w.ask("n1", job("8", "n1"))
	acts := w.step(in)
	_, err := w.outcome(acts, in.Call)
	if err == nil || err.Reason != core.Observed || described(acts, in.Call) || len(all[Fail](acts)) > 0 {
		t.Errorf("an observed job: %v", acts)
	}
	w.final(served.Run)
	if got := cleans(w.last, "n1"); len(got) != 1 {
		t.Errorf("the end of a served job orders %v", got)
	}
}

// TestSomeAreServed: those that the server says are, whose options can be read.
func TestSomeAreServed(t *testing.T) {
	w := newWorld(t, 8, "n1", "n2", "n3")
	w.observe(Observed{Nodes: func(n string) bool { return n != "n3" }})
	w.granted("n1", job("7", "n[1-2]"), app())
	w.refused("n3", job("8", "n[1-3]"), app(), core.Observed)
	for _, said := range []Said{
		{Job: job("9", "n[1-3]"), Decision: app(), Observed: true},
		{Err: core.Errorf(core.BadRequest, "job 9: option x")},
	} {
		in := w.ask("n1", job("9", "n[1-3]"))
		in.Said = &said
		acts := w.step(in)
		if _, err := w.outcome(acts, in.Call); err == nil || err.Reason != core.Observed || len(all[Fail](acts)) > 0 {
			t.Errorf("%+v: %v", said, acts)
		}
	}
}

func TestServes(t *testing.T) {
	in := func(nodes ...string) func(string) bool {
		return func(n string) bool { return slices.Contains(nodes, n) }
	}
	debug := job("1", "n[1-2]")
	debug.Queue = "debug"
	for _, c := range []struct {
		o      Observed
		serves bool
		on     bool // n3
	}{
		{Observed{}, false, false},
		{Observed{Nodes: in("n1", "n2")}, true, false},
		{Observed{Nodes: in("n1", "n3")}, false, true},
		{Observed{Queues: []string{"batch", "debug"}}, true, true},
		{Observed{Queues: []string{"batch"}}, false, true},
		{Observed{Nodes: in("n1", "n2"), Queues: []string{"debug"}}, true, false},
		{Observed{Nodes: in("n1", "n2"), Queues: []string{"batch"}}, false, false},
		{Observed{Nodes: in("n1"), Queues: []string{"debug"}}, false, false},
	} {
		if c.o.Serves(debug) != c.serves || c.o.On("n3") != c.on {
			t.Errorf("%+v: serves %v, on n3 %v", c.o, c.o.Serves(debug), c.o.On("n3"))
		}
	}
}

// TestServicesOfAnotherManager: they are not adopted and take no node out of service, and no job gets their VNIs while
// they are seen.
func TestServicesOfAnotherManager(t *testing.T) {
	w := newWorld(t, 70, "n2")
	w.begin("n1", core.Report{Unknown: []core.Service{strayService(1024)}})
	w.observe(Observed{Nodes: func(n string) bool { return n == "n2" }})
	w.tick(time.Hour)
	many := core.Report{Changed: true, Devices: []string{"cxi0", "cxi1"}}
	many.Unknown = []core.Service{strayService(vniRun(1024, 69)...)}
	acts := w.more("n1", many)
	if n := len(all[Drain](acts)); n > 0 || w.m.node("n1").Drained != "" || len(w.views()) > 0 {
		t.Errorf("drains %d, %q, reservations %v", n, w.m.node("n1").Drained, w.views())
	}
	a, b := job("7", "n2"), job("8", "n2")
	if g := w.granted("n2", a, app()); g.VNIs[0] != 1093 {
		t.Errorf("granted %v, which another manager has", g.VNIs)
	}
	w.refused("n2", b, app(), core.PoolEmpty)
	many.Unknown = nil
	w.more("n1", many)
	w.granted("n2", b, app())
	many.Unknown = []core.Service{strayService(1093)}
	alarms := 0
	for _, s := range all[Say](w.more("n1", many)) {
		if s.Level == Alarm && s.Run == a.Run {
			alarms++
		}
	}
	if alarms != 1 {
		t.Errorf("%d alarms that a job's VNI was given twice", alarms)
	}
}

// TestAnObservedNodeIsNotDrained: the engine tells once why it would be.
func TestAnObservedNodeIsNotDrained(t *testing.T) {
	w := newWorld(t, 8, "n1", "n2")
	w.observe(Observed{Nodes: func(n string) bool { return n == "n2" }})
	fault := core.Report{Changed: true, Devices: []string{"cxi0"}, Fault: "NIC cxi1: it is gone"}
	for i, want := range []int{1, 0} {
		acts := w.more("n1", fault)
		if got := all[Spare](acts); len(got) != want || len(all[Drain](acts)) > 0 || w.m.node("n1").Drained != "" {
			t.Errorf("report %d: %v, drained %q", i, acts, w.m.node("n1").Drained)
		}
	}
	if acts := w.more("n2", fault); len(all[Drain](acts)) != 1 {
		t.Errorf("a node whose jobs are served: %v", acts)
	}
	if w.step(SetDrain{Node: "n1", Reason: "repair", By: "root"}); w.m.node("n1").Drained != "repair" {
		t.Error("an operator's word counts for nothing")
	}
}

// A server that starts shows each scheduler the newest grants, no more than can wait.
func TestNewestGrants(t *testing.T) {
	w := newWorld(t, 8, "n1")
	for i, scheduler := range []string{"flux", "slurm", "slurm", "flux", "slurm"} {
		j := job(fmt.Sprint(i), "n1")
		j.Scheduler = scheduler
		w.granted("n1", j, app())
	}
	got := []string{}
	for _, g := range w.m.Grants(start.Wall, 2) {
		got = append(got, g.Key.Scheduler+"/"+g.Key.Job)
	}
	if want := []string{"flux/0", "slurm/2", "flux/3", "slurm/4"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
