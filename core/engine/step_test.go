package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
)

// stepped is app with so many VNIs for steps.
func stepped(steps int) Decision {
	d := app()
	d.VNIs = append(d.VNIs, slices.Repeat([]Wanted{{"step", "jobs"}}, steps)...)
	d.Steps = uint8(steps)
	return d
}

// stepAsk is the prepare of a step with so many nodes, on a node of a job that is there.
func (w *world) stepAsk(node string, j core.Job, d Decision, step string, nodes int) (core.Grant, *core.Error) {
	w.t.Helper()
	in := w.ask(node, j)
	in.Ask.Step, in.Ask.StepNodes, in.Ask.Tells, in.Ask.Speaks = step, nodes, true, true
	acts := w.step(in)
	if described(acts, in.Call) {
		in.Said = &Said{Began: w.now.Uptime, Job: j, Decision: d}
		acts = append(slices.Clone(acts), w.step(in)...)
	}
	return w.outcome(acts, in.Call)
}

// drew is the VNI of a step; 0: it shares the job's.
func (w *world) drew(node string, j core.Job, d Decision, step string, nodes int) core.VNI {
	w.t.Helper()
	g, err := w.stepAsk(node, j, d, step, nodes)
	if err != nil || g.Drawn == nil {
		w.t.Fatalf("step %s on %s: %+v, %v", step, node, g.Drawn, err)
	}
	return g.Drawn.VNI
}

// ended is a node's word that steps are over there. It gives those that the node may forget.
func (w *world) ended(node string, run core.Run, steps ...string) (forget []string) {
	w.t.Helper()
	var rep core.Report
	for _, s := range steps {
		rep.Steps = append(rep.Steps, core.StepHeld{StepID: core.StepID{Run: run, Step: s}, Nodes: 1, Over: true})
	}
	for _, o := range all[Order](w.more(node, rep)) {
		for _, id := range o.Orders.Over {
			forget = append(forget, o.Node+" "+id.Step)
		}
	}
	return forget
}

func (w *world) live(run core.Run) string {
	var out []string
	for _, d := range w.m.Job(run.JobID)[0].Steps {
		out = append(out, fmt.Sprintf("%s:%d", d.Step, d.VNI))
	}
	return strings.Join(out, " ")
}

// TestStepsDrawVNIs: each has one of the job's, the same on all its nodes, until all of them say that it is over. None
// of this ever takes a VNI from the pool or gives one back.
func TestStepsDrawVNIs(t *testing.T) {
	w := newWorld(t, 8, "n1", "n2")
	j, d := job("7", "n[1-2]"), stepped(2)
	j.Placements[0].Nodes = 2
	if v := w.drew("n1", j, d, "0", 2); v != 1025 {
		t.Errorf("the first step has %d", v)
	}
	if v := w.drew("n2", j, d, "0", 2); v != 1025 {
		t.Errorf("on its second node the first step has %d", v)
	}
	if v := w.drew("n2", j, d, "1", 1); v != 1026 {
		t.Errorf("the second step has %d", v)
	}
	if got := w.ended("n1", j.Run, "0"); len(got) != 0 {
		t.Errorf("a step that lives on n2 is forgotten: %v", got)
	}
	if _, err := w.stepAsk("n1", j, d, "0", 2); err == nil || err.Reason != core.JobEnded {
		t.Errorf("a step that is over on the node: %v", err)
	}
	if got := w.ended("n1", j.Run, "0"); len(got) != 0 || w.live(j.Run) != "0:1025 1:1026" {
		t.Errorf("n1 says it twice: %v, %s", got, w.live(j.Run))
	}
	w.restart()
	w.attach("n1")
	w.attach("n2")
	if got := w.live(j.Run); got != "0:1025 1:1026" {
		t.Errorf("after a restart: %s", got)
	}
	w.ended("n2", j.Run, "0")
	if got := w.ended("n1", j.Run, "0"); !slices.Equal(got, []string{"n2 0", "n1 0"}) {
		t.Errorf("the last node's word has the nodes forget %v", got)
	}
	if v := w.drew("n1", j, d, "2", 1); v != 1025 {
		t.Errorf("the VNI that is back: %d", v)
	}
	w.ended("n2", j.Run, "1")
	w.ended("n1", j.Run, "2")
	if v := w.drew("n1", j, d, "3", 1); v != 1026 {
		t.Errorf("a VNI is used again as late as it can be, and the step has %d", v)
	}
	if got := w.m.Figures().Used["jobs"]; got != 3 {
		t.Errorf("the pool has given %d VNIs", got)
	}
}

