package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

// show has a scheduler show drains, by a question that begins now, and gives what Weft does to a scheduler.
func (w *world) show(scheduler string, shown map[string]core.Drain) (done []string) {
	w.t.Helper()
	w.pass(time.Second)
	for _, a := range w.step(Drained{Scheduler: scheduler, Asked: w.now.Uptime, Shown: shown, Hooks: w.hooks}) {
		switch a := a.(type) {
		case Drain:
			done = append(done, fmt.Sprintf("drain %s in %q: %s", a.Node, a.Scheduler, a.Reason))
		case Resume:
			done = append(done, fmt.Sprintf("resume %s in %q", a.Node, a.Scheduler))
		}
	}
	return done
}

// TestDrainsAgree: Weft and a scheduler come to one state, and the newest word of a person counts in either.
func TestDrainsAgree(t *testing.T) {
	shows := func(reason string) map[string]core.Drain {
		return map[string]core.Drain{"n1": {Reason: reason, By: "ann"}}
	}
	none, ours := map[string]core.Drain{}, shows("weft: fan")
	drained := SetDrain{Call: 1, Node: "n1", Reason: "fan", By: "root"}
	resumed := SetDrain{Call: 2, Node: "n1"}
	type step struct {
		again bool                  // the server is started again before
		away  bool                  // the agent goes before
		in    Input                 // first
		shown map[string]core.Drain // then; nil: the scheduler does not answer
		does  []string
		why   string // the node is drained then
	}
	again := []string{`drain n1 in "slurm": fan`}
	back := []string{`resume n1 in ""`}
	unread := core.UnreadPrefix + "EIO"
	for name, steps := range map[string][]step{
		"drained and resumed in Weft": {{in: drained, shown: ours, why: "fan"}, {in: resumed, shown: none}},
		"resumed in the scheduler":    {{in: drained, shown: ours, why: "fan"}, {shown: none, does: back}},
		"the scheduler missed the drain": {
			{in: drained, shown: none, why: "fan", does: again}, {shown: ours, why: "fan"},
		},
		"the scheduler missed it twice": {
			{in: drained, shown: none, why: "fan", does: again}, {shown: none, why: "fan", does: again},
		},
		"the scheduler was away": {
			{in: drained, shown: none, why: "fan", does: again}, {why: "fan"}, {shown: none, why: "fan", does: again},
		},
		"the scheduler missed the resume": {
			{in: drained, shown: ours, why: "fan"}, {in: resumed, shown: ours, does: []string{`resume n1 in "slurm"`}},
			{shown: none},
		},
		"another's reason stays": {
			{in: drained, shown: shows("memory"), why: "fan"}, {in: resumed, shown: shows("memory")}, {shown: none},
		},
		"another's reason in place of ours": {
			{in: drained, shown: ours, why: "fan"}, {shown: shows("memory"), why: "fan"}, {shown: none, why: "fan", does: again},
		},
		"resumed in the scheduler while the server was down": {
			{in: drained, shown: ours, why: "fan"}, {again: true, shown: none, does: back},
		},
		"the scheduler missed the resume, and the server began again": {
			{in: drained, shown: ours, why: "fan"}, {in: resumed},
			{again: true, shown: ours, does: []string{`resume n1 in "slurm"`}}, {shown: none},
		},
		"the scheduler missed the drain, and the server began again": {
			{in: drained, why: "fan"}, {again: true, shown: none, why: "fan", does: again}, {shown: ours, why: "fan"},
		},
		"drained by a hook while the server was down": {
			{in: drained, shown: ours, why: "fan"}, {in: resumed, shown: none},
			{again: true, shown: shows("weft: no answer"), why: "no answer", does: []string{`drain n1 in "": no answer`}},
		},
		"another's reason ends before": {
			{in: drained, shown: shows("memory"), why: "fan"}, {shown: none, why: "fan", does: again},
		},
		"drained by a hook in the scheduler": {
			{shown: shows("weft: no answer"), why: "no answer", does: []string{`drain n1 in "": no answer`}},
			{shown: none, does: back},
		},
		"an old drain that ends by itself": {{shown: shows("weft: " + unread), does: []string{`resume n1 in "slurm"`}}},
		"one that nobody knows to be over": {
			{away: true, shown: shows("weft: " + unread), why: unread, does: []string{`drain n1 in "": ` + unread}},
		},
		"unread, resumed in the scheduler": {
			{in: unreadBy("n1"), shown: shows("weft: " + unread), why: unread},
			{shown: none, why: unread, does: []string{`drain n1 in "": ` + unread}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 100, "n1")
			for i, s := range steps {
				if s.again {
					w.restart()
					w.attach("n1")
				}
				if s.away {
					w.detach("n1")
				}
				switch in := s.in.(type) {
				case nil:
				case Report:
					w.more("n1", in.Report)
				default:
					w.step(in)
				}
				if diff := cmp.Diff(s.does, w.show("slurm", s.shown)); diff != "" {
					t.Errorf("step %d: %s", i, diff)
				}
				n := w.m.nodes["n1"]
				if n.Drained != s.why || n.DrainedAt.IsZero() != (s.why == "") {
					t.Errorf("step %d: drained for %q since %v, want %q", i, n.Drained, n.DrainedAt, s.why)
				}
			}
		})
	}
}