// TestStepsBeyondTheDrawn: all nodes of a step share the job's VNI although one is free by then. The user gets one
// warning. Or Weft refuses all of them, and the job goes on.
func TestStepsBeyondTheDrawn(t *testing.T) {
	w := newWorld(t, 8, "n1", "n2")
	j, d := job("7", "n[1-2]"), stepped(1)
	j.Placements[0].Nodes = 2
	w.granted("n2", j, d)
	w.drew("n1", j, d, "0", 1)
	g, _ := w.stepAsk("n1", j, d, "1", 2)
	if g.Drawn.VNI != 0 || !strings.Contains(g.Drawn.Warning, "step 1 shares the job's VNI") {
		t.Errorf("a step beyond: %+v", g.Drawn)
	}
	w.ended("n1", j.Run, "0")
	if g, _ := w.stepAsk("n2", j, d, "1", 2); *g.Drawn != (core.Drawn{}) {
		t.Errorf("its second node: %+v", g.Drawn)
	}
	if g, _ := w.stepAsk("n2", j, d, "2", 0); g.Drawn.VNI != 0 {
		t.Errorf("a step whose nodes are not known has %d", g.Drawn.VNI)
	}
	if v := w.drew("n2", j, d, "3", 1); v != 1025 {
		t.Errorf("a new step has %d", v)
	}

	w = newWorld(t, 8, "n1", "n2")
	d.Beyond = BeyondRefuse
	w.granted("n2", j, d)
	w.drew("n1", j, d, "0", 1)
	for _, node := range []string{"n1", "n2"} {
		_, err := w.stepAsk(node, j, d, "1", 2)
		if err == nil || err.Reason != core.PolicyDenied || len(all[Fail](w.last)) > 0 {
			t.Errorf("a step beyond on %s: %v, and the scheduler is told %v", node, err, all[Fail](w.last))
		}
	}
	if got := w.live(j.Run); got != "0:1025" { // a node that has refused may have no record to tell
		t.Errorf("left of the refused step: %s", got)
	}
	w.ended("n1", j.Run, "0", "1")
	w.ended("n2", j.Run, "1")
	if got := w.live(j.Run); got != "" {
		t.Errorf("left of the steps: %s", got)
	}
	w.want(j.Run, Active)
}

// TestALostStoreLearnsOfSteps: nodes tell which VNIs their steps use, and no other step draws them.
func TestALostStoreLearnsOfSteps(t *testing.T) {
	w := newWorld(t, 8)
	j, d := job("7", "n1"), stepped(2)
	held := heldAs(core.HeldReady, j.Run, 1024, 1025, 1026)
	held.Steps = 2
	id := core.StepID{Run: j.Run, Step: "5"}
	w.begin("n1", core.Report{Held: []core.Held{held}, Steps: []core.StepHeld{{StepID: id, VNI: 1025, Nodes: 1}}})
	if v := w.drew("n1", j, d, "6", 1); v != 1026 {
		t.Errorf("beside a step that the store had lost, the next has %d", v)
	}
	w.ended("n1", j.Run, "5", "6")
	if got := w.live(j.Run); got != "" {
		t.Errorf("left of the steps: %s", got)
	}
}

// TestAStepPutsNoJobBack: where the scheduler does not answer for a step, its job, which runs, stays.
func TestAStepPutsNoJobBack(t *testing.T) {
	w := newWorld(t, 8, "n1")
	j := job("7", "n1")
	w.granted("n1", j, stepped(1))
	w.pass(DefaultRules.Fresh + 1)
	in := w.ask("n1", j)
	in.Ask.Step, in.Ask.StepNodes, in.Ask.Tells = "3", 1, true
	w.step(in)
	in.Said = &Said{Began: w.now.Uptime, Err: core.Errorf(core.SchedulerAway, "it does not answer")}
	if acts := w.step(in); len(all[Fail](acts)) > 0 || len(all[Refused](acts)) != 1 {
		t.Errorf("it did %v", acts)
	}
}