func unreadBy(node string) Input {
	return Report{Node: node, Report: core.Report{Changed: true, Fault: core.UnreadPrefix + "EIO"}}
}

// TestAnAbsentAgentExplains: a scheduler that drained a node since a hook failed hears that the agent was away, if it
// was so at that time. Weft drains no node for it, and its resume ends the scheduler's drain.
func TestAnAbsentAgentExplains(t *testing.T) {
	w := newWorld(t, 4, "n1")
	absence := core.Unanswered{Scheduler: "slurm", Why: "prolog of job 7", From: 1000, Until: 1100}
	w.attach("n1")
	later := core.Report{Unanswered: []core.Unanswered{absence}}
	w.step(Report{Node: "n1", Session: w.m.nodes["n1"].session, Report: later})
	own := core.Drain{Reason: "Prolog error", By: "root", Since: 1090}
	late := own
	late.Since = 1100 + drainSlack + 1
	w.hooks = map[string]bool{"n1": true}
	if does := w.show("slurm", map[string]core.Drain{"n1": late}); len(does) > 0 {
		t.Errorf("a later drain: %v", does)
	}
	if does := w.show("flux", map[string]core.Drain{"n1": own}); len(does) > 0 {
		t.Errorf("another scheduler's drain: %v", does)
	}
	why := core.AwayPrefix + "prolog of job 7"
	told := w.show("slurm", map[string]core.Drain{"n1": own})
	if diff := cmp.Diff([]string{`drain n1 in "slurm": ` + why}, told); diff != "" {
		t.Error(diff)
	}
	w.hooks = nil
	if does := w.show("slurm", map[string]core.Drain{"n1": own}); len(does) > 0 {
		t.Errorf("a person's drain: %v", does)
	}
	own.Reason = core.DrainPrefix + why
	if does := w.show("slurm", map[string]core.Drain{"n1": own}); len(does) > 0 || w.m.nodes["n1"].Drained != "" {
		t.Errorf("when it is told: %v, drained: %q", does, w.m.nodes["n1"].Drained)
	}
	if acts := w.step(SetDrain{Call: 1, Node: "n1"}); !slices.Contains(acts, Action(Resume{Node: "n1"})) {
		t.Errorf("resume: %v", acts)
	}
}

// A list whose question is no newer than Weft's own word proves nothing.
func TestDrainsAgreeByANewerQuestion(t *testing.T) {
	w := newWorld(t, 100, "n1")
	asked := w.now.Uptime
	w.step(SetDrain{Call: 1, Node: "n1", Reason: "fan", By: "root"})
	w.step(SetDrain{Call: 2, Node: "n1"})
	w.step(Drained{Scheduler: "slurm", Asked: asked, Shown: map[string]core.Drain{}})
	does := w.show("slurm", map[string]core.Drain{"n1": {Reason: "weft: fan"}})
	if diff := cmp.Diff([]string{`resume n1 in "slurm"`}, does); diff != "" {
		t.Errorf("the scheduler missed the resume: %s", diff)
	}
}

// A hook drained the node in its scheduler, and a person resumes it before Weft has seen that.
func TestAResumeBeforeTheListCounts(t *testing.T) {
	w := newWorld(t, 100, "n1")
	asked := w.now.Uptime
	w.pass(time.Second)
	w.step(SetDrain{Call: 1, Node: "n1"})
	w.step(Drained{Scheduler: "slurm", Asked: asked, Shown: map[string]core.Drain{"n1": {Reason: "weft: no answer"}}})
	if got := w.m.nodes["n1"].Drained; got != "" {
		t.Errorf("drained for %q", got)
	}
}

// A list that comes behind one of a later question proves nothing.
func TestAListOfAnEarlierQuestionIsDropped(t *testing.T) {
	w := newWorld(t, 100, "n1")
	w.step(SetDrain{Call: 1, Node: "n1", Reason: "fan"})
	w.pass(time.Second)
	earlier := w.now.Uptime
	w.show("slurm", map[string]core.Drain{"n1": {Reason: "weft: fan"}})
	w.step(Drained{Scheduler: "slurm", Asked: earlier, Shown: map[string]core.Drain{}})
	if got := w.m.nodes["n1"].Drained; got != "fan" {
		t.Errorf("drained for %q", got)
	}
}