// TestTenThousandSteps: 64 at once, and nothing is left.
func TestTenThousandSteps(t *testing.T) {
	w := newWorld(t, 8, "n1")
	j, d := job("7", "n1"), stepped(3)
	users := map[core.VNI]int{}
	var open []string
	vnis := map[string]core.VNI{}
	for n := range 10_000 {
		step := fmt.Sprint(n)
		v := w.drew("n1", j, d, step, 1)
		if open, vnis[step] = append(open, step), v; v != 0 {
			if users[v]++; users[v] > 1 {
				t.Fatalf("step %s has VNI %d, which another live step has", step, v)
			}
		}
		if len(open) < 64 {
			continue
		}
		at := n * 7 % 64
		over := open[at]
		users[vnis[over]]--
		open = slices.Delete(open, at, at+1)
		if got := w.ended("n1", j.Run, over); !slices.Equal(got, []string{"n1 " + over}) {
			t.Fatalf("step %s ends: %v", over, got)
		}
	}
	w.ended("n1", j.Run, open...)
	if got := w.live(j.Run); got != "" || len(w.m.job(j.JobID)[0].steps.parts) > 0 {
		t.Errorf("left: %s", got)
	}
	if rec := w.store[Transition{Serial: 1}.Slot()].(Transition); len(rec.Steps) > 0 {
		t.Errorf("left in the store: %v", rec.Steps)
	}
	w.final(j.Run)
	w.tell("n1", heldAs(core.HeldClean, j.Run, 1024, 1025, 1026, 1027))
	w.tick(DefaultRules.Quarantine)
	if got := w.m.Figures().Used["jobs"]; got != 0 {
		t.Errorf("after the job's end the pool counts %d VNIs as taken", got)
	}
}

// TestStepsOfANodeThatIsGone: a node that rebooted, or holds nothing of the job any more, has no part of a step. Its
// steps end when their other nodes say so, also after the server's restart, and never sooner.
func TestStepsOfANodeThatIsGone(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		w := newWorld(t, 16, "n1", "n2", "n3")
		j, d := job("7", "n[1-3]"), stepped(3)
		j.Placements[0].Nodes = 3
		for _, n := range []string{"n1", "n2", "n3"} {
			w.granted(n, j, d)
		}
		w.drew("n1", j, d, "0", 2) // on n1 and n2
		w.drew("n2", j, d, "0", 2)
		w.drew("n2", j, d, "1", 2) // on n2 and n3
		w.drew("n3", j, d, "1", 2)
		w.drew("n2", j, d, "2", 1)
		if restarts {
			w.restart()
		}
		w.reboot("n2")
		if restarts { // n1 and n3 may have parts of any step until they have said which they have
			if got := w.live(j.Run); got != "0:1025 1:1026 2:1027" {
				t.Errorf("restarts: %v: before the others have told: %s", restarts, got)
			}
			has := func(step string, v core.VNI) core.Report {
				return core.Report{Steps: []core.StepHeld{{StepID: core.StepID{Run: j.Run, Step: step}, VNI: v, Nodes: 2}}}
			}
			w.begin("n1", has("0", 1025))
			w.begin("n3", has("1", 1026))
		}
		if got := w.live(j.Run); got != "0:1025 1:1026" {
			t.Errorf("restarts: %v: n2 has rebooted: %s", restarts, got)
		}
		if got := w.ended("n1", j.Run, "0"); !slices.Contains(got, "n1 0") || w.live(j.Run) != "1:1026" {
			t.Errorf("restarts: %v: step 0 is over on n1, too: %v, %s", restarts, got, w.live(j.Run))
		}
		w.ended("n3", j.Run, "1")
		if got := w.live(j.Run); got != "" {
			t.Errorf("restarts: %v: left of the steps: %s", restarts, got)
		}
	}
}

// TestDrawsAreAudited: who had a VNI when.
func TestDrawsAreAudited(t *testing.T) {
	w := newWorld(t, 8, "n1")
	j, d := job("7", "n1"), stepped(1)
	id := core.StepID{Run: j.Run, Step: "0"}
	w.drew("n1", j, d, "0", 1)
	if got := all[Drew](w.last); len(got) != 1 || got[0] != (Drew{id, "n1", 1025, false}) {
		t.Errorf("a step that begins: %+v", got)
	}
	w.drew("n1", j, d, "1", 1) // it shares
	if got := all[Drew](w.last); len(got) > 0 {
		t.Errorf("a step that shares: %+v", got)
	}
	w.ended("n1", j.Run, "0")
	if got := all[Drew](w.last); len(got) != 1 || got[0] != (Drew{id, "n1", 1025, true}) {
		t.Errorf("a step that ends: %+v", got)
	}
}