// The node learns of its drain, with its first orders and after each change.
func TestNodeLearnsOfItsDrain(t *testing.T) {
	w := newWorld(t, 100, "n1")
	told := func(acts []Action) (reasons []string) {
		for _, o := range all[Order](acts) {
			if o.Orders.Drain != nil {
				reasons = append(reasons, o.Orders.Drain.Reason)
			}
		}
		return reasons
	}
	for _, step := range []struct {
		acts []Action
		want []string
	}{
		{w.attach("n1"), []string{""}},
		{w.step(SetDrain{Call: 1, Node: "n1", Reason: "fan"}), []string{"fan"}},
		{w.step(SetDrain{Call: 1, Node: "n1", Reason: "fan"}), nil},
		{w.attach("n1"), []string{"fan"}},
		{w.step(SetDrain{Call: 2, Node: "n1"}), []string{""}},
		{w.detach("n1"), nil},
		{w.step(SetDrain{Call: 3, Node: "n1", Reason: "fan"}), nil},
	} {
		if len(all[End](step.acts)) > 0 {
			t.Error("its session ends")
		}
		if diff := cmp.Diff(step.want, told(step.acts)); diff != "" {
			t.Error(diff)
		}
	}
}

// A drain for a job's services that did not go ends with the last of them, also after a restart of the server. A person
// can end it before. A person's own drain stays.
func TestStuckDrainEnds(t *testing.T) {
	why := core.StuckPrefix + "job slurm/1"
	var third core.Run // goes on
	for name, c := range map[string]struct {
		then func(w *world, one, two core.Held)
		want string
	}{
		"one of two goes": {func(w *world, one, _ core.Held) { w.tell("n1", gone(one)) }, why},
		"both go":         {func(w *world, one, two core.Held) { w.tell("n1", gone(one), gone(two)) }, ""},
		"both go after a restart": {func(w *world, one, two core.Held) {
			w.restart()
			w.attach("n1", one, two)
			w.tell("n1", gone(one), gone(two))
		}, ""},
		"a restart":              {func(w *world, one, two core.Held) { w.restart(); w.attach("n1", one, two) }, why},
		"the agent begins again": {func(w *world, one, two core.Held) { w.attach("n1", one, two) }, why},
		"a reboot":               {func(w *world, _, _ core.Held) { w.boots["n1"] = "n1-boot2"; w.attach("n1") }, ""},
		"a person resumes":       {func(w *world, _, _ core.Held) { w.step(SetDrain{Call: 1, Node: "n1"}) }, ""},
		"a person drains": {func(w *world, one, two core.Held) {
			w.step(SetDrain{Call: 1, Node: "n1", Reason: "fan", By: "root"})
			w.more("n1", core.Report{Fault: why})
			w.tell("n1", gone(one), gone(two))
		}, "fan"},
		"an administrator gives both up while its agent is away": {func(w *world, one, two core.Held) {
			w.detach("n1")
			w.step(Forget{Call: 1, Job: one.Run.JobID})
			w.step(Forget{Call: 2, Job: two.Run.JobID})
		}, why},
		"another job runs, and a service of nobody stands": {func(w *world, one, two core.Held) {
			unknown := []core.Service{strayService(1090)}
			w.more("n1", core.Report{Changed: true, Held: []core.Held{gone(one), gone(two)}, Unknown: unknown})
		}, ""},
		"another job's services are stuck, though it goes on": {func(w *world, one, two core.Held) {
			stuck := heldAs(core.HeldBusy, third, 1026)
			stuck.Why = one.Why
			w.tell("n1", gone(one), gone(two), stuck)
		}, why},
		"another job ends": {func(w *world, one, two core.Held) {
			w.tell("n1", gone(one), gone(two))
			w.final(third)
		}, why},
		"a person drains in nearly the same words": {func(w *world, one, two core.Held) {
			w.step(SetDrain{Call: 1, Node: "n1", Reason: why + " again", By: "root"})
			w.tell("n1", gone(one), gone(two))
		}, why + " again"},
		"its NICs cannot be read then": {func(w *world, one, two core.Held) {
			w.more("n1", core.Report{Changed: true, Fault: core.UnreadPrefix + "EIO"})
			w.tell("n1", gone(one), gone(two))
		}, core.UnreadPrefix + "EIO"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 100, "n1")
			var held [2]core.Held
			for i := range held {
				run := w.granted("n1", job(fmt.Sprint(i+1), "n1"), app()).Run
				held[i] = heldAs(core.HeldBusy, run, core.VNI(1024+i))
				held[i].Why = "NIC cxi0: service 3 is still in use"
			}
			third = w.granted("n1", job("3", "n1"), app()).Run
			w.tell("n1", heldAs(core.HeldReady, third, 1026))
			w.pass(time.Second)
			w.final(held[0].Run, held[1].Run)
			w.more("n1", core.Report{Held: held[:], Fault: why})
			if got := w.m.nodes["n1"].Drained; got != why {
				t.Fatalf("drained for %q", got)
			}
			w.tick(time.Second)
			c.then(w, held[0], held[1])
			w.tick(time.Second)
			if got := w.m.nodes["n1"].Drained; got != c.want {
				t.Errorf("drained for %q, want %q", got, c.want)
			}
		})
	}
}

func gone(h core.Held) core.Held { return core.Held{Run: h.Run, VNIs: h.VNIs, State: core.HeldClean} }
